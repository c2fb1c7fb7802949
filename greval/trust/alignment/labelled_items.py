"""The labelled items of a run: each with its case, the value from people and the judgement."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greval.errors import DataError
from greval.judging.prompt import case_text
from greval.records.case import Case
from greval.records.metric import JudgedMetric, define
from greval.records.metric_input import keep, listed
from greval.records.result import Judgement
from greval.records.scale import CategoricalScale, Scale, Value
from greval.runs.store import Store
from greval.trust.agreement.levels import treated
from greval.trust.agreement.value_pairs import Side, sides
from greval.trust.agreement.warnings import left_out, of_this_sample
from greval.trust.alignment.folds import clusters
from greval.trust.annotations.judged_items import Who, definitions, judged_cases
from greval.trust.annotations.matching import Matched, match
from greval.trust.annotations.sources import Source, given
from greval.trust.argilla.metric_lookup import metric_of


class Point(NamedTuple):
    """A labelled item: its case as the metric sees it, the number of its question, the human value and the judgement.

    Items of one `question` share a sample, a question text or the judged content. Learning from one of them
    and measuring on another would leak.
    """

    number: int
    case: Case
    item: str | None
    question: int
    people: Value
    said: Judgement


class Labelled(NamedTuple):
    """The labelled items, the scale on which they are compared, the metrics of the run, and warnings."""

    points: tuple[Point, ...]
    held: tuple[JudgedMetric, ...]
    scale: Scale
    matched: Matched
    annotators: tuple[str, ...]
    warnings: tuple[str, ...]


def labelled(folder: Path, metric: JudgedMetric, annotations: Source) -> Labelled:
    """Read the labelled items of a run.

    Raises:
        DataError: If nothing is labelled, or a file or the metric does not exist.
        StoreError: If the folder is not a run.
    """
    with Store.open(folder) as store, store.snapshot():
        taken, unread = given(folder, annotations, {metric.name: metric.scale})
        judged_by = metric_of(store, metric.name)
        found = match(store, metric.name, taken, metric.scale)
        scale, things = treated(metric.name, metric.scale, found.things, None)
        said = sides(things, "majority" if isinstance(scale, CategoricalScale) else "mean")
        if not said:
            raise DataError(
                f"{folder}: no submitted annotation of {metric.name} matches a verdict; see greval agreement {folder} "
                f"-m {metric.name}"
            )
        held = tuple(define(one) for one in definitions(store).values() if "steps" in one)
        wanted = {(one.thing.sample_id, one.thing.method) for one in said}
        judged = judged_cases(store, judged_by, wanted, found.fingerprints)
        cases = {(one.seen.id, one.seen.method): one.seen for one in judged}
    points = _points(metric, said, cases)
    told = tuple(_warnings(found, metric, unread, counts=(len(things) - len(said), len(said) - len(points))))
    annotators = tuple(sorted({who for one in said for who in one.thing.values}))
    return Labelled(points, held, scale, found, annotators, told)


def _points(metric: JudgedMetric, said: Sequence[Side], cases: Mapping[Who, Case]) -> tuple[Point, ...]:
    """Build the items whose case is known, without those that occur in the metric's own examples."""
    known = [one for one in said if (one.thing.sample_id, one.thing.method) in cases]
    found = [cases[one.thing.sample_id, one.thing.method] for one in known]
    marks = [_marks(metric, case, one.thing.item) for case, one in zip(found, known, strict=True)]
    shown = [_marks(metric, example.case, _only(metric, example.case))[1:] for example in metric.examples]
    numbers = clusters([*marks, *shown])
    taken = {*numbers[len(marks) :]}
    return tuple(
        Point(number, case, one.thing.item, question, one.people, one.thing.judgement)
        for number, (case, one, question) in enumerate(zip(found, known, numbers, strict=False))
        if question not in taken
    )


def _marks(metric: JudgedMetric, case: Case, item: str | None) -> tuple[Hashable, ...]:
    """Return the marks by which items are grouped into questions: sample, question text and judged content."""
    question = " ".join(case.question.casefold().split())
    content = shown_text(metric, one_item(metric, case, item)).casefold()
    return ("sample", case.id), *([("question", question)] if question else []), ("content", content)


def _only(metric: JudgedMetric, case: Case) -> str | None:
    return next((one.id for one in getattr(case, metric.over) or ()), None) if metric.over else None


def one_item(metric: JudgedMetric, case: Case, item: str | None) -> Case:
    """Return a case with only the judged item, or the whole case if the metric does not judge single items."""
    return keep(case, metric.over, frozenset({item or ""})) if metric.over else case


def shown_text(metric: JudgedMetric, alone: Case) -> str:
    """Format what a judge is shown of a case with one judged item, fenced as data."""
    return case_text(metric, alone, listed(metric.over, alone))


def _warnings(found: Matched, metric: JudgedMetric, unread: Sequence[str], *, counts: tuple[int, int]) -> Iterator[str]:
    """List what limits the trust in results from these labels."""
    yield from of_this_sample(found)
    tied, away = counts
    if tied > 0:
        yield f"{tied} left out: people are tied"
    if away > 0:
        shown = " or stand in the metric's examples" if metric.examples else ""
        yield f"{away} left out: their cases are not in the run{shown}"
    yield from left_out(found, (*unread, *found.faults))
