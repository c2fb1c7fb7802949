"""Metadata of a run folder, which several commands share: metrics, spending, the last command, and what a probe is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import Field, JsonValue, ValidationError

from greval._util.files import find_commit
from greval._util.wording import format_names
from greval.datasets.file_identity import CaseSource
from greval.errors import StoreError
from greval.judging.model.prices import Price, Prices
from greval.records.record import Record
from greval.records.result import Usage
from greval.runs.store import FILE, Store, is_begun
from greval.runs.store.disk import COST_COLUMNS, SERVED_MODELS

if TYPE_CHECKING:
    from greval.judging.model.budget import RunSpending
    from greval.judging.model.client import JudgeClient
    from greval.runs.judges import RunJudges
    from greval.runs.store.writer import StoreWriter

PROBE_TAG = "probe"
"""The tag of every case of a probe that names the planted fault."""
PROBED_CASE_TAG = "of"
"""The tag of every case of a probe that names the case in which the fault was planted."""
ADAPTED = "adapted"
"""The setting of a judge that lists how its requests were changed, because it refuses them otherwise."""
# The names of metadata entries (`Store.fact`).
ASKED = "asked"
COMMAND = "command"
ESCALATION = "escalation"
JOINS = "joins"
JUDGES = "judges"
ORIGIN = "origin"
PRICES = "prices"
REPLAYED = "replayed"
SPENDING = "spent"
REPEATED_BY = """
    SELECT 1 FROM results AS later WHERE later.replaces = results.rowid
    AND (later.content IS results.content OR json_extract(later.row, '$.replayed_from') IS NOT NULL)
"""
"""The row that replaced a row with a result of the same content, and includes its cost."""
WHOLE_COST = "CASE WHEN max(cost IS NULL AND output_tokens IS NOT NULL) THEN NULL ELSE sum(cost) END"
"""The sum of the costs that a provider states, if it states one for each row with tokens."""


class RunCommand(Record):
    """The options of a command, in the form of `greval.yaml`, and the file that describes the run.

    `config` is None if no file does. If the command line replaced a key of the file, `options` has its value.
    """

    config: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)


def is_probe(store: Store) -> bool | None:
    """Return whether a run is a probe, whose cases were changed on purpose; None if nothing was judged yet."""
    first = store.query("SELECT tags FROM results ORDER BY rowid LIMIT 1").fetchone()
    return None if first is None else {PROBE_TAG, PROBED_CASE_TAG} <= json.loads(first[0]).keys()


def refuse_probe(store: Store) -> None:
    """Raise an error if a run is a probe, because other cases in its folder would change its results."""
    if is_probe(store):
        raise StoreError(f"{store.folder}: holds a probe; choose another folder with -o")


def store_metrics(writer: StoreWriter, metrics: Iterable[JsonValue]) -> None:
    """Store metric definitions; they replace those of the same name and leave other metrics unchanged."""
    stored = writer.reader.fact("metrics")
    metrics_by_name = {_get_name(metric): metric for metric in stored} if isinstance(stored, list) else {}
    writer.put_fact("metrics", [*(metrics_by_name | {_get_name(metric): metric for metric in metrics}).values()])


def store_judges(writer: StoreWriter, judges: RunJudges, clients: Iterable[JudgeClient], prices: Prices) -> None:
    """Store the judge of each metric with its settings, and the prices of the judges, beside those that are known.

    A run without a judge changes nothing.
    """
    if not judges.groups:
        return
    settings: list[JsonValue] = [
        {
            "label": client.label,
            **client.identity,
            **({ADAPTED: list(client.adaptation.changes)} if client.adaptation.changes else {}),
        }
        for client in clients
    ]
    settings_by_metric: dict[str, JsonValue] = {
        name: judge_settings
        for group, judge_settings in zip(judges.groups, settings, strict=True)
        for name in group.metrics
    }
    price_by_label = {label: prices.of(label) for label in judges.labels}
    costs: dict[str, JsonValue] = {
        label: price.model_dump() if price else None for label, price in price_by_label.items()
    }
    writer.put_fact("judge", settings[0])
    writer.put_fact(JUDGES, _read_mapping(writer.reader, JUDGES) | settings_by_metric)
    writer.put_fact(PRICES, _read_mapping(writer.reader, PRICES) | costs)


def store_shared_prices(writer: StoreWriter, labels: Mapping[str, str]) -> None:
    """Store the price of a judge also for a label that names it with others, given the judge's own label by it."""
    prices = _read_mapping(writer.reader, PRICES)
    writer.put_fact(PRICES, prices | {label: prices.get(judge) for label, judge in labels.items()})


