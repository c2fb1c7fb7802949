"""Replies and contexts as systems under test give them, read as the fields of a response."""
