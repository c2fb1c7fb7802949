"""Helpers that know nothing of greval: files, concurrency, argument checks, wording."""
