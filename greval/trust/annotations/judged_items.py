"""The verdicts of a run: by case as values, and by item (answer, chunk, triple or claim) with what its judge saw."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from pydantic_core import from_json

from greval.records.case import Case, Tags
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json, list_judged_items
from greval.records.record import Record
from greval.records.result import Judgement, Result
from greval.runs.run_reader import LINE_COLUMNS, CaseKey, ItemKey, read_judged_cases, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.trust.annotations.rendering import format_fields

WITHOUT_TEXTS: Mapping[str, Any] = {"reason": "", "notes": {}, "findings": (), "shown_ids": {}, "orders": ()}
"""The fields of a judgement that the judge wrote, empty."""


class CaseVerdicts(NamedTuple):
    """The verdicts on one case: the judgement of each item as JSON, and the ids of the items that failed.

    The item of a case that was judged as a whole is None. `failures` counts the failures of the case and of its items.
    """

    sample_id: str
    method: str
    judgements: Mapping[str | None, Mapping[str, Any]]
    failed: Collection[str | None]
    failures: int
    is_skipped: bool
    tags: Tags
    judge: str
    fingerprint: str


def iterate_verdicts(store: Store, metric: str, cases: Collection[CaseKey] | None = None) -> Iterator[CaseVerdicts]:
    """Yield the verdicts of a metric on each case, in the order in which they were stored; `cases` limits them."""
    for sample_id, method, line in store.select(LINE_COLUMNS, ResultFilter(metrics=(metric,))):
        # Most rows have no annotation and need no parsing.
        if cases is not None and (sample_id, method) not in cases:
            continue
        # Parsed without validation, which it passed when it was written.
        row = from_json(line)
        outcome = row["outcome"]
        failures = outcome.get("failures", ())
        yield CaseVerdicts(
            sample_id=sample_id,
            method=method,
            judgements={judgement["item"]: judgement for judgement in outcome.get("judgements", ())},
            failed={failure["item"] for failure in failures},
            failures=len(failures) or int(outcome["status"] == "failed"),
            is_skipped=outcome["status"] == "skipped",
            tags=row["tags"],
            judge=row["judge"],
            fingerprint=row["fingerprint"],
        )


class ItemRef(Record):
    """A reference to an item of a run: `item` is the id of a chunk, triple or claim, None for an answer."""

    sample_id: str
    method: str = ""
    item: str | None = None

    @property
    def item_key(self) -> ItemKey:
        """Sample id, method and item id."""
        return self.sample_id, self.method, self.item

    def hash_key(self) -> str:
        """Return the reference as a short hash."""
        return hash_json([self.sample_id, self.method, self.item])


class JudgedItem(Record):
    """A judged item: its reference, the fields shown for it, and the judgement."""

    place: ItemRef
    metric: str
    fields: dict[str, str]
    judgement: Judgement
    judge: str
    fingerprint: str
    tags: Tags

    @cached_property
    def content(self) -> str:
        """The hash of the fields shown."""
        return hash_json(dict(self.fields))


def read_judged_items(
    store: Store,
    metric: JudgedMetric,
    keys: Collection[CaseKey] | None = None,
    prints: Iterable[str] | None = None,
    *,
    written: bool = False,
) -> Iterator[JudgedItem]:
    """Yield every item that a metric judged, with the fields of the case in which it was judged.

    `keys` and `prints` limit the samples and methods, and the fingerprints of verdicts, if given. Judgements keep
    their reasons, findings and notes if `written`; most readers need the values only.
    """
    for judged_case in read_judged_cases(store, metric, keys, prints):
        for thing in _build_items(metric, judged_case.seen, judged_case.result):
            judgement = thing.judgement if written else thing.judgement.model_copy(update=WITHOUT_TEXTS)
            yield thing.model_copy(update={"judgement": judgement})


def hash_contents(
    store: Store, metric: str, keys: Collection[CaseKey] | None = None, prints: Iterable[str] | None = None
) -> dict[ItemKey, str]:
    """Return the hash of the fields of each judged item whose case is in the run; empty for a metric without a judge.

    `keys` and `prints` limit the samples and methods, and the fingerprints of verdicts, if given.
    """
    stored = read_metrics(store).get(metric)
    judged = stored and stored.judged
    # A computed metric has no judge that was shown anything.
    if not judged:
        return {}
    return {thing.place.item_key: thing.content for thing in read_judged_items(store, judged, keys, prints)}


def _build_items(metric: JudgedMetric, case: Case, result: Result) -> Iterator[JudgedItem]:
    """Yield the judged items of one result."""
    items_by_id = {item.id: item for item in list_judged_items(metric, case)} if metric.over else {}
    for judgement in result.judgements:
        item = items_by_id.get(judgement.item or "")
        if metric.over and item is None:
            continue
        yield JudgedItem(
            place=ItemRef(sample_id=case.id, method=case.method, item=judgement.item),
            metric=metric.name,
            fields=format_fields(metric, case, item),
            judgement=judgement,
            judge=result.judge,
            fingerprint=result.fingerprint,
            tags=case.tags,
        )
