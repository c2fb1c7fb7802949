"""Ranking measures over whole runs: judgements and rankings as arrays, millions of rows in a second."""

from greval.columns.measuring import Figure, Measured, measure
from greval.columns.qrels import Qrels
from greval.columns.rankings import Rankings

__all__ = ["Figure", "Measured", "Qrels", "Rankings", "measure"]
