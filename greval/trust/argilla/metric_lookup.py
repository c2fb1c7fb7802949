"""Lookup of a judged metric in a run."""

from __future__ import annotations

from greval.errors import ArgillaError, DataError
from greval.records.metric import JudgedMetric, build_metric
from greval.runs.store import Store
from greval.trust.annotations.judged_items import read_definitions


def find_judged_metric(store: Store, name: str) -> JudgedMetric:
    """Return the definition of a judged metric of a run.

    Raises:
        DataError: If the run does not contain it.
        ArgillaError: If it is computed, because there is nothing for people to judge.
    """
    known = read_definitions(store)
    if name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise DataError(f"{store.folder}: was not judged by {name!r}; metrics there: {told}")
    if "steps" not in known[name]:
        raise ArgillaError(
            f"{name}: is computed, so there is nothing for people to judge; name a judged metric with -m"
        )
    return build_metric(known[name])
