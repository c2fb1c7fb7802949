"""Annotations and judgements of the same things, brought together by their names and never by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic_core import from_json

from greval.annotation import Annotation
from greval.annotations.values import settled
from greval.case import Tags
from greval.record import Record
from greval.result import Judgement, Result
from greval.scale import OffScaleError, Scale, Value
from greval.store import Store

Key = tuple[str, str, str | None]
"""Sample, method and item."""
Said = dict[Key, dict[str, Annotation]]
"""What was submitted, by thing and annotator."""


class Thing(Record):
    """An answer, chunk or triple that both the judge and people valued; `values` are those of each annotator."""

    sample_id: str
    method: str
    item: str | None
    tags: Tags
    judgement: Judgement
    values: dict[str, Value]
    weight: float = 1.0
    stratum: str | None = None
    suggested: bool = False


class Matched(Record):
    """What came of annotations of one metric.

    `statuses` counts the annotations by status, `others` those of other metrics. Of the submitted,
    `faults` are not on the scale, `replaced` were given again later by the same annotator. Of the
    annotated things, `unjudged` have no verdict, as judging was skipped or failed, and `strange` are
    not in the run at all; of the matched, `differing` were shown with other contents to one annotator than
    to another. `judges` and `fingerprints` are those of the verdicts.
    """

    things: tuple[Thing, ...]
    statuses: dict[str, int]
    others: int = 0
    replaced: int = 0
    faults: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()


def match(store: Store, metric: str, annotations: Sequence[Annotation], scale: Scale | None = None) -> Matched:
    """Bring annotations together with the judgements of a run by sample, method, metric and item.

    Args:
        store: The run, opened to read.
        metric: Only annotations of this metric count.
        annotations: The annotations, of any number of annotators.
        scale: The metric's scale; a value that is not on it is told and left out, never moved.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from greval.result import Scored
        >>> row = Result(sample_id="q1", metric="tone", fingerprint="f", judge="j", tier="text",
        ...              outcome=Scored(judgements=(Judgement(value="Polite", reason="It thanks."),)))
        >>> said = Annotation(sample_id="q1", metric="tone", annotator="ana", value="Rude")
        >>> with Store.create(Path(tempfile.mkdtemp()) / "run") as store:
        ...     store.append("k", row)
        ...     match(store, "tone", [said]).things[0].values
        {'ana': 'Rude'}
    """
    given = [one for one in annotations if one.metric == metric]
    others = len(annotations) - len(given)
    said, faults, replaced = _submitted(given, {metric: scale} if scale is not None else {})
    found = _judged(store, metric, said)
    return Matched(
        things=tuple(_thing(key, said[key], *found.verdicts[key]) for key in said if key in found.verdicts),
        statuses=dict(Counter(one.status for one in given)),
        others=others,
        replaced=replaced,
        faults=tuple(faults),
        unjudged=tuple(name(key) for key in said if key not in found.verdicts and key in found.tried),
        strange=tuple(name(key) for key in said if key not in found.verdicts and key not in found.tried),
        differing=tuple(name(key) for key, rows in said.items() if key in found.verdicts and _differ(rows)),
        judges=tuple(sorted(found.judges)),
        fingerprints=tuple(sorted(found.fingerprints)),
    )


def name(key: Key) -> str:
    """Name a thing.

    Example:
        >>> name(("q1", "local", "c2"))
        'q1 (local, c2)'
    """
    rest = ", ".join(part for part in key[1:] if part)
    return f"{key[0]} ({rest})" if rest else key[0]


def _submitted(given: Iterable[Annotation], scales: Mapping[str, Scale]) -> tuple[Said, list[str], int]:
    """Give what was submitted by thing and annotator, what is not on the scale, and how often a later one counts."""
    said: Said = {}
    faults: list[str] = []
    replaced = 0
    for one in given:
        if one.status != "submitted":
            continue
        key = one.sample_id, one.method, one.item
        try:
            read = settled(one, scales)
        except OffScaleError as error:
            faults.append(f"{name(key)}, {one.annotator}: {error}")
            continue
        earlier = said.setdefault(key, {}).get(one.annotator)
        replaced += earlier is not None and earlier != read
        said[key][one.annotator] = read
    return said, faults, replaced


class _Judged(NamedTuple):
    """The verdicts of the wanted things, those that were tried without one, and who judged."""

    verdicts: dict[Key, tuple[Judgement, Tags]]
    tried: set[Key]
    judges: set[str]
    fingerprints: set[str]


def _judged(store: Store, metric: str, wanted: Said) -> _Judged:
    """Read the judgements of the wanted things, a row at a time."""
    found = _Judged({}, set(), set(), set())
    items: dict[tuple[str, str], list[Key]] = {}
    for key in wanted:
        items.setdefault(key[:2], []).append(key)
    for line in store.lines(metric):
        head = from_json(line)  # most rows of a run are not annotated, and need not be read in full
        asked = items.get((head["sample_id"], head["method"]))
        if not asked:
            continue
        result = Result.model_validate(head)
        verdicts = {one.item: one for one in result.judgements}
        failed = {one.item for one in result.failures}
        here = {key: (verdicts[key[2]], result.tags) for key in asked if key[2] in verdicts}
        found.verdicts.update(here)
        found.tried.update(key for key in asked if not verdicts or key[2] in failed)
        if here:
            found.judges.add(result.judge)
            found.fingerprints.add(result.fingerprint)
    return found


def _thing(key: Key, said: Mapping[str, Annotation], judgement: Judgement, tags: Tags) -> Thing:
    first = next(iter(said.values()))
    return Thing(
        sample_id=key[0],
        method=key[1],
        item=key[2],
        tags=tags,
        judgement=judgement,
        values=dict(_values(said)),
        weight=first.weight,
        stratum=first.stratum,
        suggested=any(one.suggested for one in said.values()),
    )


def _differ(said: Mapping[str, Annotation]) -> bool:
    return len({one.content for one in said.values() if one.content is not None}) > 1


def _values(said: Mapping[str, Annotation]) -> Iterator[tuple[str, Value]]:
    for annotator, one in said.items():
        if one.value is not None:
            yield annotator, one.value
