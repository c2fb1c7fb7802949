"""Read cases from files: an invalid row is reported with its place and never stops the others."""

from greval.datasets.case_reader import CaseReader, read_cases
from greval.datasets.field_names import FIELD_ALIASES
from greval.datasets.row_faults import RowFault

__all__ = ["FIELD_ALIASES", "CaseReader", "RowFault", "read_cases"]
