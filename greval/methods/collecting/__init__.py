"""Collect the responses of methods under test to a file."""
