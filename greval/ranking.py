"""Ranking measures over whole runs: judgements and rankings as arrays, millions of rows in a second."""

from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import Rankings
from greval.metrics.columns.run_measures import MeasureResult, MeasureResults, measure_rankings
from greval.metrics.columns.trec_files import read_trec, read_trec_qrels, read_trec_run
from greval.metrics.columns.trec_measures import TrecEval, trec_eval

__all__ = [
    "MeasureResult",
    "MeasureResults",
    "Qrels",
    "Rankings",
    "TrecEval",
    "measure_rankings",
    "read_trec",
    "read_trec_qrels",
    "read_trec_run",
    "trec_eval",
]
