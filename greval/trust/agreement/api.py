"""Agreement of a run's judge with people on one metric, over all annotated items and by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from greval._util.arguments import check_options, resolve_run_folder
from greval._util.concurrency import reduce_collections
from greval._util.joins import OFF_SCALE
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import CategoricalScale, Scale
from greval.runs.store import Store
from greval.stats.interval import LEVEL, check_level
from greval.trust.agreement.baselines import compute_baselines
from greval.trust.agreement.figures import (
    collect_ratings,
    compute_judge_figures,
    compute_rater_agreement,
    compute_weighted_figures,
)
from greval.trust.agreement.records import Agreement, AgreementGroup, AgreementVerdict, CombineAnnotators, TreatAs
from greval.trust.agreement.rules import FloorSource, Rule, read_rules
from greval.trust.agreement.value_pairs import MatchedItems, ValuePair, build_no_match_error, match_items, pair_values
from greval.trust.agreement.verdict import decide_verdict
from greval.trust.agreement.warnings import find_warnings
from greval.trust.annotations.matching import AnnotatedItem, check_tags, group_items

if TYPE_CHECKING:
    from greval.runs.evaluation import Run


class AgreementOptions(TypedDict, total=False):
    """The options of `agreement`."""

    combine: CombineAnnotators | None
    treat_as: TreatAs | None
    by: str | Sequence[str]
    level: float
    label_columns: str | Sequence[str]
    floors: Sequence[FloorSource]


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
            scale are compared as "categories" (default for two levels) or as "numbers"; "unordered" compares as
            categories whose order does not count. `by`: tags or "method" to
            group by. `level`: the confidence level of the intervals, 0.95 by default. `label_columns`: the columns of
            the files that hold labels, each an annotator; without files, columns of the cases (tags). `floors`: names
            of computed metrics, or metrics, that the judge has to beat like the length of the text and shared words.

    Returns:
        The agreement as data; `greval agreement` prints it.

    Raises:
        DataError: If no annotation matches a verdict, or a file, metric or tag does not exist.
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval.runs.evaluation import evaluate
        >>> from greval.metrics.computed import COMPUTED_METRICS
        >>> cases = [{"id": f"q{n}", "question": "?", "usage": {"latency": n}} for n in range(6)]
        >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> labels = [Annotation(sample_id=f"q{n}", metric="latency", annotator="ana", value=n + 1) for n in range(6)]
        >>> agreement(run, "latency", labels).groups[0].judge.figures["bias"].value
        -1.0
    """
    check_options(options, AgreementOptions, "agreement")
    folder = resolve_run_folder(run)
    with reduce_collections():
        return _compute_agreement(folder, metric, annotations, options)


def _compute_agreement(
    folder: Path,
    metric: str,
    annotations: str | Path | Iterable[str | Path | Annotation] | None,
    options: AgreementOptions,
) -> Agreement:
    by = options.get("by", ())
    tags = (by,) if isinstance(by, str) else tuple(by)
    with Store.open(folder) as store, store.snapshot():
        items = _match_annotated_items(store, metric, annotations, options)
        matched, scale, things = items.matched, items.scale, items.matched.things
        check_tags(things, tags, str(folder))
        rules = read_rules(store, metric, (thing.key for thing in things), options.get("floors", ()))
    combine, level = items.combine, check_level(options.get("level", LEVEL))
    groups = [
        group
        for name, members in group_items(things, tags)
        if (group := _build_group(name, members, scale, combine, rules, level=level))
    ]
    # The group of all items comes first and has no name. It is missing if people are tied on all of them.
    if not groups or groups[0].name:
        raise DataError(
            f"{folder}: people are tied on every item that was judged on {metric}; "
            "ask one more annotator, or compare with each"
        )
    warnings = tuple(find_warnings(matched, groups[0], items.unread, combine=combine, between=items.between))
    is_off_scale = any(warning.startswith(OFF_SCALE) for warning in warnings)
    return Agreement(
        folder=str(folder),
        metric=metric,
        label_columns=items.loaded.columns,
        notes=items.loaded.notes,
        judges=matched.judges,
        annotators=groups[0].people.annotators,
        treat_as=options.get("treat_as") or ("categories" if isinstance(scale, CategoricalScale) else "numbers"),
        combine=combine,
        by=tags,
        level=level,
        statuses=matched.statuses,
        groups=tuple(groups),
        verdict=AgreementVerdict(use="nothing yet", why="too many labels are not on the scale of the verdicts")
        if is_off_scale
        else decide_verdict(groups[0], pair_values(things, combine), things, scale, level=level),
        unread=items.unread,
        changed=matched.changed,
        warnings=warnings,
    )


def pair_categories(
    run: str | Path | Run,
    metric: str,
    annotations: str | Path | Iterable[str | Path | Annotation] | None = None,
    **options: Unpack[AgreementOptions],
) -> tuple[CategoricalScale, tuple[ValuePair, ...]]:
    """Return the categories that `agreement` compares, for each item the one of people and the one of the judge."""
    check_options(options, AgreementOptions, "agreement")
    with Store.open(resolve_run_folder(run)) as store, store.snapshot():
        items = _match_annotated_items(store, metric, annotations, {"treat_as": "categories", **options})
    if not isinstance(items.scale, CategoricalScale):
        raise DataError(f"{metric}: its values are compared as numbers; remove treat_as")
    return items.scale, pair_values(items.matched.things, items.combine)


def _match_annotated_items(
    store: Store,
    metric: str,
    annotations: str | Path | Iterable[str | Path | Annotation] | None,
    options: AgreementOptions,
) -> MatchedItems:
    """Match annotations with the verdicts of a metric, or raise `DataError` if none can be compared."""
    items = match_items(
        store,
        metric,
        annotations,
        treat_as=options.get("treat_as"),
        combine=options.get("combine"),
        label_columns=options.get("label_columns", ()),
    )
    if not items.matched.things:
        raise build_no_match_error(items, store.folder, metric)
    return items


def _build_group(
    name: str,
    things: Sequence[AnnotatedItem],
    scale: Scale,
    combine: CombineAnnotators,
    rules: Sequence[Rule],
    *,
    level: float,
) -> AgreementGroup | None:
    """Compute the figures of a group, or return None if people are tied on all of its items."""
    pairs = pair_values(things, combine)
    if not pairs:
        return None
    # With "each" an item has a pair for each annotator, but it is one item.
    used = [things[number] for number in dict.fromkeys(pair.number for pair in pairs)]
    enriched = len({thing.weight for thing in used}) > 1
    return AgreementGroup(
        name=name,
        things=len(used),
        questions=len({thing.sample_id for thing in used}),
        enriched=enriched,
        judge=compute_judge_figures(pairs, things, scale, level=level),
        weighted=compute_weighted_figures(pairs, scale, level=level) if enriched else {},
        people=compute_rater_agreement(collect_ratings(things, scale), scale, level=level),
        baselines=compute_baselines(pairs, scale, rules, level=level),
    )
