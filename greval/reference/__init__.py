"""The reference pipeline: an embedded GraphRAG system to learn from, to compare with, and to evaluate."""
