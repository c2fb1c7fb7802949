"""A panel of judges: several runs over the same cases, compared with each other and with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from greval._util.arguments import check_options, require_iterable, resolve_run_folder
from greval._util.concurrency import reduce_collections
from greval.records.annotation import Annotation
from greval.records.scale import CategoricalScale, OffScaleError, Value
from greval.records.scale_values import parse_on_scale
from greval.runs.run_reader import ItemKey
from greval.runs.store import Store
from greval.stats.interval import LEVEL, check_level
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.rules import FloorSource, Rule, read_rules
from greval.trust.agreement.value_pairs import match_items, pair_values
from greval.trust.annotations.files import ANNOTATIONS_FILE, AnnotationSource
from greval.trust.annotations.matching import AnnotatedItem, check_tags, group_items
from greval.trust.panels.members import PanelSettings, build_group, combine_items, find_outlier
from greval.trust.panels.records import CombineJudges, Panel
from greval.trust.panels.runs import PanelItems, count_run_verdicts, read_panel_items
from greval.trust.panels.warnings import find_people_warnings, find_warnings

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

PANEL = "panel"


class PanelOptions(TypedDict, total=False):
    """The options of `panel`."""

    annotations: AnnotationSource
    combine: CombineJudges | None
    treat_as: TreatAs | None
    by: str | Sequence[str]
    level: float
    label_columns: str | Sequence[str]
    floors: Sequence[FloorSource]


def panel(runs: Sequence[str | Path | Run], metric: str, **options: Unpack[PanelOptions]) -> Panel:
    """Compare the judges of several runs over the same cases with each other.

    Only items that all of them judged count.

    Args:
        runs: Two or more runs, or their folders, each of one judge.
        metric: The metric that all judged by.
        **options: `combine`: how the verdicts become the panel's verdict: "majority" (for categories), "median"
            (default for numbers) or "mean". `annotations`: annotations of people, as one or several files or
            annotations; by default those in the runs' folders, if any. `treat_as`: whether the levels of a value
            scale are compared as "categories" (default for two levels) or as "numbers". `by`: tags or "method" to
            group by. `level`: the confidence level of the intervals, 0.95 by default. `label_columns`: the columns of
            the files that hold labels, each an annotator; without files, columns of the cases. `floors`: names of
            computed metrics, or metrics, that the panel has to beat like the length of the text and shared words.

    Returns:
        The figures as data; `greval panel` prints them.

    Raises:
        DataError: If no item was judged by all, or a metric or tag does not exist.
        StoreError: If a folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import evaluate, load_metric
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(4)]
        >>> judges = [ScriptedJudge([{"reason": "r", "value": value}]) for value in (1, 1, 0)]
        >>> runs = [evaluate(cases, [load_metric("correctness")], judge, out=tempfile.mkdtemp()) for judge in judges]
        >>> panel(runs, "correctness").groups[0].unanimous.value
        0.0
    """
    check_options(options, PanelOptions, "panel")
    require_iterable(runs, "runs", "['runs/first', 'runs/second']")
    with reduce_collections():
        return _compute_panel(runs, metric, options)


def _compute_panel(runs: Sequence[str | Path | Run], metric: str, options: PanelOptions) -> Panel:
    items = _read_items(runs, metric, options)
    level = check_level(options.get("level", LEVEL))
    by = options.get("by", ())
    tags = (by,) if isinstance(by, str) else tuple(by)
    check_tags(items.things, tags, ", ".join(str(run.folder) for run in items.runs.values()))
    people, annotators, people_warnings = _read_people(items, metric, options)
    rules = _read_rules(items, metric, people, options)
    settings = PanelSettings([*items.runs], items.scale, items.combine, level, people, rules)
    groups = tuple(build_group(name, members, settings) for name, members in group_items(items.things, tags))
    outlier, why_none = find_outlier(groups[0].judges)
    return Panel(
        metric=metric,
        runs=count_run_verdicts(items),
        annotators=tuple(annotators),
        treat_as=options.get("treat_as") or ("categories" if isinstance(items.scale, CategoricalScale) else "numbers"),
        combine=items.combine,
        by=tags,
        level=level,
        groups=groups,
        outlier=outlier,
        why_none=why_none,
        warnings=(*find_warnings(items, groups[0].ties), *people_warnings),
    )


def panel_annotations(
    runs: Sequence[str | Path | Run], metric: str, **options: Unpack[PanelOptions]
) -> tuple[Annotation, ...]:
    """Return the panel's verdicts as annotations of an annotator named "panel".

    In this form everything that reads annotations can read them: another judge is compared with the panel as with a
    person. If the panel is tied, or its number is not a level of the scale, the annotation is pending and has no
    value. The comment lists the votes.

    Args:
        runs: The runs, as for `panel`.
        metric: The metric that all judged by.
        **options: `combine` and `treat_as`, as for `panel`.

    Raises:
        DataError: If no item was judged by all.
        StoreError: If a folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import evaluate, load_metric
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": "q1", "question": "?", "answer": "a", "expected_answer": "a"}]
        >>> judges = [ScriptedJudge([{"reason": "r", "value": value}]) for value in (1, 1, 0)]
        >>> runs = [evaluate(cases, [load_metric("correctness")], judge, out=tempfile.mkdtemp()) for judge in judges]
        >>> panel_annotations(runs, "correctness")[0].value
        1
    """
    items = _read_items(runs, metric, options)
    verdicts = combine_items(items.things, items.combine, items.scale)
    return tuple(
        _build_annotation(thing, verdict, metric, items) for thing, verdict in zip(items.things, verdicts, strict=True)
    )


def _read_items(runs: Sequence[str | Path | Run], metric: str, options: PanelOptions) -> PanelItems:
    """Read the items that all judged, as the options want them compared."""
    folders = [resolve_run_folder(run) for run in runs]
    return read_panel_items(folders, metric, combine=options.get("combine"), treat_as=options.get("treat_as"))


def _read_people(
    items: PanelItems, metric: str, options: PanelOptions
) -> tuple[dict[ItemKey, Value], Sequence[str], Sequence[str]]:
    """Return people's value of each item on which they are not tied, the annotators, and warnings."""
    source, columns = options.get("annotations"), options.get("label_columns", ())
    folders = [run.folder for run in items.runs.values()]
    if source is None and not columns:
        source = [folder / ANNOTATIONS_FILE for folder in folders if (folder / ANNOTATIONS_FILE).is_file()]
        if not source:
            return {}, (), ()
    with Store.open(folders[0]) as store, store.snapshot():
        labels = match_items(store, metric, source, treat_as=options.get("treat_as"), label_columns=columns)
    things = labels.matched.things
    values = {pair.thing.key: pair.people for pair in pair_values(things, labels.combine)}
    tied = len(things) - len(values)
    warnings = find_people_warnings(labels.matched, labels.unread, tied=tied, matching=len(values))
    annotators = {annotator for thing in things for annotator in thing.values}
    return values, sorted(annotators), (*labels.loaded.notes, *warnings)


def _read_rules(
    items: PanelItems, metric: str, people: Mapping[ItemKey, Value], options: PanelOptions
) -> tuple[Rule, ...]:
    """Return the rules that the panel has to beat, by the texts of the first run; none without values of people."""
    keys = [thing.key for thing in items.things if thing.key in people]
    if not keys:
        return ()
    with Store.open(next(iter(items.runs.values())).folder) as store, store.snapshot():
        return read_rules(store, metric, keys, options.get("floors", ()))


def _build_annotation(thing: AnnotatedItem, verdict: Value | None, metric: str, items: PanelItems) -> Annotation:
    """Build the annotation of the panel's verdict on an item; None is a tie."""
    comment = "; ".join(f"{judge}: {value}" for judge, value in thing.values.items())
    value = None
    if verdict is not None:
        try:
            value = parse_on_scale(items.scale_of_run, verdict)
        except OffScaleError:
            comment = f"{items.combine} {float(verdict):g} is not a level; {comment}"
    return Annotation(
        sample_id=thing.sample_id,
        method=thing.method,
        metric=metric,
        item=thing.item,
        annotator=PANEL,
        status="pending" if value is None else "submitted",
        value=value,
        comment=comment,
    )
