"""The configuration of a run: one model, read from a file, from options and from Python, and what runs it."""
