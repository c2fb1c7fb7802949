"""Estimation of what people would say of all judged items of a run, from labels of some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from greval._util.arguments import known_options, run_folder, unknown
from greval.analysis.comparison.scales import direction
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.runs.store import Store
from greval.stats.difference import Clusters
from greval.stats.interval import LEVEL
from greval.stats.sampling import Drawn
from greval.trust.annotations.judged_items import contents
from greval.trust.annotations.matching import Key
from greval.trust.annotations.sources import Source, given
from greval.trust.estimates.cells import Cell, by_question, cells, things
from greval.trust.estimates.figures import REFUSED, Figures, Range, Sample, Scope, by_judge, figures
from greval.trust.estimates.judged import NOT_TOLD, Judged, judged
from greval.trust.estimates.labels import Labels, labelled
from greval.trust.estimates.records import DrawnBy, Estimate, EstimateRow, Figure
from greval.trust.estimates.sampling_design import drawing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from greval.runs.evaluation import Run

    Floats = NDArray[np.float64]


class Wishes(TypedDict, total=False):
    """The options of `estimate`."""

    drawn_by: DrawnBy | None
    new_questions: bool
    level: float


class _Target(NamedTuple):
    """The quantity that is estimated in each cell: the mean of the values, or the share of one category."""

    category: str | None
    verdicts: Floats
    sample: Sample
    reach: Range


class _Rules(NamedTuple):
    """The confidence level, the population of questions, and the reason why labels are not used."""

    level: float
    new_questions: bool
    unlike: str | None


def estimate(
    run: str | Path | Run,
    metric: str,
    annotations: Source = None,
    *,
    by: str | Sequence[str] = (),
    baseline: str | None = None,
    **wishes: Unpack[Wishes],
) -> Estimate:
    """Estimate the mean that people would give to all judged items of a metric, method by method.

    Args:
        run: The run, or its folder.
        metric: The metric's name.
        annotations: Annotations of some of the items, with the sampling weight and stratum of each: one or several
            files, or the annotations. By default those in the run's folder are used.
        by: One or several tags; each combination of their values is estimated in addition to all questions.
        baseline: A method; the differences of the others from it are estimated too, question by question.
        **wishes: `level`: the confidence level of the intervals, 0.95 by default. `drawn_by`: "items" if single items
            were sampled for annotation, "questions" if whole questions were; by default this is inferred from the
            labels. `new_questions`: whether the intervals are for new questions like these; by default they are for
            the judged items of this run.

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
        >>> from greval.metrics.computed import COMPUTED
        >>> cases = [{"id": f"q{n}", "question": "?", "method": "walk", "usage": {"latency": n % 4}} for n in range(40)]
        >>> run = evaluate(cases, [COMPUTED["latency"]], out=tempfile.mkdtemp())
        >>> said = [Annotation(sample_id=f"q{n}", method="walk", metric="latency", annotator="ana",
        ...                    value=n % 4 + 0.5 + n % 2 / 4) for n in range(0, 40, 3)]
        >>> row = estimate(run, "latency", said).rows[0]
        >>> row.judged, row.labels, row.judge.value, round(row.prediction_powered.value, 2)
        (40, 14, 1.5, 2.13)
    """
    known_options(wishes, Wishes, "estimate")
    level = wishes.get("level", LEVEL)
    if not 0 < level < 1:
        raise DataError(f"the level must lie between 0 and 1, got {level:g}; 0.95 is usual")
    folder = run_folder(run)
    tags = tuple(tag for tag in ((by,) if isinstance(by, str) else by) if tag != "method")
    all_given = given(folder, annotations)
    people = tuple(one for one in all_given.annotations if one.metric == metric)
    found = judged(folder, metric, by=tags, wanted={(one.sample_id, one.method) for one in people})
    _check(found, baseline, folder)
    labels = labelled(people, found, _shown(folder, metric, people, found))
    if len(labels.found) < 2:  # noqa: PLR2004 - a spread needs two
        raise DataError(_too_few(labels, metric))
    drawn = drawing(found, labels, wishes.get("drawn_by"))
    targets = [*_targets(found, labels, drawn.drawn)]
    rules = _Rules(level, wishes.get("new_questions", False), drawn.unlike)
    rows = [
        _row(found, cell, target, labels, rules)
        for cell in cells(found, baseline, grouped=bool(tags))
        for target in targets
    ]
    return Estimate(
        folder=str(folder),
        metric=metric,
        better=direction(found.scale).better,
        level=level,
        by=tags,
        baseline=baseline,
        drawn_by=drawn.by,
        new_questions=rules.new_questions,
        enriched=labels.enriched,
        judged=len(found.values),
        labels=len(labels.found),
        not_used=labels.not_used,
        refused=drawn.unlike,
        rows=tuple(rows),
        unread=all_given.unread,
        warnings=(*labels.warnings, *drawn.warnings, *_failed(found)),
    )


def _shown(folder: Path, metric: str, people: Sequence[Annotation], found: Judged) -> Mapping[Key, str]:
    """Return the hash of what the judge was shown, for items whose annotations have a content hash."""
    told = [one for one in people if one.content is not None]
    wanted = {(one.sample_id, method) for one in told for method in ((one.method,) if one.method else found.methods)}
    if not wanted:
        return {}
    with Store.open(folder) as store, store.snapshot():
        return contents(store, metric, wanted)


def _check(found: Judged, baseline: str | None, folder: Path) -> None:
    """Raise an error if the baseline does not exist or is the only method."""
    if baseline is None:
        return
    if baseline not in found.methods:
        raise unknown("method", baseline, found.methods, folder)
    if len(found.methods) == 1:
        raise DataError(f"{folder}: {baseline} is its only method: there is no other to take it off from")


def _too_few(labels: Labels, metric: str) -> str:
    """Format the error message for too few labels."""
    lacking = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in labels.not_used if count)
    told = f"; of its annotations {lacking}" if lacking else ""
    count = len(labels.found)
    return f"{metric}: an estimate needs two labels of judged things at least, there is {count or 'none'}{told}"


def _targets(found: Judged, labels: Labels, drawn: Drawn) -> Iterator[_Target]:
    """Yield the quantities to estimate: the mean, or for categories without scores the share of each."""
    import numpy as np

    verdicts = found.verdicts()
    places = np.array([label.place for label in labels.found])
    said = np.array([label.value for label in labels.found])
    if not found.categories:
        ends = direction(found.scale).ends
        seen = np.r_[verdicts, said]
        binary = bool(np.isin(seen, (0.0, 1.0)).all())
        width = ends[1] - ends[0] if ends else float(seen.max() - seen.min())
        yield _Target(
            None, verdicts, Sample(drawn, said, verdicts[places]), Range(ends, width, binary and ends == (0, 1))
        )
    for number, name in enumerate(found.categories):
        share = (verdicts == number).astype(float)
        sample = Sample(drawn, (said == number).astype(float), share[places])
        yield _Target(name, share, sample, Range((0.0, 1.0), 1.0, binary=True))


def _row(found: Judged, cell: Cell, target: _Target, labels: Labels, rules: _Rules) -> EstimateRow:
    """Estimate one quantity in one cell."""
    import numpy as np

    of = things(found, cell)
    count = sum(len(side.which) for side in of)
    told = {"group": cell.group, "method": cell.method or NOT_TOLD, "category": target.category, "judged": count}
    told["baseline"] = None if cell.baseline is None else cell.baseline or NOT_TOLD
    mean = cell.baseline is None
    of_questions = by_question(found, of, target.verdicts)
    judge = by_judge(*of_questions, target.reach, level=rules.level, mean=mean)
    places = np.array([label.place for label in labels.found])
    none = Figure(reason=rules.unlike or "no judged thing")
    if not count:
        return EstimateRow(**told, labels=0, judge=judge, labels_only=none, prediction_powered=none, rogan_gladen=none)
    sides = [side.side(target.verdicts, places, sign) for side, sign in zip(of, (1.0, -1.0), strict=False)]
    scope = Scope(rules.level, Clusters(*of_questions).error ** 2 if rules.new_questions else 0.0)
    both = figures(target.sample, sides, target.reach, judged=count, scope=scope)
    if rules.unlike:
        both = Figures(none, none, None, none)
    return EstimateRow(
        **told,
        labels=sum(int((side.shares > 0).sum()) for side in sides),
        judge=judge,
        labels_only=both.labels_only,
        plain=Figure(reason=REFUSED) if labels.enriched else None,
        prediction_powered=both.prediction_powered,
        power=both.power,
        rogan_gladen=both.rogan_gladen,
        sensitivity=both.rates and both.rates.sensitivity,
        specificity=both.rates and both.rates.specificity,
    )


def _failed(found: Judged) -> Iterator[str]:
    """Yield a warning if cases failed."""
    if count := found.statuses["failed"]:
        yield f"{count} of {found.statuses.total()} cases failed: the estimate is of the judged ones only"
