"""Two judges: a cheap one decides where it is sure, and another one judges the rest."""
