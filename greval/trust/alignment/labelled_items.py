"""The labelled items of a run: each with its case, the value from people and the judgement."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greval.errors import DataError
from greval.judging.prompt import format_case_text
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import keep_items, list_items
from greval.records.result import Judgement
from greval.records.scale import CategoricalScale, Scale, Value
from greval.runs.run_reader import CaseKey, read_judged_cases, read_judged_metric, read_metrics
from greval.runs.store import Store
from greval.trust.agreement.value_pairs import ValuePair, convert_items, pair_values
from greval.trust.agreement.warnings import find_left_out_warnings, find_sample_warnings
from greval.trust.alignment.folds import number_clusters
from greval.trust.annotations.files import AnnotationSource, load_annotations
from greval.trust.annotations.matching import MatchedAnnotations, match_annotations


class LabelledItem(NamedTuple):
    """A labelled item: its case as the metric sees it, the number of its question, the human value and the judgement.

    Items of one `question` share a sample, a question text or the judged content. Learning from one of them
    and measuring on another would leak.
    """

    number: int
    case: Case
    item: str | None
    question: int
    people: Value
    judgement: Judgement


class LabelledItems(NamedTuple):
    """The labelled items, the scale on which they are compared, the metrics of the run, and warnings."""

    points: tuple[LabelledItem, ...]
    held: tuple[JudgedMetric, ...]
    scale: Scale
    matched: MatchedAnnotations
    annotators: tuple[str, ...]
    warnings: tuple[str, ...]


def read_labelled_items(folder: Path, metric: JudgedMetric, annotations: AnnotationSource) -> LabelledItems:
    """Read the labelled items of a run.

    Raises:
        DataError: If nothing is labelled, or a file or the metric does not exist.
        StoreError: If the folder is not a run.
    """
    with Store.open(folder) as store, store.snapshot():
        taken, unread = load_annotations(folder, annotations, {metric.name: metric.scale})
        judged_by = read_judged_metric(store, metric.name)
        found = match_annotations(store, metric.name, taken, metric.scale)
        scale, things = convert_items(metric.name, metric.scale, found.things, None)
        said = pair_values(things, "majority" if isinstance(scale, CategoricalScale) else "mean")
        if not said:
            raise DataError(
                f"{folder}: no submitted annotation of {metric.name} matches a verdict; see greval agreement {folder} "
                f"-m {metric.name}"
            )
        held = tuple(stored.judged for stored in read_metrics(store).values() if stored.judged)
        wanted = {(one.thing.sample_id, one.thing.method) for one in said}
        judged = read_judged_cases(store, judged_by, wanted, found.fingerprints)
        cases = {(one.seen.id, one.seen.method): one.seen for one in judged}
    points = _build_items(metric, said, cases)
    told = tuple(_list_warnings(found, metric, unread, counts=(len(things) - len(said), len(said) - len(points))))
    annotators = tuple(sorted({who for one in said for who in one.thing.values}))
    return LabelledItems(points, held, scale, found, annotators, told)


def _build_items(
    metric: JudgedMetric, said: Sequence[ValuePair], cases: Mapping[CaseKey, Case]
) -> tuple[LabelledItem, ...]:
    """Build the items whose case is known, without those that occur in the metric's own examples."""
    known = [one for one in said if (one.thing.sample_id, one.thing.method) in cases]
    found = [cases[one.thing.sample_id, one.thing.method] for one in known]
    marks = [_compute_marks(metric, case, one.thing.item) for case, one in zip(found, known, strict=True)]
    shown = [
        _compute_marks(metric, example.case, _find_first_item(metric, example.case))[1:] for example in metric.examples
    ]
    numbers = number_clusters([*marks, *shown])
    taken = {*numbers[len(marks) :]}
    return tuple(
        LabelledItem(number, case, one.thing.item, question, one.people, one.thing.judgement)
        for number, (case, one, question) in enumerate(zip(found, known, numbers, strict=False))
        if question not in taken
    )


def _compute_marks(metric: JudgedMetric, case: Case, item: str | None) -> tuple[Hashable, ...]:
    """Return the marks by which items are grouped into questions: sample, question text and judged content."""
    question = " ".join(case.question.casefold().split())
    content = format_case(metric, keep_item(metric, case, item)).casefold()
    return ("sample", case.id), *([("question", question)] if question else []), ("content", content)


def _find_first_item(metric: JudgedMetric, case: Case) -> str | None:
    return next((one.id for one in getattr(case, metric.over) or ()), None) if metric.over else None


def keep_item(metric: JudgedMetric, case: Case, item: str | None) -> Case:
    """Return a case with only the judged item, or the whole case if the metric does not judge single items."""
    return keep_items(case, metric.over, frozenset({item or ""})) if metric.over else case


def format_case(metric: JudgedMetric, alone: Case) -> str:
    """Format what a judge is shown of a case with one judged item, fenced as data."""
    return format_case_text(metric, alone, list_items(metric.over, alone))


def _list_warnings(
    found: MatchedAnnotations, metric: JudgedMetric, unread: Sequence[str], *, counts: tuple[int, int]
) -> Iterator[str]:
    """List what limits the trust in results from these labels."""
    yield from find_sample_warnings(found)
    tied, away = counts
    if tied > 0:
        yield f"{tied} left out: people are tied"
    if away > 0:
        shown = " or stand in the metric's examples" if metric.examples else ""
        yield f"{away} left out: their cases are not in the run{shown}"
    yield from find_left_out_warnings(found, (*unread, *found.faults))