def format_judges(labels: Mapping[str, Sequence[str]]) -> str:
    """Format the judges of metrics: one name if all have the same, else each with its metrics."""
    metrics: dict[str, list[str]] = {}
    for metric, names in labels.items():
        for name in names:
            metrics.setdefault(name, []).append(metric)
    if len(metrics) == 1:
        return f"judge {next(iter(metrics))}"
    return f"judges {', '.join(f'{name} ({format_names(used)})' for name, used in metrics.items())}" if metrics else ""


def read_asked_names(store: Store) -> frozenset[str] | None:
    """Return the names of the metrics that the last command judged on each case, None if that were all."""
    names = store.fact(ASKED)
    return frozenset(map(str, names)) if isinstance(names, list) else None


def read_judges(store: Store) -> dict[str, dict[str, JsonValue]]:
    """Return the label and the settings of the judge of each metric, as the last command on it had them."""
    return {name: settings for name, settings in _read_mapping(store, JUDGES).items() if isinstance(settings, dict)}


def read_sources(store: Store) -> list[CaseSource]:
    """Return all sources from which the cases of a run were read, also those that the last plan does not count."""
    return [CaseSource(*row) for row in store.query("SELECT label, digest FROM sources ORDER BY id")]


def store_origin(writer: StoreWriter) -> None:
    """Store when a run began and the commit of the code around it, unless an earlier command did."""
    if writer.reader.fact(ORIGIN) is None:
        began = datetime.now(UTC).isoformat(timespec="seconds")
        writer.put_fact(ORIGIN, {"began": began, "commit": find_commit(Path.cwd())})


def read_origin(store: Store) -> tuple[datetime, str | None]:
    """Return when a run began and the commit that it was made with, None if it is not known.

    A run that does not say it began when its log was last written.
    """
    origin = _read_mapping(store, ORIGIN)
    commit = origin.get("commit")
    if isinstance(began := origin.get("began"), str):
        with suppress(ValueError):
            return datetime.fromisoformat(began), commit if isinstance(commit, str) else None
    return datetime.fromtimestamp((store.folder / FILE).stat().st_mtime, UTC), None


def store_replayed(writer: StoreWriter, fingerprints: Mapping[str, str]) -> None:
    """Store by which fingerprints the judge was asked, by those of replayed metrics, beside those that are known."""
    changed = {new: original for new, original in fingerprints.items() if new != original}
    writer.put_fact(REPLAYED, {**_read_mapping(writer.reader, REPLAYED), **changed})


def read_replayed(store: Store) -> dict[str, str]:
    """Return by which fingerprint the judge was asked, by the fingerprint of each replayed metric."""
    return {new: str(original) for new, original in _read_mapping(store, REPLAYED).items()}


def count_replayed(store: Store) -> dict[str, int]:
    """Count the results that were read again from stored replies, by metric; a run never replayed is not searched."""
    if store.fact(REPLAYED) is None:
        return {}
    replayed = store.select(("metric", "json_extract(row, '$.replayed_from') IS NOT NULL"))
    return dict(Counter(metric for metric, is_replayed in replayed if is_replayed))


def count_served_models(store: Store) -> dict[str, dict[str, int]]:
    """Count the results by the models that their replies name, for each judge whose replies name several."""
    models = store.fact(SERVED_MODELS)
    if not isinstance(models, list) or len(models) < 2:  # noqa: PLR2004 - then no row needs to be read
        return {}
    counts: dict[str, Counter[str]] = {}
    for (text,) in store.select(("json_extract(row, '$.judge', '$.served_by')",)):
        judge, served_by = json.loads(text)
        counts.setdefault(judge, Counter()).update(served_by or ())
    return {
        judge: dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
        for judge, counted in sorted(counts.items())
        if len(counted) > 1
    }


def read_prices(store: Store) -> dict[str, Price]:
    """Return the prices of the judges of a run by their labels; judges without a known price are left out."""
    return {label: Price.model_validate(price) for label, price in _read_mapping(store, PRICES).items() if price}


