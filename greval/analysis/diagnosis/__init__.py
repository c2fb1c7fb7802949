"""Failure diagnosis: the step between the index and the answer at which the evidence of a question was lost."""

from greval.analysis.diagnosis.api import diagnose
from greval.analysis.diagnosis.causes import CAUSES, LOSSES, MEANINGS, Cause, Diagnosis, Evidence
from greval.analysis.diagnosis.correctness import AnswerVerdict
from greval.analysis.diagnosis.run import diagnose_run
from greval.analysis.diagnosis.table import DiagnosisGroup, DiagnosisTable, tabulate
from greval.analysis.gold.index_lookup import IndexLookup

__all__ = [
    "CAUSES",
    "LOSSES",
    "MEANINGS",
    "AnswerVerdict",
    "Cause",
    "Diagnosis",
    "DiagnosisGroup",
    "DiagnosisTable",
    "Evidence",
    "IndexLookup",
    "diagnose",
    "diagnose_run",
    "tabulate",
]
