"""The run folder: its log of results, and the tables that are made of it."""

from greval.store.disk import FILE
from greval.store.flat import COLUMNS, flat
from greval.store.log import Store

__all__ = ["COLUMNS", "FILE", "Store", "flat"]
