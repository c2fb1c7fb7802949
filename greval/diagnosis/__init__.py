"""Why it failed: where on its way from the index to the answer the evidence of a question was lost."""

from greval.diagnosis.causes import CAUSES, LOSSES, MEANINGS, Cause, Diagnosis, Evidence
from greval.diagnosis.deciding import diagnose
from greval.diagnosis.run import diagnose_run
from greval.diagnosis.table import Diagnoses, Group, tabulate
from greval.diagnosis.verdicts import Verdict
from greval.gold.holdings import Holdings

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
