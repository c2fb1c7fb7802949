"""Ranking measures over whole runs: judgements and rankings as arrays, millions of rows in a second."""

from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import Rankings
from greval.metrics.columns.run_measures import MeasureResult, MeasureResults, measure_rankings

__all__ = ["MeasureResult", "MeasureResults", "Qrels", "Rankings", "measure_rankings"]
