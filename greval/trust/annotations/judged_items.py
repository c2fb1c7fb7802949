"""Judged items of a run (answers, chunks and triples), each with the input that its judge saw."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from greval.records.case import Case, Tags
from greval.records.fingerprint import case_key, content_key, digest
from greval.records.metric import JudgedMetric, define
from greval.records.metric_input import items, narrowed
from greval.records.record import Record
from greval.records.result import Judgement, Result
from greval.runs.store import Store
from greval.trust.annotations.rendering import fields

Who = tuple[str, str]
"""Sample id and method."""
Key = tuple[str, str, str | None]
"""Sample id, method and item id."""
Before = Mapping[Who, Mapping[str, Mapping[str, object]]]
"""For each case, the values of its items by the metrics that a metric builds on."""


class Place(Record):
    """A reference to an item of a run: `item` is the id of a chunk or triple, None for an answer."""

    sample_id: str
    method: str = ""
    item: str | None = None

    @property
    def thing(self) -> Key:
        """Sample id, method and item id."""
        return self.sample_id, self.method, self.item

    def key(self) -> str:
        """Return the reference as a short hash."""
        return digest([self.sample_id, self.method, self.item])


class Shown(Record):
    """A judged item: its reference, the fields shown for it, and the judgement."""

    place: Place
    metric: str
    fields: dict[str, str]
    judgement: Judgement
    judge: str
    fingerprint: str
    tags: Tags

    @cached_property
    def content(self) -> str:
        """The hash of the fields shown."""
        return digest(dict(self.fields))

    @property
    def id(self) -> str:
        """The id of the item with its content."""
        return shown_id(self.metric, self.place, self.content)

    @property
    def uncertainty(self) -> float | None:
        """The judge's uncertainty from 0 to 1, from its confidence and flip rate; None if neither is known."""
        found = [self.judgement.flip_rate]
        found += [None if self.judgement.confidence is None else 1 - self.judgement.confidence]
        known = [one for one in found if one is not None]
        return max(known) if known else None


class JudgedCase(NamedTuple):
    """A case as the run stores it, the part of it that the metric saw, and the result.

    `seen` differs from `whole` if the metric builds on others, which narrow the case.
    """

    whole: Case
    seen: Case
    result: Result


def shown_id(metric: str, place: Place, content: str) -> str:
    """Return the id of an item with its content; a different content gives a different id."""
    return digest([metric, place.sample_id, place.method, place.item, content])


def definitions(store: Store) -> dict[str, dict[str, object]]:
    """Return the definitions of the metrics of a run in the file form, by name."""
    fact = store.fact("metrics")
    return {str(one["name"]): {**one} for one in fact if isinstance(one, dict)} if isinstance(fact, list) else {}


def shown(
    store: Store,
    metric: JudgedMetric,
    wanted: Collection[Who] | None = None,
    prints: Iterable[str] | None = None,
    *,
    written: bool = False,
) -> Iterator[Shown]:
    """Yield every item that a metric judged, with the fields of the case in which it was judged.

    Args:
        store: The run, opened for reading.
        metric: The metric by which the items were judged.
        wanted: The samples and methods to read; None for all.
        prints: The fingerprints that verdicts may have, if known.
        written: Whether judgements keep their reasons, findings and notes; most readers need the values only.
    """
    for one in judged_cases(store, metric, wanted, prints):
        for thing in _of(metric, one.seen, one.result):
            yield thing if written else thing.model_copy(update={"judgement": _bare(thing.judgement)})


def judged_cases(
    store: Store, metric: JudgedMetric, wanted: Collection[Who] | None = None, prints: Iterable[str] | None = None
) -> Iterator[JudgedCase]:
    """Yield each case in the version that a metric judged last, with the result.

    A case that was changed and judged again is stored in several versions; the version of the result counts.

    Args:
        store: The run, opened for reading.
        metric: The metric by which the cases were judged.
        wanted: The samples and methods to read; None for all.
        prints: The fingerprints that verdicts may have, if known.
    """
    known = _prints(store, metric) if prints is None else set(prints)
    before = _before(store, metric, wanted)
    done: set[Who] = set()
    for case in store.cases():
        who = (case.id, case.method)
        if who in done or (wanted is not None and who not in wanted):
            continue
        seen = narrowed(metric, case, before.get(who, {})) if metric.uses else case
        for fingerprint in known:
            key = case_key(seen, content_key(seen, metric, fingerprint))
            if result := store.get(key, (*who, metric.name)):
                done.add(who)
                yield JudgedCase(case, seen, result)
                break


def contents(
    store: Store, metric: str, wanted: Collection[Who] | None = None, prints: Iterable[str] | None = None
) -> dict[Key, str]:
    """Return the hash of the fields of each judged item whose case is in the run; empty for a metric without a judge.

    Args:
        store: The run, opened for reading.
        metric: The name of a judged metric.
        wanted: The samples and methods to read; None for all.
        prints: The fingerprints that verdicts may have, if known.
    """
    definition = definitions(store).get(metric, {})
    if "steps" not in definition:  # a computed metric has no judge, so nothing was shown
        return {}
    return {one.place.thing: one.content for one in shown(store, define(definition), wanted, prints)}


def _of(metric: JudgedMetric, case: Case, result: Result) -> Iterator[Shown]:
    """Yield the judged items of one result."""
    known = {item.id: item for item in items(metric, case)} if metric.over else {}
    for judgement in result.judgements:
        item = known.get(judgement.item or "")
        if metric.over and item is None:
            continue
        yield Shown(
            place=Place(sample_id=case.id, method=case.method, item=judgement.item),
            metric=metric.name,
            fields=fields(metric, case, item),
            judgement=judgement,
            judge=result.judge,
            fingerprint=result.fingerprint,
            tags=case.tags,
        )


def _bare(judgement: Judgement) -> Judgement:
    """Return a judgement without the texts that the judge wrote."""
    return judgement.model_copy(update={"reason": "", "notes": {}, "findings": (), "shown_ids": {}})


def _prints(store: Store, metric: JudgedMetric) -> set[str]:
    """Return the fingerprints of all verdicts of a metric."""
    return {json.loads(mark)[0] for _, _, name, _, _, mark in store.scores() if name == metric.name}


def _before(store: Store, metric: JudgedMetric, wanted: Collection[Who] | None) -> Before:
    """Read the values given by the metrics that a metric builds on, by sample and method."""
    found: dict[Who, dict[str, Mapping[str, object]]] = defaultdict(dict)
    for use in metric.uses.values():
        for line in store.lines(use.judged_by):
            result = Result.model_validate_json(line)
            if wanted is None or (result.sample_id, result.method) in wanted:
                values = {one.item or "": one.value for one in result.judgements}
                found[result.sample_id, result.method][use.judged_by] = values
    return found
