"""Agreement of a run's judge with people on one metric, over all annotated items and by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from greval._util.arguments import build_unknown_name_error, check_options, resolve_run_folder
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_reader import ItemKey, read_metric
from greval.runs.store import Store
from greval.stats.interval import LEVEL, check_level
from greval.trust.agreement.baselines import compute_baselines, measure_lengths
from greval.trust.agreement.figures import compute_people_agreement
from greval.trust.agreement.judge_figures import compute_judge_figures, compute_weighted_figures
from greval.trust.agreement.levels import convert_items
from greval.trust.agreement.records import Agreement, AgreementGroup, CombineAnnotators, TreatAs
from greval.trust.agreement.value_pairs import pair_values
from greval.trust.agreement.warnings import find_warnings
from greval.trust.annotations.matching import AnnotatedItem, MatchedAnnotations, match_annotations
from greval.trust.annotations.sources import load_annotations

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

NO_VALUE = "(none)"
METHOD = "method"


class AgreementOptions(TypedDict, total=False):
    """The options of `agreement`."""

    combine: CombineAnnotators | None
    treat_as: TreatAs | None
    by: str | Sequence[str]
    level: float


def agreement(
    run: str | Path | Run,
    metric: str,
    annotations: str | Path | Iterable[str | Path | Annotation] | None = None,
    **options: Unpack[AgreementOptions],
) -> Agreement:
    """Compute how far the judge of a run agrees with people.

    Args:
        run: The run, or its folder.
        metric: The metric on which people gave values too.
        annotations: One or several annotation files, or annotations. By default the annotations in the run's folder
            are used.
        **options: `combine`: how the values of several people become one: "majority" (default for categories), "mean"
            (default for numbers) or "each" (each value counts separately). `treat_as`: whether the levels of a value
            scale are compared as "categories" (default for two levels) or as "numbers". `by`: tags or "method" to
            group by. `level`: the confidence level of the intervals, 0.95 by default.

    Returns:
        The agreement as data; `greval agreement` prints it.

    Raises:
        DataError: If no annotation matches a verdict, or a file, metric or tag does not exist.
        MissingExtraError: If scikit-learn is not installed (needed for categories).
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval.runs.evaluation import evaluate
        >>> from greval import COMPUTED_METRICS
        >>> cases = [{"id": f"q{n}", "question": "?", "usage": {"latency": n}} for n in range(6)]
        >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> said = [Annotation(sample_id=f"q{n}", metric="latency", annotator="ana", value=n + 1) for n in range(6)]
        >>> agreement(run, "latency", said).groups[0].judge.figures["bias"].value
        -1.0
    """
    check_options(options, AgreementOptions, "agreement")
    level = check_level(options.get("level", LEVEL))
    by = options.get("by", ())
    tags = (by,) if isinstance(by, str) else tuple(by)
    folder = resolve_run_folder(run)
    with Store.open(folder) as store, store.snapshot():
        of_run = read_metric(store, metric).scale
        taken, unread = load_annotations(folder, annotations, {metric: of_run})
        found = match_annotations(store, metric, taken, of_run)
        scale, things = convert_items(metric, of_run, found.things, options.get("treat_as"))
        between = len(found.things) - len(things)
        found = found.model_copy(update={"things": things})
        combine = options.get("combine") or ("majority" if isinstance(scale, CategoricalScale) else "mean")
        if combine == "mean" and isinstance(scale, CategoricalScale):
            raise DataError(f"{metric}: categories have no mean; choose the majority, or each")
        _require_matches(found, folder, metric, tags)
        task = _AgreementSettings(scale, combine, level, measure_lengths(store, found.things), between)
    return _build_agreement(found, task, tags, unread, folder=folder, metric=metric)


class _AgreementSettings(NamedTuple):
    """The settings for the figures of each group.

    `between` is the number of items left out because the mean of their repeats lies between two levels.
    """

    scale: Scale
    combine: CombineAnnotators
    level: float
    lengths: dict[ItemKey, int]
    between: int


def _build_agreement(
    found: MatchedAnnotations,
    settings: _AgreementSettings,
    by: tuple[str, ...],
    unread: Sequence[str],
    *,
    folder: Path,
    metric: str,
) -> Agreement:
    """Compute the figures and the warnings of every group."""
    groups = tuple(
        group
        for name, things in group_items(found.things, by)
        if (group := _build_group(name, things, settings)) is not None
    )
    if not groups or groups[0].name:
        raise DataError(
            f"{folder}: people are tied on every thing that was judged on {metric}; ask one more, or compare with each"
        )
    unread = (*unread, *found.faults)
    return Agreement(
        folder=str(folder),
        metric=metric,
        judges=found.judges,
        annotators=groups[0].people.annotators,
        treat_as="categories" if isinstance(settings.scale, CategoricalScale) else "numbers",
        combine=settings.combine,
        by=by,
        level=settings.level,
        statuses=found.statuses,
        groups=groups,
        unread=unread,
        changed=found.changed,
        warnings=tuple(find_warnings(found, groups[0], unread, combine=settings.combine, between=settings.between)),
    )


def _build_group(name: str, things: Sequence[AnnotatedItem], settings: _AgreementSettings) -> AgreementGroup | None:
    """Compute the figures of a group, or return None if people are tied on all of its items."""
    found = pair_values(things, settings.combine)
    if not found:
        return None
    scale, level = settings.scale, settings.level
    used = [things[number] for number in dict.fromkeys(one.number for one in found)]
    enriched = len({thing.weight for thing in used}) > 1
    return AgreementGroup(
        name=name,
        things=len(used),
        questions=len({thing.sample_id for thing in used}),
        enriched=enriched,
        judge=compute_judge_figures(found, things, scale, level=level),
        weighted=compute_weighted_figures(found, scale, level=level) if enriched else {},
        people=compute_people_agreement(things, scale, level=level),
        baselines=compute_baselines(found, scale, settings.lengths, level=level),
    )


def group_items(things: Sequence[AnnotatedItem], by: tuple[str, ...]) -> Iterator[tuple[str, list[AnnotatedItem]]]:
    """Yield all items, then the items of each combination of tag values."""
    yield "", [*things]
    groups: dict[str, list[AnnotatedItem]] = {}
    for thing in things if by else ():
        values = (thing.method if tag == METHOD else thing.tags.get(tag) for tag in by)
        groups.setdefault(" · ".join(value or NO_VALUE for value in values), []).append(thing)
    yield from sorted(groups.items())


def _require_matches(found: MatchedAnnotations, folder: Path, metric: str, by: Sequence[str]) -> None:
    """Raise an error if no items can be compared or a tag does not exist.

    Raises:
        DataError: With a count of what was found instead.
    """
    tags = {METHOD, *(tag for thing in found.things for tag in thing.tags)}
    if found.things:
        for tag in by:
            if tag not in tags:
                raise build_unknown_name_error("tag", tag, tags, folder)
        return
    counts = [f"{count} {status}" for status, count in found.statuses.items()]
    counts += [f"{found.others} of other metrics"] if found.others else []
    counts += (
        [f"{len(found.strange)} things that are not in the run, such as {found.strange[0]}"] if found.strange else []
    )
    counts += [f"{len(found.unjudged)} things without a verdict"] if found.unjudged else []
    counts += [f"{found.outdated} of another text, such as {found.changed[0]}"] if found.changed else []
    counts += [f"not on the scale: {found.faults[0]}"] if found.faults else []
    raise DataError(
        f"{folder}: no submitted annotation of {metric} matches a verdict; "
        f"the annotations: {', '.join(counts) or 'none'} (they are matched by sample_id, method, metric and item, "
        "and by the content that people were shown where it is told)"
    )
