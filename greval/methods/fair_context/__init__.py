"""Fair context: one model answers for every method from the same kind of context, and the contexts are audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from greval.records.case import Chunk, Sample

__all__ = ["Aggregate", "ContextMode"]

ContextMode = Literal["default", "fair", "none"]
"""The context of the answering model.

`default`: everything that the method returned. `fair`: its chunks and triples, with aggregates that are computed
from its retrieved documents and replace its own. `none`: the text of its chunks only.
"""

Aggregate = Callable[[Sample, Sequence[Chunk]], tuple[str, ...]]
"""Computes texts, such as counts, from the chunks retrieved for a sample."""
