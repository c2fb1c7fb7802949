"""Estimates that correct for the judge's error: what people would say of all judged items, from labels of some."""
