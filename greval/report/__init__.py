"""Reports: what a run found, as data first, then for the terminal."""
