"""Checks of gold: whether the expected documents, edges, nodes and answers are recorded consistently."""

from greval.analysis.gold.api import check_gold
from greval.analysis.gold.finding import Finding
from greval.analysis.gold.index_lookup import IndexLookup
from greval.datasets.gold_join import with_gold

__all__ = ["Finding", "IndexLookup", "check_gold", "with_gold"]
