"""History: each metric over many runs, in the order of time, with the points at which it changed."""
