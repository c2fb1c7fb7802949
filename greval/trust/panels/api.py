"""A panel of judges: several runs over the same cases, compared with each other and with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from greval._util.arguments import check_options, require_iterable, resolve_run_folder
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import CategoricalScale, OffScaleError, Scale, Value
from greval.runs.run_reader import ItemKey
from greval.runs.store import Store
from greval.stats.interval import LEVEL, check_level
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.value_pairs import convert_items
from greval.trust.agreement.warnings import find_left_out_warnings, find_sample_warnings
from greval.trust.annotations.files import ANNOTATIONS_FILE, AnnotationSource, load_annotations
from greval.trust.annotations.matching import AnnotatedItem, check_tags, format_item_key, group_items, match_annotations
from greval.trust.annotations.values import parse_on_scale
from greval.trust.panels.members import PanelSettings, build_group, combine_verdicts, find_outlier
from greval.trust.panels.records import CombineJudges, Panel
from greval.trust.panels.runs import RunVerdicts, count_run_verdicts, find_common_items, read_runs

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

PANEL = "panel"
MIN_ITEMS = 30
MAX_LISTED = 3


class PanelOptions(TypedDict, total=False):
    """The options of `panel`."""

    annotations: AnnotationSource
    combine: CombineJudges | None
    treat_as: TreatAs | None
    by: str | Sequence[str]
    level: float


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
            group by. `level`: the confidence level of the intervals, 0.95 by default.

    Returns:
        The figures as data; `greval panel` prints them.

    Raises:
        DataError: If no item was judged by all, or a metric or tag does not exist.
        MissingExtraError: If scikit-learn is not installed (needed for categories).
        StoreError: If a folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import evaluate, load
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(4)]
        >>> judges = [ScriptedJudge([{"reason": "r", "value": value}]) for value in (1, 1, 0)]
        >>> runs = [evaluate(cases, [load("correctness")], judge, out=tempfile.mkdtemp()) for judge in judges]
        >>> panel(runs, "correctness").groups[0].unanimous.value
        0.0
    """
    check_options(options, PanelOptions, "panel")
    require_iterable(runs, "runs", "['runs/first', 'runs/second']")
    table = _read_panel(runs, metric, options)
    level = check_level(options.get("level", LEVEL))
    by = options.get("by", ())
    tags = (by,) if isinstance(by, str) else tuple(by)
    check_tags(table.things, tags, ", ".join(str(run.folder) for run in table.runs.values()))
    said, annotators, troubles = _read_people(table, metric, options)
    task = PanelSettings(table.scale, table.combine, level, said)
    groups = tuple(build_group(name, things, task) for name, things in group_items(table.things, tags))
    who, why = find_outlier(groups[0].seats)
    return Panel(
        metric=metric,
        benches=count_run_verdicts(table.runs),
        annotators=annotators,
        treat_as="categories" if isinstance(table.scale, CategoricalScale) else "numbers",
        combine=table.combine,
        by=tags,
        level=level,
        groups=groups,
        outlier=who,
        why_none=why,
        warnings=(*_find_warnings(table, groups[0].ties), *troubles),
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
        >>> from greval import evaluate, load
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": "q1", "question": "?", "answer": "a", "expected_answer": "a"}]
        >>> judges = [ScriptedJudge([{"reason": "r", "value": value}]) for value in (1, 1, 0)]
        >>> runs = [evaluate(cases, [load("correctness")], judge, out=tempfile.mkdtemp()) for judge in judges]
        >>> panel_annotations(runs, "correctness")[0].value
        1
    """
    table = _read_panel(runs, metric, options)
    return tuple(_build_annotation(thing, metric, table) for thing in table.things)


class _PanelItems(NamedTuple):
    """The items that all judged, on the scale on which they are compared, and the scale of the metric."""

    runs: Mapping[str, RunVerdicts]
    things: tuple[AnnotatedItem, ...]
    scale: Scale
    of_run: Scale
    combine: CombineJudges
    differing: tuple[ItemKey, ...]
    between: int


def _read_panel(runs: Sequence[str | Path | Run], metric: str, options: PanelOptions) -> _PanelItems:
    """Read the runs and select the items that all judged.

    Raises:
        DataError: If there is no such item.
    """
    found = read_runs([resolve_run_folder(run) for run in runs], metric)
    of_run = next(iter(found.values())).metric.scale
    every, differing = find_common_items(found)
    if not every:
        counts = ", ".join(f"{name} {len(run.verdicts)} verdicts" for name, run in found.items())
        other = f"; {len(differing)} of them judged another text than the rest" if differing else ""
        raise DataError(f"{metric}: nothing was judged by all of the panel: {counts}{other}")
    scale, things = convert_items(metric, of_run, every, options.get("treat_as"))
    things = tuple(thing for thing in things if len(thing.values) == len(found))
    if not things:
        raise DataError(f"{metric}: every verdict lies between two levels; compare them as numbers")
    categorical = isinstance(scale, CategoricalScale)
    combine = options.get("combine") or ("majority" if categorical else "median")
    if categorical != (combine == "majority"):
        kind = "categories have no median or mean" if categorical else "numbers are combined by median or mean"
        raise DataError(f"{metric}: {kind}, not {combine}")
    return _PanelItems(found, things, scale, of_run, combine, differing, len(every) - len(things))


def _read_people(
    table: _PanelItems, metric: str, options: PanelOptions
) -> tuple[dict[ItemKey, Value], tuple[str, ...], tuple[str, ...]]:
    """Return the people's combined values, the annotators, and warnings."""
    source = options.get("annotations")
    folders = [run.folder for run in table.runs.values()]
    holding = (
        folders[:1] if source is not None else [folder for folder in folders if (folder / ANNOTATIONS_FILE).is_file()]
    )
    taken = [load_annotations(folder, source, {metric: table.of_run}) for folder in holding]
    rows = [one for part in taken for one in part.annotations]
    if not rows:
        return {}, (), ()
    with Store.open(folders[0]) as store, store.snapshot():
        found = match_annotations(store, metric, rows, table.of_run)
    _, things = convert_items(metric, table.of_run, found.things, options.get("treat_as"))
    how = "majority" if isinstance(table.scale, CategoricalScale) else "mean"
    combined_values = {one.key: combine_verdicts([*one.values.values()], how) for one in things}
    said = {key: value for key, value in combined_values.items() if value is not None}
    tied = len(combined_values) - len(said)
    unread = [*(row for part in taken for row in part.unread), *found.faults]
    troubles = (
        *find_sample_warnings(found),
        *([f"{tied} items are not compared with people, who are tied"] if tied else []),
        *([] if said else ["no annotation of people matches a verdict of the panel"]),
        *find_left_out_warnings(found, unread),
    )
    return said, tuple(sorted({who for thing in things for who in thing.values})), troubles


def _find_warnings(table: _PanelItems, ties: int) -> Iterator[str]:
    """Yield the warnings of a panel."""
    for label, run in table.runs.items():
        if len(run.judges) > 1 or len(run.fingerprints) > 1:
            yield (
                f"MIXED: {run.folder} holds verdicts of {len(run.judges)} judges and {len(run.fingerprints)} "
                f"definitions as one ({label}); run its command of greval evaluate again, so that all are of one"
            )
    first, *others = table.runs.values()
    if any(run.metric != first.metric for run in others):
        yield "the definitions differ between the runs: judges then differ by what they were asked too"
    if table.differing:
        names = ", ".join(map(format_item_key, table.differing[:MAX_LISTED]))
        more = f" and {len(table.differing) - MAX_LISTED} more" if len(table.differing) > MAX_LISTED else ""
        yield f"{len(table.differing)} left out, as the runs judged different texts: {names}{more}"
    if table.between:
        yield f"{table.between} left out: a verdict is a mean of repeats that lies between two levels"
    if ties:
        yield f"{ties} of {len(table.things)} items have no verdict of the panel, which is tied on them"
    if len(table.things) < MIN_ITEMS:
        items = "item" if len(table.things) == 1 else "items"
        yield f"only {len(table.things)} {items}: with fewer than {MIN_ITEMS}, intervals are rough"


def _build_annotation(thing: AnnotatedItem, metric: str, table: _PanelItems) -> Annotation:
    """Build the annotation of the panel's verdict on an item."""
    verdict = combine_verdicts([*thing.values.values()], table.combine)
    told = "; ".join(f"{judge}: {value}" for judge, value in thing.values.items())
    value = None
    if verdict is not None:
        try:
            value = parse_on_scale(table.of_run, verdict)
        except OffScaleError:
            told = f"{table.combine} {verdict:g} is no level; {told}" if isinstance(verdict, float) else told
    return Annotation(
        sample_id=thing.sample_id,
        method=thing.method,
        metric=metric,
        item=thing.item,
        annotator=PANEL,
        status="pending" if value is None else "submitted",
        value=value,
        comment=told,
    )
