"""Reading cases from files: a bad row is told with its place and never stops the rest."""

from greval.datasets.case_reader import Reading, RowFault, read_cases
from greval.datasets.field_names import NEIGHBOURS

__all__ = ["NEIGHBOURS", "Reading", "RowFault", "read_cases"]
