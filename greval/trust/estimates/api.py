"""Estimation of what people would say of all judged items of a run, from labels of some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from greval._util.arguments import build_unknown_name_error, check_options, resolve_run_folder
from greval._util.concurrency import reduce_collections
from greval.errors import DataError
from greval.records.scale import find_direction
from greval.runs.score_columns import JudgedColumns, read_judged_columns
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.stats.interval import LEVEL, ClusterSums, check_level
from greval.stats.sampling import WeightedSample
from greval.stats.summary import METHOD, NO_VALUE
from greval.trust.agreement.rules import LENGTH, MAX_COMPUTED_CASES, FloorSource, Rule, read_rules
from greval.trust.annotations.adjudication import unite_annotators
from greval.trust.annotations.files import AnnotationSource, load_annotations
from greval.trust.annotations.matching import fill_in_method, get_item_key, hash_judged_contents
from greval.trust.estimates.figures import (
    REFUSED,
    CellFigures,
    EstimateCell,
    LabelledSample,
    ValueRange,
    compute_figures,
    compute_judge_figure,
    iterate_cells,
    select_items,
    sum_by_question,
)
from greval.trust.estimates.labels import ItemLabels, build_labels, infer_design
from greval.trust.estimates.records import DrawnBy, Estimate, EstimateFigure, EstimateRow
from greval.trust.estimates.warnings import find_failures

if TYPE_CHECKING:
    from greval.runs.evaluation import Run
    from greval.stats.bootstrap import Floats


class EstimateOptions(TypedDict, total=False):
    """The options of `estimate`."""

    drawn_by: DrawnBy | None
    new_questions: bool
    level: float
    label_columns: str | Sequence[str]
    floor: FloorSource | None


class _EstimateTarget(NamedTuple):
    """The quantity that is estimated in each cell: the mean of the values, or the share of one category."""

    category: str | None
    verdicts: Floats
    sample: LabelledSample
    reach: ValueRange


class _EstimateSettings(NamedTuple):
    """The confidence level, the population of questions, the reason why labels are not used, and a rule's numbers."""

    level: float
    new_questions: bool
    unlike: str | None
    rule: Floats | None


