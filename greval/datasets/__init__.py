"""Reading cases from files: a bad row is told with its place and never stops the rest."""

from greval.datasets.names import NEIGHBOURS
from greval.datasets.reading import Reading, RowFault, read_cases

__all__ = ["NEIGHBOURS", "Reading", "RowFault", "read_cases"]
