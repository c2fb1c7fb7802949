"""Import of verdicts that were given elsewhere, by another tool, by people or by a judge, as results of a run."""
