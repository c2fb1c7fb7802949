"""Argilla: push judged items for people to annotate, and pull their annotations back.

Only this package depends on Argilla. It calls the server's REST API through httpx.
"""
