"""Adjudication: one value for each item from several annotators, by majority, and one name for each annotator."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from greval._util.joins import format_id, remove_invisible
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.records.scale import Value


class Adjudication(Record):
    """The majority's value for an item; `value` is None if several values have the most votes.

    `votes` counts the annotators of each value, and `weight` is the item's sampling weight.
    """

    sample_id: str
    method: str
    metric: str
    item: str | None
    value: Value | None
    votes: dict[str, int]
    annotators: tuple[str, ...]
    weight: float = 1.0

    @property
    def is_tied(self) -> bool:
        """Return whether several values have the most votes."""
        return self.value is None


def find_majority(values: Iterable[Value]) -> Value | None:
    """Return the most frequent value, or None if several values are most frequent or there is no value."""
    votes = [*values]
    if len(votes) == 1:
        return votes[0]
    counted = Counter(votes).most_common(2)
    if not counted or (len(counted) > 1 and counted[0][1] == counted[1][1]):
        return None
    return counted[0][0]


def adjudicate(annotations: Iterable[Annotation]) -> tuple[Adjudication, ...]:
    """Return the majority's value for each item; only submitted annotations count.

    A tie stays undecided: it is broken neither by chance nor by the order of the rows. If an annotator answered
    twice, the later answer counts. Names that differ only in case and blanks are one annotator.

    Args:
        annotations: The annotations, of any metrics, items and annotators.

    Example:
        >>> votes = {"ana": "Yes", "bob": "No"}
        >>> rows = [Annotation(sample_id="q1", metric="m", annotator=who, value=value) for who, value in votes.items()]
        >>> [(item.value, item.is_tied, item.votes) for item in adjudicate(rows)]
        [(None, True, {'Yes': 1, 'No': 1})]
    """
    things: dict[tuple[str, str, str, str | None], dict[str, Annotation]] = {}
    for annotation in unite_annotators([*annotations])[0]:
        if annotation.status == "submitted" and annotation.value is not None:
            key = annotation.sample_id, annotation.method, annotation.metric, annotation.item
            things.setdefault(key, {})[annotation.annotator] = annotation
    return tuple(_adjudicate_item(rows) for rows in things.values())


def _adjudicate_item(rows: dict[str, Annotation]) -> Adjudication:
    first = next(iter(rows.values()))
    values = [row.value for row in rows.values() if row.value is not None]
    return Adjudication(
        sample_id=first.sample_id,
        method=first.method,
        metric=first.metric,
        item=first.item,
        value=find_majority(values),
        votes=dict(Counter(map(str, values))),
        annotators=tuple(rows),
        weight=first.weight,
    )


def unite_annotators(annotations: Sequence[Annotation]) -> tuple[Sequence[Annotation], tuple[str, ...]]:
    """Return annotations in which a person has one name, and remarks about the names that were united."""
    counts = Counter(row.annotator for row in annotations)
    spellings: dict[str, list[str]] = {}
    for name, _ in counts.most_common():
        folded = unicodedata.normalize("NFKC", remove_invisible(name)).casefold()
        spellings.setdefault(folded, []).append(name)
    # The most frequent spelling comes first and is kept.
    names = {variant: first for first, *variants in spellings.values() for variant in variants}
    if not names:
        return annotations, ()
    rows = [
        row.model_copy(update={"annotator": names[row.annotator]}) if row.annotator in names else row
        for row in annotations
    ]
    remarks = (
        f"{format_id(variant)} is taken as the annotator {format_id(first)}; rename one of them if they are two people"
        for variant, first in names.items()
    )
    return rows, tuple(remarks)
