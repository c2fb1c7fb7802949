"""Ask a model and read its verdict."""
