"""Fair context: one model answers for every method, from the same kind of context, and what each was given is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from greval.records.case import Chunk, Sample

__all__ = ["Aggregate", "ContextMode"]

ContextMode = Literal["default", "fair", "none"]
"""What the answering model is given.

`default`: all that the method gave. `fair`: its chunks and triples, with aggregates computed from its
own retrieved documents in place of its own. `none`: the text of its chunks only.
"""

Aggregate = Callable[[Sample, Sequence[Chunk]], tuple[str, ...]]
"""Computes texts, such as counts, from the chunks that were retrieved for a sample."""
