"""Annotations joined with the judgements of the same items, by id and never by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic_core import from_json

from greval._util.arguments import build_unknown_name_error
from greval.records.annotation import Annotation
from greval.records.case import Tags
from greval.records.record import Record
from greval.records.result import Judgement, Result
from greval.records.scale import OffScaleError, Scale, Value
from greval.runs.run_reader import ItemKey
from greval.runs.store import Store
from greval.stats.summary import METHOD, Grouping
from greval.trust.annotations.judged_items import hash_contents
from greval.trust.annotations.values import parse_annotation_value

SubmittedAnnotations = dict[ItemKey, dict[str, Annotation]]
"""The submitted annotations by item and annotator."""


class AnnotatedItem(Record):
    """An answer, chunk or triple with a judgement and annotations; `values` has the value of each annotator."""

    sample_id: str
    method: str
    item: str | None
    tags: Tags
    judgement: Judgement
    values: dict[str, Value]
    weight: float = 1.0
    stratum: str | None = None
    suggested: bool = False

    @property
    def key(self) -> ItemKey:
        """Sample id, method and item id."""
        return self.sample_id, self.method, self.item


class MatchedAnnotations(Record):
    """The result of joining the annotations of one metric with the judgements of a run.

    `statuses` counts the annotations by status, and `others` those of other metrics. Of the submitted annotations,
    `faults` are not on the scale, and `replaced` were given again later by the same annotator. Of the annotated
    items, `unjudged` have no verdict because judging was skipped or failed, and `strange` are not in the run.
    `changed` items were shown to people with another text than to the judge: their annotations, `outdated` in number,
    are left out. Of the matched items, `differing` were shown with different contents to different annotators.
    `judges` and `fingerprints` are those of the verdicts.
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


def match_annotations(
    store: Store, metric: str, annotations: Sequence[Annotation], scale: Scale | None = None
) -> MatchedAnnotations:
    """Join annotations with the judgements of a run by sample, method, metric and item.

    Labels made for a different version of the text are ignored: an annotation is left out if its `content` differs
    from the content that the judge was shown. If either is unknown, the join by ids decides.

    Args:
        store: The run, opened for reading.
        metric: The metric; annotations of others are ignored.
        annotations: The annotations, of any number of annotators.
        scale: The metric's scale. A value that is not on it is reported and left out, never changed.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from greval.records.result import Scored
        >>> row = Result(sample_id="q1", metric="tone", fingerprint="f", judge="j", tier="text",
        ...              outcome=Scored(judgements=(Judgement(value="Polite", reason="It thanks."),)))
        >>> said = Annotation(sample_id="q1", metric="tone", annotator="ana", value="Rude")
        >>> with Store.create(Path(tempfile.mkdtemp()) / "run") as store:
        ...     store.append("k", row)
        ...     match_annotations(store, "tone", [said]).things[0].values
        {'ana': 'Rude'}
    """
    given = _fill_in_method(store, metric, [one for one in annotations if one.metric == metric])
    submitted = [one for one in given if one.status == "submitted"]
    verdicts, tried = _read_verdicts(store, metric, {_build_key(one) for one in submitted})
    now = _hash_judged_contents(store, metric, submitted, verdicts)
    away = [one for one in submitted if is_of_other_text(one.content, now.get(_build_key(one)))]
    kept = (
        [one for one in submitted if not is_of_other_text(one.content, now.get(_build_key(one)))] if away else submitted
    )
    said, faults, replaced = _group_by_item(kept, {metric: scale} if scale is not None else {})
    used = [verdicts[key] for key in said if key in verdicts]
    return MatchedAnnotations(
        things=tuple(_build_item(key, said[key], verdicts[key]) for key in said if key in verdicts),
        statuses=dict(Counter(one.status for one in given)),
        others=len(annotations) - len(given),
        replaced=replaced,
        faults=tuple(faults),
        unjudged=tuple(format_item_key(key) for key in said if key not in verdicts and key in tried),
        strange=tuple(format_item_key(key) for key in said if key not in verdicts and key not in tried),
        differing=tuple(
            format_item_key(key) for key, rows in said.items() if key in verdicts and _is_shown_differently(rows)
        ),
        changed=tuple(dict.fromkeys(format_item_key(_build_key(one)) for one in away)),
        outdated=len(away),
        judges=tuple(sorted({one.judge for one in used})),
        fingerprints=tuple(sorted({one.fingerprint for one in used})),
    )


def group_items(
    things: Sequence[AnnotatedItem], by: Sequence[str] = ()
) -> Iterator[tuple[str, Sequence[AnnotatedItem]]]:
    """Yield all items with the name "", then the items of each combination of tag values, by name."""
    yield "", things
    groups: dict[str, list[AnnotatedItem]] = {}
    for thing in things if by else ():
        groups.setdefault(Grouping(by).name_group(thing.method, thing.tags), []).append(thing)
    yield from sorted(groups.items())


def check_tags(things: Iterable[AnnotatedItem], by: Iterable[str], place: str) -> None:
    """Raise an error if no item has one of the tags by which items are grouped.

    Raises:
        DataError: If a name is neither "method" nor a tag.
    """
    known = {METHOD, *(tag for thing in things for tag in thing.tags)}
    for tag in by:
        if tag not in known:
            raise build_unknown_name_error("tag", tag, known, place)


