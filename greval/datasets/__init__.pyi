# Public names of this part that are not in `greval` itself: `from greval.datasets import ...`.

from .case_reader import CaseReader
from .chunk_sources import fill_sources
from .gold import join_gold, read_gold
from .row_faults import RowFault

__all__ = [
    "CaseReader",
    "RowFault",
    "fill_sources",
    "join_gold",
    "read_gold",
]
