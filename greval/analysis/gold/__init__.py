"""Checks of gold: whether the expected documents, edges, nodes and answers are recorded consistently."""