def is_of_other_text(seen: str | None, now: str | None) -> bool:
    """Return whether a person was shown another text than the judge; False if either text is unknown.

    Args:
        seen: The hash of what the person was shown, `Annotation.content`.
        now: The hash of what the judge was shown, from `judged_items.hash_contents`.

    Example:
        >>> is_of_other_text("ab", "cd"), is_of_other_text("ab", "ab"), is_of_other_text(None, "cd")
        (True, False, False)
    """
    return seen is not None and now is not None and seen != now


def resolve_method(one: Annotation, methods: Collection[str]) -> str:
    """Return the method of an annotation; if it has none and the run has only one, return that one.

    Args:
        one: The annotation.
        methods: The methods of the run.

    Example:
        >>> said = Annotation(sample_id="q1", metric="tone", annotator="ana", value="Polite")
        >>> resolve_method(said, ["walk"]), resolve_method(said, ["local", "walk"])
        ('walk', '')
    """
    return next(iter(methods)) if not one.method and len(methods) == 1 else one.method


def format_item_key(key: ItemKey) -> str:
    """Format the key of an item.

    Example:
        >>> format_item_key(("q1", "local", "c2"))
        'q1 (local, c2)'
    """
    rest = ", ".join(part for part in key[1:] if part)
    return f"{key[0]} ({rest})" if rest else key[0]


def _fill_in_method(store: Store, metric: str, given: Sequence[Annotation]) -> Sequence[Annotation]:
    """Return annotations, with the only method of the run filled in if they have none."""
    if all(one.method for one in given):
        return given
    methods = {method for _, method, of, *_ in store.scores() if of == metric}
    return [one.model_copy(update={"method": resolve_method(one, methods)}) for one in given]


def _build_key(one: Annotation) -> ItemKey:
    """Return the key of the annotated item."""
    return one.sample_id, one.method, one.item


def _hash_judged_contents(
    store: Store, metric: str, submitted: Iterable[Annotation], verdicts: Mapping[ItemKey, _ItemVerdict]
) -> dict[ItemKey, str]:
    """Return the hash of what the judge was shown, for items whose annotations have a content hash."""
    asked = {_build_key(one) for one in submitted if one.content is not None} & verdicts.keys()
    if not asked:
        return {}
    prints = {verdicts[key].fingerprint for key in asked}
    return hash_contents(store, metric, {key[:2] for key in asked}, prints)


def _group_by_item(
    submitted: Iterable[Annotation], scales: Mapping[str, Scale]
) -> tuple[SubmittedAnnotations, list[str], int]:
    """Return the submitted annotations by item and annotator, the errors, and the number of replaced annotations."""
    said: SubmittedAnnotations = {}
    faults: list[str] = []
    replaced = 0
    for one in submitted:
        key = _build_key(one)
        try:
            read = parse_annotation_value(one, scales)
        except OffScaleError as error:
            faults.append(f"{format_item_key(key)}, {one.annotator}: {error}")
            continue
        earlier = said.setdefault(key, {}).get(one.annotator)
        replaced += earlier is not None and earlier != read
        said[key][one.annotator] = read
    return said, faults, replaced


class _ItemVerdict(NamedTuple):
    """The judgement of an item, with the tags of its case, the judge and the fingerprint."""

    judgement: Judgement
    tags: Tags
    judge: str
    fingerprint: str


def _read_verdicts(
    store: Store, metric: str, wanted: Collection[ItemKey]
) -> tuple[dict[ItemKey, _ItemVerdict], set[ItemKey]]:
    """Read the verdicts of the given items one row at a time, and find those that were tried without a verdict."""
    verdicts: dict[ItemKey, _ItemVerdict] = {}
    tried: set[ItemKey] = set()
    items: dict[tuple[str, str], list[ItemKey]] = {}
    for key in wanted:
        items.setdefault(key[:2], []).append(key)
    for line in store.lines(metric):
        head = from_json(line)  # most rows have no annotation and need no validation
        asked = items.get((head["sample_id"], head["method"]))
        if not asked:
            continue
        result = Result.model_validate(head)
        said = {one.item: one for one in result.judgements}
        failed = {one.item for one in result.failures}
        for key in asked:
            if key[2] in said:
                verdicts[key] = _ItemVerdict(said[key[2]], result.tags, result.judge, result.fingerprint)
            elif not said or key[2] in failed:
                tried.add(key)
    return verdicts, tried


def _build_item(key: ItemKey, said: Mapping[str, Annotation], verdict: _ItemVerdict) -> AnnotatedItem:
    """Build the item from its verdict and the annotation of each annotator."""
    first = next(iter(said.values()))
    return AnnotatedItem(
        sample_id=key[0],
        method=key[1],
        item=key[2],
        tags=verdict.tags,
        judgement=verdict.judgement,
        values=dict(_iterate_values(said)),
        weight=first.weight,
        stratum=first.stratum,
        suggested=any(one.suggested for one in said.values()),
    )


def _is_shown_differently(said: Mapping[str, Annotation]) -> bool:
    """Return whether annotators were shown different contents."""
    return len({one.content for one in said.values() if one.content is not None}) > 1


def _iterate_values(said: Mapping[str, Annotation]) -> Iterator[tuple[str, Value]]:
    """Yield each annotator with the value they gave, if any."""
    for annotator, one in said.items():
        if one.value is not None:
            yield annotator, one.value
