"""The figures of a panel over one group of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.inter_rater import reliability
from greval.stats.measured import Counted, Measured, codes, measured
from greval.stats.resampling import Sample, sparse
from greval.trust.agreement.figures import people
from greval.trust.agreement.judge_figures import ratings
from greval.trust.annotations.adjudication import majority
from greval.trust.annotations.matching import Key, Thing
from greval.trust.panels.records import Against, CombineJudges, Jury, Seat

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats

OTHER, THIS = "the other side", "this side"
"""The names of two sides, in the order in which they are compared."""
PAIR = 2
TIED = "there is no verdict to hold it against: all are tied"


class Task(NamedTuple):
    """The settings for the figures; `said` has the people's value for each item on which they are not tied."""

    scale: Scale
    combine: CombineJudges
    level: float
    said: Mapping[Key, Value]


def combined(values: Sequence[Value], how: CombineJudges | str) -> Value | None:
    """Combine several verdicts into one; None if several values have the most votes.

    Example:
        >>> combine_verdicts(["Yes", "Yes", "No"], "majority"), combine_verdicts(["Yes", "No"], "majority")
        ('Yes', None)
        >>> combine_verdicts([1, 2, 5], "median")
        2
    """
    if how == "majority":
        return majority(values)
    numbers = [float(value) for value in values]
    found = median(numbers) if how == "median" else fmean(numbers)
    return int(found) if found.is_integer() and all(isinstance(value, int) for value in values) else found


def jury(name: str, things: Sequence[Thing], task: Task) -> Jury:
    """Compute the figures of a group."""
    verdicts = {_key(thing): combined([*thing.values.values()], task.combine) for thing in things}
    names = [*things[0].values]
    return Jury(
        name=name,
        things=len(things),
        questions=len({thing.sample_id for thing in things}),
        ties=sum(verdict is None for verdict in verdicts.values()),
        unanimous=unanimous(things, level=task.level),
        among=people(things, task.scale, level=task.level),
        seats=tuple(_seat(judge, things, task, verdicts) for judge in names),
        people=_with_people(things, verdicts, task, verdicts) if task.said else None,
    )


def unanimous(things: Sequence[Thing], *, level: float) -> Measured:
    """Compute the share of items on which all judges give the same verdict."""
    import numpy as np

    same = np.array([float(len({*thing.values.values()}) == 1) for thing in things])
    n = len(things)
    rows = sparse(
        (np.repeat(np.arange(n), PAIR), np.tile(np.arange(PAIR), n)),
        np.stack([same, np.ones(n)], axis=1).ravel(),
        (n, PAIR),
    )

    def statistic(sums: Floats) -> dict[str, Floats]:
        return {"unanimous": sums[:, 0] / sums[:, 1]}

    sample = Sample(rows, np.arange(n), codes([thing.sample_id for thing in things]))
    told = Counted(n=n, why="nothing was judged", share=True)
    return measured(sample, statistic, lambda _: told, values={"unanimous": float(same.mean())}, level=level)[
        "unanimous"
    ]


def _seat(judge: str, things: Sequence[Thing], task: Task, verdicts: Mapping[Key, Value | None]) -> Seat:
    """Compare one judge with the others and with people."""
    own = {_key(thing): thing.values[judge] for thing in things}
    rest = [[value for name, value in thing.values.items() if name != judge] for thing in things]
    others = {_key(thing): combined(values, task.combine) for thing, values in zip(things, rest, strict=True)}
    several = len(rest[0]) >= PAIR
    return Seat(
        name=judge,
        others=_against(things, others, own, task),
        people=_with_people(things, own, task, verdicts) if task.said else None,
        alpha_without=reliability(ratings(rest, things, task.scale), level=task.level)["alpha"] if several else None,
    )


def _with_people(
    things: Sequence[Thing], own: Mapping[Key, Value | None], task: Task, verdicts: Mapping[Key, Value | None]
) -> Against:
    """Compare a side with people on the items that have a verdict of the panel.

    All sides are thus compared on the same items.
    """
    known = [thing for thing in things if _key(thing) in task.said]
    if not known:
        return Against(n=0, why="no thing of these has a verdict of people")
    return _against(
        known,
        {key: None if verdicts[key] is None else said for key, said in task.said.items() if key in verdicts},
        own,
        task,
    )


def _against(
    things: Sequence[Thing], other: Mapping[Key, Value | None], own: Mapping[Key, Value | None], task: Task
) -> Against:
    """Compare one side with another by the figures of two annotators."""
    both = [
        thing.model_copy(update={"values": {OTHER: other[key], THIS: own[key]}})
        for thing in things
        if other[key := _key(thing)] is not None and own[key] is not None
    ]
    if not both:
        return Against(n=0, ties=len(things), why=TIED)
    pair = people(both, task.scale, level=task.level).pairs[0]
    return Against(n=pair.n, figures=pair.figures, ties=len(things) - len(both))


def is_categorical(scale: Scale) -> bool:
    """Return whether verdicts are compared as categories."""
    return isinstance(scale, CategoricalScale)


def _key(thing: Thing) -> Key:
    """Return the key of an item."""
    return thing.sample_id, thing.method, thing.item