def estimate(
    run: str | Path | Run,
    metric: str,
    annotations: AnnotationSource = None,
    *,
    by: str | Sequence[str] = (),
    baseline: str | None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate:
    """Estimate the mean that people would give to all judged items of a metric, method by method.

    Args:
        run: The run, or its folder.
        metric: The metric's name.
        annotations: Annotations of some of the items, with the sampling weight and stratum of each: one or several
            files, or the annotations. By default those in the run's folder are used.
        by: One or several tags; each combination of their values is estimated in addition to all questions.
        baseline: A method; the differences of the others from it are estimated too, question by question.
        **options: `level`: the confidence level of the intervals, 0.95 by default. `drawn_by`: "items" if single items
            were sampled for annotation, "questions" if whole questions were; by default this is inferred from the
            labels. `label_columns`: the columns of the files that hold labels, each an annotator; without files,
            columns of the cases. `new_questions`: whether the intervals are for new questions like these; by default
            they are for the judged items of this run. `floor`: the computed metric, or its name, that is used beside
            the judge in one more figure; by default the share of words that two texts have in common.

    Returns:
        The estimate as data; `greval estimate` prints it.

    Raises:
        DataError: If the metric, the baseline or a tag does not exist, or there are too few labels: fewer than two,
            or those of one question only if whole questions were sampled.
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval.records.annotation import Annotation
        >>> from greval.runs.evaluation import evaluate
        >>> from greval.metrics.computed import COMPUTED_METRICS
        >>> cases = [{"id": f"q{n}", "question": "?", "method": "walk", "usage": {"latency": n % 4}} for n in range(40)]
        >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> labels = [Annotation(sample_id=f"q{n}", method="walk", metric="latency", annotator="ana",
        ...                    value=n % 4 + 0.5 + n % 2 / 4) for n in range(0, 40, 3)]
        >>> row = estimate(run, "latency", labels).rows[0]
        >>> row.judged, row.labels, row.judge.value, round(row.prediction_powered.value, 2)
        (40, 14, 1.5, 2.13)
    """
    check_options(options, EstimateOptions, "estimate")
    with reduce_collections():
        return _compute_estimate(resolve_run_folder(run), metric, annotations, options, by=by, baseline=baseline)


def _compute_estimate(
    folder: Path,
    metric: str,
    annotations: AnnotationSource,
    options: EstimateOptions,
    *,
    by: str | Sequence[str],
    baseline: str | None,
) -> Estimate:
    level = check_level(options.get("level", LEVEL))
    tags = tuple(tag for tag in ((by,) if isinstance(by, str) else by) if tag != METHOD)
    labels_in = options.get("label_columns", ())
    loaded = load_annotations(folder, annotations, metric=metric, label_columns=labels_in)
    people, united = unite_annotators([annotation for annotation in loaded.annotations if annotation.metric == metric])
    floor = options.get("floor")
    with Store.open(folder) as store, store.snapshot():
        case_keys = {(annotation.sample_id, annotation.method) for annotation in people}
        is_rule_read = floor is not None or store.count() <= MAX_COMPUTED_CASES
        judged = read_judged_columns(store, metric, by=tags, case_keys=case_keys, with_keys=is_rule_read)
        rule = _read_rule(store, metric, judged, floor) if is_rule_read else None
        _check_baseline(judged, baseline, folder)
        people = fill_in_method(people, judged.methods)
        contents = hash_judged_contents(store, metric, people)
        is_whole = all(get_item_key(annotation) in judged.places for annotation in people)
        places = store.select(("sample_id", "method"), ResultFilter(metrics=(metric,)))
        # The cases help to explain why items did not meet; if all did, they need not be read.
        cases = [] if is_whole else [(sample_id, method, None) for sample_id, method in places]
    labels = build_labels(people, judged, contents, cases)
    if len(labels.found) < 2:  # noqa: PLR2004 - a spread needs two
        unused = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in labels.not_used if count)
        why = f"; its other annotations: {unused}" if unused else ""
        hint = f"; {labels.join.near}" if labels.join.near else ""
        needed = f"{metric}: an estimate needs labels of at least two judged items"
        raise DataError(f"{needed}, got {len(labels.found)}{why}{hint}")
    drawn, unit, unlike, sample_warnings = infer_design(judged, labels, options.get("drawn_by"))
    numbers = _fill_numbers(rule, judged) if rule else None
    targets = [*_build_targets(judged, labels, drawn, numbers)]
    rules = _EstimateSettings(level, options.get("new_questions", False), unlike, numbers)
    rows = [
        _build_row(judged, cell, target, labels, rules)
        for cell in iterate_cells(judged, baseline, grouped=bool(tags))
        for target in targets
    ]
    return Estimate(
        folder=str(folder),
        notes=loaded.notes,
        metric=metric,
        better=find_direction(judged.scale).better,
        level=level,
        by=tags,
        baseline=baseline,
        drawn_by=unit,
        new_questions=rules.new_questions,
        enriched=labels.enriched,
        judged=len(judged.values),
        labels=len(labels.found),
        not_used=labels.not_used,
        refused=unlike,
        rule=rule.name if rule else None,
        rows=tuple(rows),
        unread=loaded.unread,
        warnings=(*labels.warnings, *united, *sample_warnings, *find_failures(judged.statuses)),
    )


def _check_baseline(judged: JudgedColumns, baseline: str | None, folder: Path) -> None:
    """Raise an error if the baseline does not exist or is the only method."""
    if baseline is None:
        return
    if baseline not in judged.methods:
        raise build_unknown_name_error("method", baseline, judged.methods, folder)
    if len(judged.methods) == 1:
        raise DataError(f"{folder}: {baseline} is the only method; a difference needs two")


