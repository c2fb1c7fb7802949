# Public names of this part that are not in `greval` itself: `from greval.analysis import ...`.

from .chance import estimate_chance
from .comparison.records import Comparison, Contrast
from .data_summary import DataSummary, summarise_data
from .diagnosis.records import Diagnosis
from .duel.api import summarise_duel
from .duel.judging import duel_async
from .duel.records import Duel
from .gold.api import check_gold
from .gold.rules import GoldFinding
from .history.api import build_history
from .history.records import MetricHistory, RunHistory

__all__ = [
    "Comparison",
    "Contrast",
    "DataSummary",
    "Diagnosis",
    "Duel",
    "GoldFinding",
    "MetricHistory",
    "RunHistory",
    "build_history",
    "check_gold",
    "duel_async",
    "estimate_chance",
    "summarise_data",
    "summarise_duel",
]
