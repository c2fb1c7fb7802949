"""Ranking measures of whole runs: from files, columns or cases to figures, for millions of rows.

Files and columns are read and joined by polars, and `trec_eval` computes by pytrec-eval-terrier:
`pip install 'greval[ranking]'`.
"""

from __future__ import annotations

from greval.analysis.ranking.api import measure_runs
from greval.analysis.ranking.files import read_qrels, read_rankings
from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.rankings import Rankings
from greval.analysis.ranking.records import MeasuredRun, QuestionValues, RankingReport, RunMean, UnreadRun
from greval.analysis.ranking.run_measures import MeasureResult, MeasureResults, measure_rankings
from greval.analysis.ranking.trec_measures import TrecEval, trec_eval

__all__ = [
    "MeasureResult",
    "MeasureResults",
    "MeasuredRun",
    "Qrels",
    "QuestionValues",
    "RankingReport",
    "Rankings",
    "RunMean",
    "TrecEval",
    "UnreadRun",
    "measure_rankings",
    "measure_runs",
    "read_qrels",
    "read_rankings",
    "trec_eval",
]
