"""Labelling: which judged items a person should label next, with their sampling weights."""
