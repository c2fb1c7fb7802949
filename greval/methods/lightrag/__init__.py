"""LightRAG: the inventory of its index, and its queries as methods under test."""
