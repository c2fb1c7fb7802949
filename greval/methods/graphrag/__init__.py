"""Microsoft GraphRAG: the inventory of its index, and its searches as methods under test."""
