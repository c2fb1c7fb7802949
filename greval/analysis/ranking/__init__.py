"""Ranking measures of several runs over one file of judgements, with intervals and paired tests against a baseline."""
