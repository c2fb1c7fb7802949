"""Metrics by chance: what those that compare ids would be if questions exchanged what was retrieved."""
