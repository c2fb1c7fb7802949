"""Facts of a run: what it is made of and what was planned, also where several commands share one folder."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from greval.errors import StoreError
from greval.store import Store

PROBE = "probe"
"""The tag of every case of a probe: what was planted."""
OF = "of"
"""The tag that names the case that it was planted in."""


def holds_probe(store: Store) -> bool | None:
    """Say whether a run is a probe, whose cases were changed on purpose; None where nothing was judged yet."""
    first = next(store.rows(), None)
    return None if first is None else {PROBE, OF} <= first.result.tags.keys()


def refuse_probe(store: Store) -> None:
    """Refuse the run of a probe: other cases among its own would change its figures.

    Raises:
        StoreError: Where the run is one.
    """
    if holds_probe(store):
        raise StoreError(f"{store.folder}: holds a probe; choose another folder with -o")


def put_metrics(store: Store, metrics: Iterable[JsonValue]) -> None:
    """Write down definitions; those of other metrics of the run stay, those of the same name are replaced."""
    known = store.fact("metrics")
    named = {_name(metric): metric for metric in known} if isinstance(known, list) else {}
    store.put_fact("metrics", [*(named | {_name(metric): metric for metric in metrics}).values()])


def _name(metric: JsonValue) -> JsonValue:
    return metric.get("name") if isinstance(metric, dict) else None
