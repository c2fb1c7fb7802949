"""Ids that met nothing in a whole run, such as retrieved documents of which the gold names none.

Whether a document that was not retrieved is a miss shows in the whole run: if none of its retrieved documents is known
to any gold, the two may name documents in different ways. Figures are then no numbers, or stand below a remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

from greval._util.wording import UNMET, format_count
from greval.records.metric import ComparedIds, ComputedMetric
from greval.records.metric_input import compute_keys
from greval.records.result import Result, Skipped, read_outline
from greval.runs.manifest import JOINS, read_remark_rows
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter

if TYPE_CHECKING:
    from greval._util.joins import IdJoin
    from greval.judging.metric_runnable import MetricRunnable
    from greval.runs.store.writer import StoreWriter

REMEDY = "give both the same ids"


MetricMethod = tuple[str, str]
"""A metric and a method whose cases it measured."""


def check_joins(writer: StoreWriter, runnables: Mapping[str, MetricRunnable]) -> None:
    """Check the ids that the computed metrics of a finished run compared, and store the remarks about them anew.

    If no id of a method met one of the gold in any case, and the ids differ in form or kind, the metric's results of
    this method are replaced by skips, which give the reason. If the ids are of one kind, the figures stay.
    """
    compared = {
        name: compared_ids
        for name, runnable in runnables.items()
        if isinstance(runnable.metric, ComputedMetric) and (compared_ids := runnable.metric.compared_ids)
    }
    store = writer.reader
    tallies = _tally_cases(store, compared) if compared else {}
    suspects = [pair for pair, tally in tallies.items() if tally.is_without_hit]
    joins = _join_whole_run(store, suspects, compared) if suspects else {}
    remarks = {pair: remark for pair, tally in tallies.items() if (remark := tally.find_remark())}
    for pair, join in joins.items():
        if join.met_nothing:
            remarks[pair] = join.find_remark(REMEDY) or ""
        if join.cannot_meet:
            _skip_results(writer, pair, runnables[pair[0]], _format_reason(join))
    unaffected = [row for row in read_remark_rows(store) if row["metric"] and row["metric"] not in compared]
    new = [{"metric": metric, "method": method, "remark": remark} for (metric, method), remark in remarks.items()]
    store_remarks(writer, [*unaffected, *new])


def store_remarks(writer: StoreWriter, remarks: Iterable[Mapping[str, str]]) -> None:
    """Store remarks about joins, each with the metric and the method that it is about, in place of earlier ones."""
    rows: list[JsonValue] = [dict(row) for row in remarks]
    if rows or writer.reader.fact(JOINS):
        writer.put_fact(JOINS, rows)


def store_input_remarks(writer: StoreWriter, remarks: Iterable[str]) -> None:
    """Store the remarks about the files that were joined with the cases, in place of earlier ones."""
    metric_rows = [row for row in read_remark_rows(writer.reader) if row["metric"]]
    store_remarks(writer, [*({"metric": "", "method": "", "remark": remark} for remark in remarks), *metric_rows])


@dataclass
class _CaseTally:
    """The cases of a metric and a method: scored, scored with a hit, and skipped because their ids cannot meet."""

    scored: int = 0
    hits: int = 0
    unmet: int = 0
    reason: str = ""

    @property
    def is_without_hit(self) -> bool:
        """True if every scored case has the value of one without a hit."""
        return bool(self.scored) and not self.hits

    def find_remark(self) -> str | None:
        """Return the remark if ids cannot meet in more cases than were scored, None if they can."""
        from greval._util.joins import FEW_IDS_MET, NO_ID_MET

        if self.unmet <= self.scored:
            return None
        kind = FEW_IDS_MET if self.scored else NO_ID_MET
        why = self.reason.removeprefix(f"{UNMET}: ")
        return f"{kind}: {self.unmet:,} of {format_count(self.scored + self.unmet, 'case')} skipped, {why}"


def _tally_cases(store: Store, compared: Mapping[str, ComparedIds]) -> dict[MetricMethod, _CaseTally]:
    """Tally the cases of each metric that compares ids, by method."""
    tallies: dict[MetricMethod, _CaseTally] = {}
    for method, metric, text in store.select(("method", "metric", "outline"), ResultFilter(metrics=tuple(compared))):
        tally = tallies.setdefault((metric, method), _CaseTally())
        outline = read_outline(text)
        if outline.numbers:
            tally.scored += 1
            tally.hits += any(number != compared[metric].value_without_hit for number in outline.numbers)
        elif outline.skip and outline.skip.startswith(UNMET):
            tally.unmet += 1
            tally.reason = tally.reason or outline.skip
    return tallies


def _join_whole_run(
    store: Store, suspects: Iterable[MetricMethod], compared: Mapping[str, ComparedIds]
) -> dict[MetricMethod, IdJoin]:
    """Join all expected ids with all returned ones, for each metric and method; equal joins are made once."""
    from greval._util.joins import join_ids

    sides: dict[tuple[ComparedIds, str], tuple[dict[str, None], dict[str, None]]] = {
        (compared[metric], method): ({}, {}) for metric, method in suspects
    }
    for case in store.cases():
        for (ids, method), (expected, returned) in sides.items():
            if method == case.method:
                expected_ids, returned_ids = ids.list_ids(case)
                expected.update(dict.fromkeys(expected_ids))
                returned.update(dict.fromkeys(returned_ids))
    joins = {(ids, method): join_ids(*both, ids.names) for (ids, method), both in sides.items()}
    return {(metric, method): joins[compared[metric], method] for metric, method in suspects}


def _format_reason(join: IdJoin) -> str:
    """Format why no case can be measured; the same for all cases."""
    from greval._util.joins import format_id

    first, second = join.left.name, join.right.name
    if join.near:
        differences = " and ".join(join.near.differences)
        example = f"{format_id(join.near.left)} and {format_id(join.near.right)}"
        return f"{UNMET}: no {second} of the run are {first}, they differ in {differences}, such as {example}"
    example = f"{format_id(join.left.unmet[0])} and {format_id(join.right.unmet[0])}"
    return f"{UNMET}: no {second} of the run are {first}, they are of two kinds, such as {example}"


def _skip_results(writer: StoreWriter, pair: MetricMethod, runnable: MetricRunnable, reason: str) -> None:
    """Replace the scored results of a metric and a method by skips."""
    with writer.write_together():
        # They are listed first, because an open query would hold up the writer.
        for key, content, result in [*_build_skips(writer.reader, pair, runnable, reason)]:
            writer.append(key, result, content=content)


def _build_skips(
    store: Store, pair: MetricMethod, runnable: MetricRunnable, reason: str
) -> Iterator[tuple[str, str, Result]]:
    """Yield the key, the content key and the new result of each scored case."""
    metric, method = pair
    for case in store.cases():
        if case.method == method:
            content, key = compute_keys(case, runnable.metric, runnable.fingerprint, {})
            old = store.index.get(key, (case.id, case.method, metric))
            if old and old.outcome.status == "scored":
                yield key, content, runnable.row(case, Skipped(reason=reason))
