"""The labelled items of a run: each with its case, the value from people and the judgement, and folds of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from greval.errors import DataError
from greval.judging.prompt import format_case_text
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import keep_items, list_items
from greval.records.result import Judgement
from greval.records.scale import Scale, Value
from greval.runs.run_reader import CaseKey, read_judged_cases, read_judged_metric, read_metrics
from greval.runs.store import Store
from greval.stats.bootstrap import build_sparse
from greval.stats.cross_validation import assign_folds
from greval.trust.agreement.value_pairs import ValuePair, match_items, pair_values
from greval.trust.agreement.warnings import find_join_warnings, find_left_out_warnings, find_sample_warnings
from greval.trust.annotations.files import AnnotationSource
from greval.trust.annotations.matching import MatchedAnnotations


class LabelledItem(NamedTuple):
    """A labelled item: its case as the metric sees it, the number of its question, the human value and the judgement.

    Items of one `question` share a sample, a question text or the judged content. Learning from one of them
    and measuring on another would leak.
    """

    number: int
    case: Case
    item_id: str | None
    question: int
    people: Value
    judgement: Judgement

    @property
    def case_key(self) -> CaseKey:
        """Sample id and method."""
        return self.case.id, self.case.method


class LabelledItems(NamedTuple):
    """The labelled items, the scale on which they are compared, and the metrics and fingerprints of the run."""

    items: tuple[LabelledItem, ...]
    scale: Scale
    metrics: tuple[JudgedMetric, ...]
    fingerprints: tuple[str, ...]
    annotators: tuple[str, ...]
    warnings: tuple[str, ...]


def read_labelled_items(
    folder: Path, metric: JudgedMetric, annotations: AnnotationSource, label_columns: str | Sequence[str] = ()
) -> LabelledItems:
    """Read the labelled items of a run."""
    with Store.open(folder) as store, store.snapshot():
        judged_by = read_judged_metric(store, metric.name)
        labels = match_items(store, metric.name, annotations, scale=metric.scale, label_columns=label_columns)
        matched = labels.matched
        pairs = pair_values(matched.things, labels.combine)
        if not pairs:
            raise DataError(
                f"{folder}: no submitted annotation of {metric.name} matches a verdict; see greval agreement {folder} "
                f"-m {metric.name}"
            )
        metrics = tuple(stored.judged for stored in read_metrics(store).values() if stored.judged)
        keys = {(pair.thing.sample_id, pair.thing.method) for pair in pairs}
        judged = read_judged_cases(store, judged_by, keys, matched.fingerprints)
        cases = {(judged_case.seen.id, judged_case.seen.method): judged_case.seen for judged_case in judged}
    items = _build_items(metric, pairs, cases)
    counts = len(matched.things) - len(pairs), len(pairs) - len(items)
    return LabelledItems(
        items,
        labels.scale,
        metrics,
        matched.fingerprints,
        annotators=tuple(sorted({name for pair in pairs for name in pair.thing.values})),
        warnings=(*labels.loaded.notes, *_list_warnings(matched, metric, labels.unread, counts)),
    )


def keep_item(metric: JudgedMetric, case: Case, item_id: str | None) -> Case:
    """Return a case with only the judged item, or the whole case if the metric does not judge single items."""
    return keep_items(case, metric.over, frozenset({item_id or ""})) if metric.over else case


def format_item(metric: JudgedMetric, item: LabelledItem) -> str:
    """Format what a judge is shown of a labelled item, fenced as data."""
    return _format_case(metric, item.case, item.item_id)


def _format_case(metric: JudgedMetric, case: Case, item_id: str | None) -> str:
    alone = keep_item(metric, case, item_id)
    return format_case_text(metric, alone, list_items(metric.over, alone))


def number_clusters(marks: Sequence[Sequence[Hashable]]) -> list[int]:
    """Number items so that those that share a mark, directly or through other items, have the same number.

    Example:
        >>> number_clusters([("q1", "Who?"), ("q2", "Where?"), ("q3", "Who?"), ("q3", "When?")])
        [0, 1, 0, 0]
    """
    import numpy as np
    from scipy.sparse.csgraph import connected_components

    if not marks:
        return []
    nodes: dict[Hashable, int] = {}
    for mark in chain.from_iterable(marks):
        nodes.setdefault(mark, len(marks) + len(nodes))
    edges = np.array([(number, nodes[mark]) for number, each in enumerate(marks) for mark in each]).T
    size = len(marks) + len(nodes)
    graph = build_sparse((edges[0], edges[1]), np.ones(edges.shape[1]), (size, size))
    _, clusters = connected_components(graph, directed=False)
    return [int(cluster) for cluster in clusters[: len(marks)]]


def draw_folds(questions: Sequence[int], count: int, *, seed: int) -> dict[int, int]:
    """Draw the fold of each question of the items, numbered from 1; folds have similar numbers of items."""
    fold_of = assign_folds(_shuffle_questions(questions, seed), count)
    return {question: fold + 1 for question, fold in fold_of.items()}


def draw_questions(questions: Sequence[int], max_items: int, *, seed: str) -> set[int]:
    """Draw questions at random that have at most `max_items` items in total."""
    drawn: set[int] = set()
    total = 0
    for question, size in _shuffle_questions(questions, seed).items():
        if total + size <= max_items:
            drawn.add(question)
            total += size
    return drawn


def _shuffle_questions(questions: Sequence[int], seed: int | str) -> dict[int, int]:
    """Return the number of items of each question, in random order."""
    sizes = Counter(questions)
    # Sorted first, so that the seed alone decides and not the order of the annotations.
    order = sorted(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    return {question: sizes[question] for question in order}


def _build_items(
    metric: JudgedMetric, pairs: Sequence[ValuePair], cases: Mapping[CaseKey, Case]
) -> tuple[LabelledItem, ...]:
    """Build the items whose case is known, without those that occur in the metric's own examples."""
    pairs_with_case = [(pair, case) for pair in pairs if (case := cases.get((pair.thing.sample_id, pair.thing.method)))]
    marks = [_list_marks(metric, case, pair.thing.item) for pair, case in pairs_with_case]
    # An example of a metric over items has one item.
    examples = [
        _list_marks(metric, example.case, next((item.id for item in list_items(metric.over, example.case)), None))[1:]
        for example in metric.examples
    ]
    questions = number_clusters([*marks, *examples])
    # A label whose question is already an example would be learned from and measured on.
    excluded = {*questions[len(marks) :]}
    return tuple(
        LabelledItem(
            number,
            case,
            pair.thing.item,
            question,
            pair.people,
            Judgement.model_validate({**pair.thing.judgement, "value": pair.judge}),
        )
        for number, ((pair, case), question) in enumerate(zip(pairs_with_case, questions, strict=False))
        if question not in excluded
    )


def _list_marks(metric: JudgedMetric, case: Case, item_id: str | None) -> tuple[Hashable, ...]:
    """List the marks by which items are grouped into questions: sample, question text and judged content."""
    question = " ".join(case.question.casefold().split())
    content = _format_case(metric, case, item_id).casefold()
    return ("sample", case.id), *([("question", question)] if question else []), ("content", content)


def _list_warnings(
    matched: MatchedAnnotations, metric: JudgedMetric, unread: Sequence[str], counts: tuple[int, int]
) -> Iterator[str]:
    """List what limits the trust in results from these labels."""
    yield from find_join_warnings(matched, unread)
    yield from find_sample_warnings(matched)
    tied, missing = counts
    if tied > 0:
        yield f"{tied} left out: people are tied"
    if missing > 0:
        or_examples = " or occur in the metric's examples" if metric.examples else ""
        yield f"{missing} left out: their cases are not in the run{or_examples}"
    yield from find_left_out_warnings(matched, unread)