def _read_mapping(store: Store, name: str) -> dict[str, JsonValue]:
    mapping = store.fact(name)
    return mapping if isinstance(mapping, dict) else {}


def read_spending(store: Store, prices: Prices | None = None) -> RunSpending:
    """Return what all commands on a run spent so far, including replaced rows.

    Args:
        store: The run.
        prices: If given, also count rows whose cost was not recorded, such as those of a merged run or of a killed
            command. This reads all rows.
    """
    # Most readers of a run do not need it.
    from greval.judging.model.budget import RunSpending

    noted = RunSpending.model_validate(store.fact(SPENDING) or {})
    if prices is None:
        return noted
    rows = RunSpending()
    for judge, usage in read_usage(store).items():
        rows += RunSpending(calls=usage.calls, cost=prices.cost(judge, usage) if usage.calls else None)
    # Neither is complete: rows of a merged run are not noted, and calls of a killed command may have no row.
    costs = [cost for cost in (noted.cost, rows.cost) if cost is not None]
    return RunSpending(calls=max(noted.calls, rows.calls), cost=max(costs, default=None), estimated=noted.estimated)


def read_usage(store: Store) -> dict[str, Usage]:
    """Return the cost of all rows ever written, by their judges."""
    sums = ", ".join(WHOLE_COST if name == "cost" else f"sum({name})" for name in COST_COLUMNS)
    query = f"SELECT json_extract(row, '$.judge'), {sums} FROM results WHERE NOT EXISTS ({REPEATED_BY}) GROUP BY 1"  # noqa: S608 - constants
    return {judge: Usage(**dict(zip(COST_COLUMNS, costs, strict=True))) for judge, *costs in store.query(query)}


def sum_spending(folders: Iterable[Path], prices: Prices) -> RunSpending:
    """Return what all commands spent on the runs in the folders; a folder without a run adds nothing."""
    from greval.judging.model.budget import RunSpending

    total = RunSpending()
    for folder in folders:
        if is_begun(folder):
            # The command that judges there reports the error.
            with suppress(StoreError), Store.open(folder) as store:
                total += read_spending(store, prices)
    return total


def store_spending(writer: StoreWriter, spending: RunSpending) -> None:
    """Store what all commands on a run spent so far."""
    writer.put_fact(SPENDING, spending.model_dump())


def read_command(store: Store) -> RunCommand | None:
    """Return the options of the last command on a run, or None if they are not stored, as for a run of the SDK."""
    content = store.fact(COMMAND)
    if content is None:
        return None
    try:
        return RunCommand.model_validate(content)
    except ValidationError:
        # It is of a later version of greval.
        return None


def _get_name(metric: JsonValue) -> JsonValue:
    return metric.get("name") if isinstance(metric, dict) else None


def read_join_remarks(store: Store, metrics: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the remarks about the joins of a run, which stand before all figures; those of some metrics if given."""
    rows = read_remark_rows(store)
    if not rows:
        return ()
    from greval._util.joins import name_remark

    chosen = None if metrics is None else {"", *metrics}
    metrics_by_remark: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if chosen is None or row["metric"] in chosen:
            metrics_by_remark.setdefault((row["method"], row["remark"]), []).append(row["metric"])
    return tuple(
        name_remark(remark, format_names(names) + (f" of {method}" if method else ""))
        for (method, remark), names in metrics_by_remark.items()
    )


def read_remark_rows(store: Store) -> list[dict[str, str]]:
    """Return the stored remarks about joins, each with the metric and the method that it is about."""
    rows = store.fact(JOINS)
    if not isinstance(rows, list):
        return []
    names = ("metric", "method", "remark")
    return [{name: str(row.get(name, "")) for name in names} for row in rows if isinstance(row, dict)]


def read_stored_escalation(store: Store) -> dict[str, JsonValue] | None:
    """Return how two judges shared the cases as it is stored, for the metrics of which the last plan is theirs."""
    content = store.fact(ESCALATION)
    if not isinstance(content, dict):
        return None
    plans: set[JsonValue] = {plan.fingerprint for plan in store.plans()}
    stored = cast("list[dict[str, JsonValue]]", content["metrics"])
    metrics: list[JsonValue] = [{**row} for row in stored if row["plan"] in plans]
    return {**content, "metrics": metrics} if metrics else None
