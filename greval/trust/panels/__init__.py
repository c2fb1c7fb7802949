"""A panel of judges: its verdicts, the agreement among judges, the outlier, and the agreement with people."""
