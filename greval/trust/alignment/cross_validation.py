"""Learning from labelled things: changed definitions, and which is the best on things that none was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric
from greval.records.scale import Scale
from greval.trust.alignment.definition_runs import Bench, Verdicts
from greval.trust.alignment.few_shot import shown
from greval.trust.alignment.folds import within
from greval.trust.alignment.gain import Pair, gained
from greval.trust.alignment.labelled_items import Point
from greval.trust.alignment.records import Attempt, Way
from greval.trust.alignment.rewrite import rewritten
from greval.trust.alignment.writer import Writer

LEARN = {"examples": shown, "rewrite": rewritten}


@dataclass(frozen=True)
class Task:
    """What all rounds share: the metric, its verdicts, who judges and writes, and how."""

    metric: JudgedMetric
    scale: Scale
    before: Verdicts
    bench: Bench
    writer: Writer
    ways: tuple[Way, ...]
    choosing: int
    seed: int
    level: float


@dataclass(frozen=True)
class Learned:
    """What one round gave: the best definition, None where the metric as it is was the best, and all attempts."""

    metric: JudgedMetric | None
    attempts: tuple[Attempt, ...]


async def learned(task: Task, points: Sequence[Point], fold: int) -> Learned:
    """Change the metric in each way from some of these things, and choose by others.

    The things that decide are drawn before anybody looks at what people and judge said of them: if the
    disagreements that were learned from were taken out, the metric as it is would look better than it is.
    A definition is chosen where its figure is better than that of the metric as it is, the best one
    first; it is a choice, not yet a finding.

    Args:
        task: What all rounds share.
        points: The things to learn from.
        fold: The fold that is held back, 0 for none.
    """
    seed = f"{task.seed}/{fold}"
    deciding = within([point.question for point in points], min(task.choosing, len(points) // 2), seed=seed)
    lessons = [point for point in points if point.question not in deciding]
    rest = [point for point in points if point.question in deciding]
    made: dict[Way, tuple[JudgedMetric, list[Point]]] = {}
    dropped: dict[Way, str] = {}
    for way in task.ways:
        found = await LEARN[way](task.metric, lessons, task.before, task.writer, seed=f"{seed}/{way}")
        if isinstance(found, str):
            dropped[way] = found
        else:
            made[way] = found
    tried = {way: await _tried(task, fold, way, one, rest) for way, one in made.items()}
    best = max(tried, key=lambda way: tried[way][1], default=None)
    if best is not None and tried[best][1] <= 0:
        best = None
    attempts = (
        tried[way][0].model_copy(update={"chosen": way == best})
        if way in tried
        else Attempt(fold=fold, way=way, dropped=dropped[way])
        for way in task.ways
    )
    return Learned(made[best][0] if best else None, tuple(attempts))


async def held_back(task: Task, metric: JudgedMetric | None, points: Sequence[Point], fold: int) -> list[Pair]:
    """Give what the chosen definition says of things that nothing was learned from, beside the metric as it is."""
    if metric is None:
        return pairs(points, task.before, task.before)
    return pairs(points, task.before, await task.bench.verdicts(metric, points, f"fold {fold}, held back"))


def pairs(points: Sequence[Point], before: Verdicts, after: Verdicts) -> list[Pair]:
    """Pair the verdicts of two definitions; things that lack one are left out."""
    return [
        Pair(point.question, point.people, before[point.number], after[point.number])
        for point in points
        if point.number in before and point.number in after
    ]


async def _tried(
    task: Task, fold: int, way: Way, one: tuple[JudgedMetric, list[Point]], rest: Sequence[Point]
) -> tuple[Attempt, float]:
    """Give what a changed definition reaches on the things that decide, and by how much that is better."""
    metric, made_from = one
    where = f"fold {fold}" if fold else "all labels"
    found = pairs(rest, task.before, await task.bench.verdicts(metric, rest, f"{where}, {way}"))
    told = gained(found, task.scale)
    attempt = Attempt(
        fold=fold,
        way=way,
        learned=len(made_from),
        things=len(found),
        before=told.before,
        after=told.after,
        failed=sum(point.number in task.before for point in rest) - len(found),
        definition=write_metric(metric),
    )
    return attempt, told.gain or 0.0
