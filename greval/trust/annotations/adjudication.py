"""One value for each thing out of what several people said: the majority's, and ties stay open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.records.scale import Value


class Adjudicated(Record):
    """What most people said of a thing: `value` is None where several values have the most votes.

    `votes` counts the annotators of each value, `weight` is that with which the thing was drawn.
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
    def tied(self) -> bool:
        """Whether the votes are tied."""
        return self.value is None


def majority(values: Iterable[Value]) -> Value | None:
    """Give the value that most gave; None where several are tied for the most, or there is none.

    Example:
        >>> majority(["Yes", "No", "Yes"]), majority(["Yes", "No"])
        ('Yes', None)
    """
    counted = Counter(values).most_common(2)
    if not counted or (len(counted) > 1 and counted[0][1] == counted[1][1]):
        return None
    return counted[0][0]


def adjudicated(annotations: Iterable[Annotation]) -> tuple[Adjudicated, ...]:
    """Give one value for each thing by majority; only what was submitted counts.

    A tie is not decided: neither by chance nor by the order of the rows. An annotator who answered
    twice counts with the later answer.

    Args:
        annotations: Those of any metrics, things and annotators.

    Example:
        >>> said = {"ana": "Yes", "bob": "No"}
        >>> rows = [Annotation(sample_id="q1", metric="m", annotator=who, value=value) for who, value in said.items()]
        >>> [(one.value, one.tied, one.votes) for one in adjudicated(rows)]
        [(None, True, {'Yes': 1, 'No': 1})]
    """
    things: dict[tuple[str, str, str, str | None], dict[str, Annotation]] = {}
    for one in annotations:
        if one.status == "submitted" and one.value is not None:
            things.setdefault((one.sample_id, one.method, one.metric, one.item), {})[one.annotator] = one
    return tuple(_one(rows) for rows in things.values())


def _one(rows: dict[str, Annotation]) -> Adjudicated:
    """Give the value of one thing from the annotation of each annotator."""
    first = next(iter(rows.values()))
    values = [one.value for one in rows.values() if one.value is not None]
    return Adjudicated(
        sample_id=first.sample_id,
        method=first.method,
        metric=first.metric,
        item=first.item,
        value=majority(values),
        votes=dict(Counter(map(str, values))),
        annotators=tuple(rows),
        weight=first.weight,
    )
