"""Runs of the server: their queue, records, threads and progress."""
