"""Facts of a run: what it is made of and what was planned, also where several commands share one folder."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from greval.store import Store


def put_metrics(store: Store, metrics: Iterable[JsonValue]) -> None:
    """Write down definitions; those of other metrics of the run stay, those of the same name are replaced."""
    known = store.fact("metrics")
    named = {_name(metric): metric for metric in known} if isinstance(known, list) else {}
    store.put_fact("metrics", [*(named | {_name(metric): metric for metric in metrics}).values()])


def put_planned(store: Store, planned: dict[str, int]) -> None:
    """Write down how many judgements each metric is due; what other metrics are due stays."""
    known = store.fact("planned")
    store.put_fact("planned", {**(known if isinstance(known, dict) else {}), **planned})


def _name(metric: JsonValue) -> JsonValue:
    return metric.get("name") if isinstance(metric, dict) else None
