"""Read cases from files: an invalid row is reported with its place and never stops the others."""

from greval.datasets.case_reader import Reading, RowFault, read_cases
from greval.datasets.field_names import NEIGHBOURS

__all__ = ["NEIGHBOURS", "Reading", "RowFault", "read_cases"]
