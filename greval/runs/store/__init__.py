"""The run folder: its log of results, and exports of it as tables."""

from greval.runs.store.disk import FILE, is_begun
from greval.runs.store.reader import Store

__all__ = ["FILE", "Store", "is_begun"]
