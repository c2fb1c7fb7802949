"""Learn changed definitions from labelled items, and choose the best on items that no definition was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric
from greval.records.scale import Scale
from greval.trust.alignment.few_shot import add_examples
from greval.trust.alignment.folds import draw_clusters
from greval.trust.alignment.gain import VerdictPair, compute_gain
from greval.trust.alignment.labelled_items import LabelledItem
from greval.trust.alignment.model_calls import DefinitionRunner, Verdicts
from greval.trust.alignment.records import AlignAttempt, AlignStrategy
from greval.trust.alignment.rewrite import rewrite_metric
from greval.trust.alignment.writer import DefinitionWriter

STRATEGIES = {"examples": add_examples, "rewrite": rewrite_metric}


@dataclass(frozen=True)
class AlignTask:
    """The settings and models that all rounds of an alignment share, and the verdicts of the unchanged metric."""

    metric: JudgedMetric
    scale: Scale
    before: Verdicts
    runner: DefinitionRunner
    writer: DefinitionWriter
    ways: tuple[AlignStrategy, ...]
    choosing: int
    seed: int
    level: float


@dataclass(frozen=True)
class LearnedDefinition:
    """The result of one round: the best definition, or None if the unchanged metric was the best, and all attempts."""

    metric: JudgedMetric | None
    attempts: tuple[AlignAttempt, ...]


async def learn_definition(task: AlignTask, points: Sequence[LabelledItem], fold: int) -> LearnedDefinition:
    """Change the metric with each strategy from some of the items, and choose the best on the others.

    A definition is chosen if its figure is better than that of the unchanged metric. This is a selection, not
    yet evidence of a gain: the figures on the deciding items are biased upwards.

    Args:
        task: The settings that all rounds share.
        points: The items to learn from.
        fold: The fold that is held out, 0 for none.
    """
    seed = f"{task.seed}/{fold}"
    # Drawn before people and judge are compared. Taking out the disagreements that were learned from would make the
    # unchanged metric look better than it is.
    deciding = draw_clusters([point.question for point in points], min(task.choosing, len(points) // 2), seed=seed)
    lessons = [point for point in points if point.question not in deciding]
    rest = [point for point in points if point.question in deciding]
    made: dict[AlignStrategy, tuple[JudgedMetric, list[LabelledItem]]] = {}
    dropped: dict[AlignStrategy, str] = {}
    for way in task.ways:
        found = await STRATEGIES[way](task.metric, lessons, task.before, task.writer, seed=f"{seed}/{way}")
        if isinstance(found, str):
            dropped[way] = found
        else:
            made[way] = found
    tried = {way: await _try_definition(task, fold, way, one, rest) for way, one in made.items()}
    best = max(tried, key=lambda way: tried[way][1], default=None)
    if best is not None and tried[best][1] <= 0:
        best = None
    attempts = (
        tried[way][0].model_copy(update={"chosen": way == best})
        if way in tried
        else AlignAttempt(fold=fold, way=way, dropped=dropped[way])
        for way in task.ways
    )
    return LearnedDefinition(made[best][0] if best else None, tuple(attempts))


async def judge_held_out(
    task: AlignTask, metric: JudgedMetric | None, points: Sequence[LabelledItem], fold: int
) -> list[VerdictPair]:
    """Pair the verdicts of the unchanged metric and of the chosen definition, on items held out from learning."""
    if metric is None:
        return pair_verdicts(points, task.before, task.before)
    return pair_verdicts(points, task.before, await task.runner.judge_items(metric, points, f"fold {fold}, held back"))


def pair_verdicts(points: Sequence[LabelledItem], before: Verdicts, after: Verdicts) -> list[VerdictPair]:
    """Pair the verdicts of two definitions. Items without both verdicts are left out."""
    return [
        VerdictPair(point.question, point.people, before[point.number], after[point.number])
        for point in points
        if point.number in before and point.number in after
    ]


async def _try_definition(
    task: AlignTask,
    fold: int,
    way: AlignStrategy,
    made: tuple[JudgedMetric, list[LabelledItem]],
    rest: Sequence[LabelledItem],
) -> tuple[AlignAttempt, float]:
    """Judge the deciding items by a changed definition, and return the attempt with its gain."""
    metric, made_from = made
    where = f"fold {fold}" if fold else "all labels"
    found = pair_verdicts(rest, task.before, await task.runner.judge_items(metric, rest, f"{where}, {way}"))
    told = compute_gain(found, task.scale)
    attempt = AlignAttempt(
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
