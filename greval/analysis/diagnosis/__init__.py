"""Failure diagnosis: the step between the index and the answer at which the evidence of a question was lost."""

from greval.analysis.diagnosis.api import diagnose
from greval.analysis.diagnosis.causes import CAUSES, LOSSES, MEANINGS, Cause, Diagnosis, Evidence
from greval.analysis.diagnosis.correctness import Verdict
from greval.analysis.diagnosis.run import diagnose_run
from greval.analysis.diagnosis.table import Diagnoses, Group, tabulate
from greval.analysis.gold.index_lookup import Holdings

__all__ = [
    "CAUSES",
    "LOSSES",
    "MEANINGS",
    "Cause",
    "Diagnoses",
    "Diagnosis",
    "Evidence",
    "Group",
    "Holdings",
    "Verdict",
    "diagnose",
    "diagnose_run",
    "tabulate",
]
