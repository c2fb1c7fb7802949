"""Facts of a run: what it is made of and what was planned, also where several commands share one folder."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from greval.errors import StoreError
from greval.judging.model.budget import Spending
from greval.judging.model.prices import Prices
from greval.records.scale import Scale
from greval.runs.store import FILE, Store

PROBE = "probe"
"""The tag of every case of a probe: what was planted."""
SPENT = "spent"
"""The fact of what was spent, by all commands."""
_SCALE: TypeAdapter[Scale] = TypeAdapter(Scale)
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


def read_scales(metrics: JsonValue) -> dict[str, Scale]:
    """Return the scale of each metric in their order.

    Args:
        metrics: The fact "metrics" of a run, None if it has none.
    """
    found: dict[str, Scale] = {}
    for metric in metrics if isinstance(metrics, list) else []:
        if isinstance(metric, dict) and isinstance(metric.get("scale"), dict):
            found[str(metric["name"])] = _SCALE.validate_python(metric["scale"])
    return found


def read_spending(store: Store, prices: Prices | None = None) -> Spending:
    """Return what all commands on a run spent so far, also on rows that others took the place of since.

    Args:
        store: The run.
        prices: If given, rows count too that were written without a note of what they cost, such as those of a merged
            run or of a command that was killed; that reads all of them.
    """
    noted = Spending.model_validate(store.fact(SPENT) or {})
    if prices is None:
        return noted
    rows = Spending()
    for judge, usage in store.usage().items():
        rows += Spending(calls=usage.calls, cost=prices.cost(judge, usage) if usage.calls else None)
    costs = [cost for cost in (noted.cost, rows.cost) if cost is not None]
    return Spending(calls=max(noted.calls, rows.calls), cost=max(costs, default=None))


def sum_spending(folders: Iterable[Path], prices: Prices) -> Spending:
    """Return what all commands spent on the runs in some folders; a folder without a run adds nothing."""
    total = Spending()
    for folder in folders:
        if (folder / FILE).is_file():
            with suppress(StoreError), Store.open(folder) as store:  # whoever judges there says what is wrong with it
                total += read_spending(store, prices)
    return total


def put_spending(store: Store, spending: Spending) -> None:
    """Write down what all commands on a run spent so far."""
    store.put_fact(SPENT, spending.model_dump())


def _name(metric: JsonValue) -> JsonValue:
    return metric.get("name") if isinstance(metric, dict) else None
