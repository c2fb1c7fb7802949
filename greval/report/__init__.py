"""Reports: the findings of a run, as data first, then for the terminal."""
