"""Two judges: a cheap one decides what it is sure of, and another one judges the rest."""
