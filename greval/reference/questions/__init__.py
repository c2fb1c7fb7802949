"""Questions with gold, drawn from the graph and the sentences of an index."""
