"""The metric whose judged things go to people."""

from __future__ import annotations

from greval.errors import ArgillaError, DataError
from greval.records.metric import JudgedMetric, define
from greval.runs.store import Store
from greval.trust.annotations.judged_items import definitions


def metric_of(store: Store, name: str) -> JudgedMetric:
    """Give the definition of a metric by which a run was judged.

    Raises:
        DataError: Where the run does not hold it.
        ArgillaError: Where it is computed: there is nothing for people to judge.
    """
    known = definitions(store)
    if name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise DataError(f"{store.folder}: was not judged by {name!r}; metrics there: {told}")
    if "steps" not in known[name]:
        raise ArgillaError(
            f"{name}: is computed, so there is nothing for people to judge; name a judged metric with -m"
        )
    return define(known[name])