def _read_rule(store: Store, metric: str, judged: JudgedColumns, floor: FloorSource | None) -> Rule | None:
    """Read the rule to use beside the judge: that of the user, or that of shared words; None without either."""
    rules = read_rules(store, metric, judged.keys, [] if floor is None else [floor])
    return next((rule for rule in reversed(rules) if rule.name != LENGTH and rule.numbers), None)


def _fill_numbers(rule: Rule, judged: JudgedColumns) -> Floats:
    """Return the rule's number of each judged item; the mean for items that have none."""
    import numpy as np

    # any number that is known of all items is allowed here, so that a missing one may be anything
    mean = fmean(rule.numbers.values())
    return np.array([rule.numbers.get(key, mean) for key in judged.keys])


def _build_targets(
    judged: JudgedColumns, labels: ItemLabels, drawn: WeightedSample, rule: Floats | None
) -> Iterator[_EstimateTarget]:
    """Yield the quantities to estimate: the mean, or for categories without scores the share of each."""
    import numpy as np

    verdicts = judged.get_verdicts()
    places = np.array([label.place for label in labels.found])
    people = np.array([label.value for label in labels.found])
    control = None if rule is None else rule[places]
    if not judged.categories:
        ends = find_direction(judged.scale).ends
        values = np.r_[verdicts, people]
        binary = bool(np.isin(values, (0.0, 1.0)).all())
        width = ends[1] - ends[0] if ends else float(values.max() - values.min())
        yield _EstimateTarget(
            None,
            verdicts,
            LabelledSample(drawn, people, verdicts[places], control),
            ValueRange(ends, width, binary and ends == (0, 1)),
        )
    for number, name in enumerate(judged.categories):
        share = (verdicts == number).astype(float)
        sample = LabelledSample(drawn, (people == number).astype(float), share[places], control)
        yield _EstimateTarget(name, share, sample, ValueRange((0.0, 1.0), 1.0, binary=True))


def _build_row(
    judged: JudgedColumns, cell: EstimateCell, target: _EstimateTarget, labels: ItemLabels, rules: _EstimateSettings
) -> EstimateRow:
    """Estimate one quantity in one cell."""
    import numpy as np

    of = select_items(judged, cell)
    count = sum(len(side.which) for side in of)
    described = {"group": cell.group, "method": cell.method or NO_VALUE, "category": target.category, "judged": count}
    described["baseline"] = None if cell.baseline is None else cell.baseline or NO_VALUE
    mean = cell.baseline is None
    of_questions = sum_by_question(judged, of, target.verdicts)
    judge = compute_judge_figure(*of_questions, target.reach, level=rules.level, mean=mean)
    places = np.array([label.place for label in labels.found])
    none = EstimateFigure(reason=rules.unlike or "no judged item")
    if not count:
        return EstimateRow(
            **described, labels=0, judge=judge, labels_only=none, prediction_powered=none, rogan_gladen=none
        )
    sides = [
        side.build_side(target.verdicts, places, sign, rule=rules.rule)
        for side, sign in zip(of, (1.0, -1.0), strict=False)
    ]
    error = ClusterSums(*of_questions).error ** 2 if rules.new_questions else 0.0
    both = compute_figures(target.sample, sides, target.reach, judged=count, level=rules.level, judge_error=error)
    if rules.unlike:
        both = CellFigures(none, none, None, none)
    return EstimateRow(
        **described,
        labels=sum(int((side.shares > 0).sum()) for side in sides),
        judge=judge,
        labels_only=both.labels_only,
        plain=EstimateFigure(reason=REFUSED) if labels.enriched else None,
        prediction_powered=both.prediction_powered,
        power=both.power,
        with_rule=both.with_rule,
        rogan_gladen=both.rogan_gladen,
        sensitivity=both.rates and both.rates.sensitivity,
        specificity=both.rates and both.rates.specificity,
    )
