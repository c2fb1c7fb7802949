"""The judged things of a run: an answer, a chunk or a triple each, with what the judge was shown of it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from greval.argilla.showing import fields
from greval.case import Case, Tags
from greval.errors import ArgillaError, DataError
from greval.identity import case_key, content_key, digest
from greval.material import items
from greval.metric import JudgedMetric, define
from greval.record import Record
from greval.result import Judgement, Result
from greval.store import Store
from greval.work import narrow

Before = Mapping[tuple[str, str], Mapping[str, Result]]


class Place(Record):
    """Which thing of a run: `item` is the id of a chunk or triple, None for an answer."""

    sample_id: str
    method: str = ""
    item: str | None = None

    def key(self) -> str:
        """Give the place as a short text."""
        return digest([self.sample_id, self.method, self.item])


class Thing(Record):
    """A judged thing: where it stands, what is shown of it, and what the judge said."""

    place: Place
    metric: str
    fields: dict[str, str]
    judgement: Judgement
    judge: str
    fingerprint: str
    tags: Tags

    @cached_property
    def content(self) -> str:
        """The hash of what is shown."""
        return digest(dict(self.fields))

    @property
    def id(self) -> str:
        """The id of its record."""
        return record_id(self.metric, self.place, self.content)

    @property
    def uncertainty(self) -> float | None:
        """From 0 to 1 by the judge's confidence and the flips of its repeats, None where neither is known."""
        found = [self.judgement.flip_rate]
        found += [None if self.judgement.confidence is None else 1 - self.judgement.confidence]
        known = [one for one in found if one is not None]
        return max(known) if known else None


def record_id(metric: str, place: Place, content: str) -> str:
    """Give the id of a record; where the content changes, it is another record."""
    return digest([metric, place.sample_id, place.method, place.item, content])


def metric_of(store: Store, name: str) -> JudgedMetric:
    """Give the definition of a metric by which a run was judged.

    Raises:
        DataError: Where the run does not hold it.
        ArgillaError: Where it is computed: there is nothing for people to judge.
    """
    fact = store.fact("metrics")
    known = {str(one["name"]): one for one in fact if isinstance(one, dict)} if isinstance(fact, list) else {}
    if name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise DataError(f"{store.folder}: was not judged by {name!r}; metrics there: {told}")
    if "steps" not in known[name]:
        raise ArgillaError(
            f"{name}: is computed, so there is nothing for people to judge; name a judged metric with -m"
        )
    return define(known[name])


def things(store: Store, metric: JudgedMetric) -> Iterator[Thing]:
    """Give every thing that a metric gave a judgement, with the case that it was judged in."""
    marks = {mark for _, _, name, _, _, mark in store.scores() if name == metric.name}
    prints = {json.loads(mark)[0] for mark in marks}
    before = _before(store, metric)
    done: set[tuple[str, str]] = set()
    for case in store.cases():
        place = (case.id, case.method)
        if place in done:
            continue
        seen, _ = narrow(case, metric, before.get(place, {}))
        for fingerprint in prints:
            key = case_key(seen, content_key(seen, metric, fingerprint))
            if result := store.get(key, (*place, metric.name)):
                done.add(place)
                yield from _of(metric, seen, result)
                break


def _of(metric: JudgedMetric, case: Case, result: Result) -> Iterator[Thing]:
    """Give the things of one result."""
    known = {item.id: item for item in items(metric, case)} if metric.over else {}
    for judgement in result.judgements:
        item = known.get(judgement.item or "")
        if metric.over and item is None:
            continue
        yield Thing(
            place=Place(sample_id=case.id, method=case.method, item=judgement.item),
            metric=metric.name,
            fields=fields(metric, case, item),
            judgement=judgement.model_copy(update={"reason": "", "notes": {}}),
            judge=result.judge,
            fingerprint=result.fingerprint,
            tags=case.tags,
        )


def _before(store: Store, metric: JudgedMetric) -> Before:
    """Give the results of the metrics that a metric builds on, by sample and method."""
    found: dict[tuple[str, str], dict[str, Result]] = defaultdict(dict)
    for use in metric.uses.values():
        for line in store.lines(use.judged_by):
            result = Result.model_validate_json(line)
            found[result.sample_id, result.method][use.judged_by] = result
    return found
