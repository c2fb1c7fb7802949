"""Extraction of entities and relations from chunks: by rules, which need no model, or by a model."""
