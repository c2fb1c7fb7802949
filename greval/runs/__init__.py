"""A run is a folder: judge cases into it, resume it, read it back."""
