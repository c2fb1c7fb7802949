"""Annotations joined with the judgements of the same items, by id and never by position."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic_core import from_json

from greval._util.arguments import build_unknown_name_error
from greval._util.joins import OFF_SCALE, IdJoin, JoinSide, build_join
from greval._util.wording import format_count
from greval.records.annotation import Annotation
from greval.records.case import Tags
from greval.records.scale import OffScaleError, Scale, Value
from greval.records.scale_values import parse_on_scale
from greval.runs.run_reader import LINE_COLUMNS, CaseKey, ItemKey
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.stats.summary import METHOD, Grouping
from greval.trust.annotations.adjudication import unite_annotators
from greval.trust.annotations.judged_items import CaseVerdicts, hash_contents, iterate_verdicts

LeftOut = Literal["not_judged", "unfinished", "another_text", "off_scale"]
"""The reasons why an annotation does not count."""
WITHOUT_VALUE = "is submitted without a value"
NAMES = ("annotated items", "judged items")
ON_VALUE = ": value: "
"""What the fault of a row has whose value is not on the scale."""
ANOTHER_SCALE = 0.1
"""The share of labels that are numbers beyond the scale, from which they are of another scale and no slips."""
_OFF_SCALE_NUMBER = re.compile(r": '?[+-]?\d+(?:[.,]\d+)?'? is not ")
"""The fault of a label that is a number, in the words of `OffScaleError`."""


class AnnotatedItem(NamedTuple):
    """An answer, chunk or triple with the judge's value; `values` has the value of each annotator.

    The annotators of a panel are its judges, and `judge` is the value of the first of them. `judgement` is the whole
    judgement as JSON, in which the value is as the judge gave it; a panel has none.
    """

    sample_id: str
    method: str
    item: str | None
    tags: Tags
    judge: Value
    values: Mapping[str, Value]
    weight: float = 1.0
    stratum: str | None = None
    suggested: bool = False
    judgement: Mapping[str, Any] = {}

    @property
    def key(self) -> ItemKey:
        """Sample id, method and item id."""
        return self.sample_id, self.method, self.item


class MatchedAnnotations(NamedTuple):
    """The result of joining the annotations of one metric with the judgements of a run.

    `statuses` counts the annotations by status, and `others` those of other metrics. Of the submitted annotations,
    `faults` are not on the scale, and `replaced` were given again later by the same annotator. Of the annotated
    items, `unjudged` have no verdict because judging was skipped or failed, and `strange` are not in the run.
    `changed` items were shown to people with another text than to the judge: their annotations, `outdated` in number,
    are left out. Of the matched items, `differing` were shown with different contents to different annotators.
    `judges` and `fingerprints` are those of the verdicts. `join` says how many of the annotated items are in the run,
    and what would make the others meet. `united` are remarks about annotators whose names are spelt in several ways.
    """

    things: tuple[AnnotatedItem, ...]
    statuses: dict[str, int]
    others: int = 0
    replaced: int = 0
    faults: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    outdated: int = 0
    judges: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    join: IdJoin | None = None
    united: tuple[str, ...] = ()


def match_annotations(
    store: Store, metric: str, annotations: Sequence[Annotation], scale: Scale | None = None
) -> MatchedAnnotations:
    """Join annotations with the judgements of a run by sample, method, metric and item.

    An annotation is left out if it was made for another version of the text: if its `content` differs from the content
    that the judge was shown. If either is unknown, the join by ids decides. A value that is not on the scale is
    reported and left out, never changed.
    """
    of_metric = [row for row in annotations if row.metric == metric]
    if not all(row.method for row in of_metric):
        methods = store.select(("method",), ResultFilter(metrics=(metric,)))
        of_metric = fill_in_method(of_metric, {method for (method,) in methods})
    people, united = unite_annotators(of_metric)
    submitted = [row for row in people if row.status == "submitted"]
    keys = dict.fromkeys(get_item_key(row) for row in submitted)
    verdicts, tried = _read_verdicts(store, metric, keys)
    judged = [row for row in submitted if get_item_key(row) in verdicts]
    prints = {verdicts[get_item_key(row)].fingerprint for row in judged}
    contents = hash_judged_contents(store, metric, judged, prints)
    rows: dict[ItemKey, dict[str, Annotation]] = {}
    names_by_reason: dict[LeftOut, list[str]] = {}
    faults: list[str] = []
    replaced = 0
    for key, annotation, reason, fault in place_annotations(submitted, verdicts.keys(), contents, scale):
        if fault:
            faults.append(f"{format_item_key(key)}, {annotation.annotator}: {fault}")
        elif reason:
            names_by_reason.setdefault(reason, []).append(format_item_key(key))
        else:
            earlier = rows.setdefault(key, {}).get(annotation.annotator)
            replaced += earlier is not None and earlier != annotation
            rows[key][annotation.annotator] = annotation
    used = [verdicts[key] for key in rows]
    unjudged = {format_item_key(key) for key in tried}
    missing = dict.fromkeys(names_by_reason.get("not_judged", ()))
    changed = names_by_reason.get("another_text", ())
    differing = [key for key, of_item in rows.items() if len({row.content for row in of_item.values()} - {None}) > 1]
    return MatchedAnnotations(
        things=tuple(_build_item(key, of_item, verdicts[key]) for key, of_item in rows.items()),
        statuses=dict(Counter(row.status for row in of_metric)),
        others=len(annotations) - len(of_metric),
        replaced=replaced,
        faults=tuple(faults),
        unjudged=tuple(name for name in missing if name in unjudged),
        strange=tuple(name for name in missing if name not in unjudged),
        differing=tuple(map(format_item_key, differing)),
        changed=tuple(dict.fromkeys(changed)),
        outdated=len(changed),
        judges=tuple(sorted({verdict.judge for verdict in used})),
        fingerprints=tuple(sorted({verdict.fingerprint for verdict in used})),
        join=_join_with_run(store, metric, keys, {*verdicts, *tried}),
        united=united,
    )


def _join_with_run(store: Store, metric: str, annotated: Collection[ItemKey], met: Collection[ItemKey]) -> IdJoin:
    """Join the annotated items with those of a run, which is read only if some did not meet."""
    cases = {key[:2] for key in annotated if key not in met}
    cases_in_run: set[CaseKey] = set()
    judged: list[ItemKey] = []
    for sample_id, method, line in store.select(LINE_COLUMNS, ResultFilter(metrics=(metric,))) if cases else ():
        if (sample_id, method) in cases:
            cases_in_run.add((sample_id, method))
            judgements = from_json(line)["outcome"].get("judgements", ())
            judged += [(sample_id, method, judgement["item"]) for judgement in judgements]
        else:
            judged.append((sample_id, method, None))
    # If the case itself is not in the run, only cases can be compared: the id of the item says nothing.
    unmet = [key if key[:2] in cases_in_run else (*key[:2], None) for key in annotated if key not in met]
    return join_items(unmet, met, judged)


class PlacedAnnotation(NamedTuple):
    """An annotation with the key of its item, its value parsed on the scale.

    `reason` is why it does not count, None if it does, and `fault` describes a value that is missing or not on the
    scale.
    """

    key: ItemKey
    annotation: Annotation
    reason: LeftOut | None = None
    fault: str = ""


def place_annotations(
    annotations: Iterable[Annotation],
    judged: Collection[ItemKey],
    contents: Mapping[ItemKey, str],
    scale: Scale | None,
) -> Iterator[PlacedAnnotation]:
    """Yield each annotation with its item and, if it does not count, the first reason why.

    `contents` has the hash of what the judge was shown of each item, if known. If `scale` is None, any value is valid.
    """
    # Few different values are given to many items, so each is parsed once.
    parsed: dict[tuple[type, Value], Value] = {}
    for annotation in annotations:
        key = get_item_key(annotation)
        if key not in judged:
            yield PlacedAnnotation(key, annotation, "not_judged")
        elif annotation.status != "submitted":
            yield PlacedAnnotation(key, annotation, "unfinished")
        elif annotation.value is None:
            yield PlacedAnnotation(key, annotation, "unfinished", f"{WITHOUT_VALUE}; give one, or another status")
        elif is_of_other_text(annotation.content, contents.get(key)):
            yield PlacedAnnotation(key, annotation, "another_text")
        else:
            # With the type, because 1, 1.0 and True are one key otherwise.
            typed_value = type(annotation.value), annotation.value
            try:
                value = parsed.get(typed_value)
                if value is None:
                    value = parsed[typed_value] = (
                        annotation.value if scale is None else parse_on_scale(scale, annotation.value)
                    )
            except OffScaleError as error:
                yield PlacedAnnotation(key, annotation, "off_scale", str(error))
            else:
                yield PlacedAnnotation(
                    key, annotation if value == annotation.value else annotation.model_copy(update={"value": value})
                )


def fill_in_method(annotations: Iterable[Annotation], methods: Collection[str]) -> list[Annotation]:
    """Return annotations, with the only method of the run filled in if they have none."""
    if len(methods) != 1:
        return [*annotations]
    (only,) = methods
    return [row if row.method else row.model_copy(update={"method": only}) for row in annotations]


def hash_judged_contents(
    store: Store, metric: str, annotations: Iterable[Annotation], prints: Iterable[str] | None = None
) -> dict[ItemKey, str]:
    """Return the hash of what the judge was shown, for the cases of annotations that have a content hash."""
    keys = {get_item_key(annotation)[:2] for annotation in annotations if annotation.content is not None}
    return hash_contents(store, metric, keys, prints) if keys else {}


def get_item_key(annotation: Annotation) -> ItemKey:
    """Return the key of the annotated item."""
    return annotation.sample_id, annotation.method, annotation.item


def group_items(
    things: Sequence[AnnotatedItem], by: Sequence[str] = ()
) -> Iterator[tuple[str, Sequence[AnnotatedItem]]]:
    """Yield all items with the name "", then the items of each combination of tag values, by name."""
    yield "", things
    groups: dict[str, list[AnnotatedItem]] = {}
    for thing in things if by else ():
        groups.setdefault(Grouping(by).name_group(thing.method, thing.tags), []).append(thing)
    yield from sorted(groups.items())


def check_tags(things: Iterable[AnnotatedItem], by: Iterable[str], folder: str) -> None:
    """Raise `DataError` if a name by which items are grouped is neither "method" nor a tag of any item."""
    names = {METHOD, *(tag for thing in things for tag in thing.tags)}
    for tag in by:
        if tag not in names:
            raise build_unknown_name_error("tag", tag, names, folder)


def is_of_other_text(shown_hash: str | None, current_hash: str | None) -> bool:
    """Return whether a person was shown another text than the judge, by their hashes; False if either is unknown."""
    return shown_hash is not None and current_hash is not None and shown_hash != current_hash


def _read_verdicts(
    store: Store, metric: str, keys: Collection[ItemKey]
) -> tuple[dict[ItemKey, CaseVerdicts], set[ItemKey]]:
    """Read the verdicts of the given items one row at a time, and find those that were tried without a verdict."""
    verdicts: dict[ItemKey, CaseVerdicts] = {}
    tried: set[ItemKey] = set()
    items: dict[tuple[str, str], list[ItemKey]] = {}
    for key in keys:
        items.setdefault(key[:2], []).append(key)
    for case in iterate_verdicts(store, metric, items.keys()):
        for key in items[case.sample_id, case.method]:
            if key[2] in case.judgements:
                verdicts[key] = case
            # A case without any judgement was skipped or failed as a whole.
            elif not case.judgements or key[2] in case.failed:
                tried.add(key)
    return verdicts, tried


def _build_item(key: ItemKey, rows: Mapping[str, Annotation], case: CaseVerdicts) -> AnnotatedItem:
    """Build the item from the verdicts on its case and the annotation of each annotator."""
    first, judgement = next(iter(rows.values())), case.judgements[key[2]]
    return AnnotatedItem(
        sample_id=key[0],
        method=key[1],
        item=key[2],
        tags=case.tags,
        judge=judgement["value"],
        values={annotator: row.value for annotator, row in rows.items() if row.value is not None},
        weight=first.weight,
        stratum=first.stratum,
        suggested=any(row.suggested for row in rows.values()),
        judgement=judgement,
    )


def join_items(unmet: Iterable[ItemKey], met: Collection[ItemKey], judged: Iterable[ItemKey]) -> IdJoin:
    """Join annotated items with the judged ones."""
    missing = [format_item_key(key) for key in unmet]
    unlabelled = dict.fromkeys(format_item_key(key) for key in judged if key not in met)
    return build_join(
        JoinSide(NAMES[0], len(met) + len(missing), len(met), tuple(dict.fromkeys(missing))),
        JoinSide(NAMES[1], len(met) + len(unlabelled), len(met), tuple(unlabelled)),
    )


def format_item_key(key: ItemKey) -> str:
    """Format the key of an item.

    Example:
        >>> format_item_key(("q1", "local", "c2"))
        'q1 (local, c2)'
    """
    qualifiers = ", ".join(part for part in key[1:] if part)
    return f"{key[0]} ({qualifiers})" if qualifiers else key[0]


def find_off_scale_remark(off_scale: Sequence[str], labels: int) -> Iterator[str]:
    """Yield a remark if most labels are not on the scale of the verdicts, or some are numbers of a longer one.

    On a scale from 1 to 5 a label 1 does not mean what it means on one from 0 to 1.
    """
    numbers = sum(_OFF_SCALE_NUMBER.search(fault) is not None for fault in off_scale)
    has_another_scale = numbers > 1 and numbers >= ANOTHER_SCALE * labels
    if len(off_scale) * 2 > labels or has_another_scale:
        yield (
            f"{OFF_SCALE}: {len(off_scale):,} of {format_count(labels, 'label')} {'is' if labels == 1 else 'are'} not "
            f"on the scale of the verdicts ({off_scale[0]}); the figures are of the others"
            f"{', which may mean something else on the scale of these numbers' if has_another_scale else ''}: give "
            "labels on the judge's scale"
        )
