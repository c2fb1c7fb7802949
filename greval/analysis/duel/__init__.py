"""Duels: which of several methods is preferred, how sure that is, and which habits the judge has."""
