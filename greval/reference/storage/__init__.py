"""What an index is stored in: an embedded property graph, vectors, and an index of words."""
