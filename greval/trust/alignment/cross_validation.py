"""Cross-validation of changed definitions: learn from some folds, choose on others, measure on the fold held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric
from greval.trust.alignment.gain import VerdictPair, compute_gain, explain_rejection
from greval.trust.alignment.labelled_items import LabelledItem, LabelledItems, draw_questions
from greval.trust.alignment.model_calls import DefinitionRunner, DefinitionWriter, Verdicts
from greval.trust.alignment.records import AgreementGain, AlignAttempt, AlignStrategy
from greval.trust.alignment.strategies import add_examples, rewrite_metric

STRATEGIES = {"examples": add_examples, "rewrite": rewrite_metric}


@dataclass(frozen=True)
class PreparedAlignment:
    """What is known before the first call.

    `fold_of` maps each question to its fold. `reused` is true if the verdicts of the run are those of the judge.
    """

    folder: Path
    work: Path
    metric: JudgedMetric
    labelled: LabelledItems
    fold_of: dict[int, int]
    reused: bool
    ways: tuple[AlignStrategy, ...]
    choosing: int
    seed: int
    level: float


@dataclass(frozen=True)
class AlignTask:
    """The settings and models that all rounds of an alignment share, and the verdicts of the unchanged metric."""

    setup: PreparedAlignment
    before: Verdicts
    runner: DefinitionRunner
    writer: DefinitionWriter


async def cross_validate_changes(
    task: AlignTask,
) -> tuple[Sequence[AlignAttempt], AgreementGain, JudgedMetric | None, str]:
    """Cross-validate the changes of the definition, and learn from all labels if its gain is beyond noise.

    Returns what was tried, the cross-validated gain, the accepted definition if there is one, and the outcome.
    """
    setup, items, scale = task.setup, task.setup.labelled.items, task.setup.labelled.scale
    if all(task.before.get(item.number) == item.people for item in items):
        gain = compute_gain(_pair_verdicts(items, task.before, task.before), scale, level=setup.level)
        return (), gain, None, "the judge agrees with people on everything that is labelled"
    attempts: list[AlignAttempt] = []
    pairs: list[VerdictPair] = []
    for fold in sorted({*setup.fold_of.values()}):
        learning = [item for item in items if setup.fold_of[item.question] != fold]
        held_out = [item for item in items if setup.fold_of[item.question] == fold]
        metric, tried = await _learn_definition(task, learning, fold)
        attempts += tried
        # A fold in which nothing was chosen keeps the original metric, and counts with a gain of 0.
        after = await task.runner.judge_items(metric, held_out, f"fold {fold}, held back") if metric else task.before
        pairs += _pair_verdicts(held_out, task.before, after)
    gain = compute_gain(pairs, scale, level=setup.level)
    why = explain_rejection(gain, level=setup.level)
    if not any(attempt.chosen for attempt in attempts):
        why = "no changed definition was better than the original metric in any fold"
    if why:
        return attempts, gain, None, why
    metric, tried = await _learn_definition(task, items, 0)
    why = "the gain is beyond noise"
    if metric is None:
        why = "there is a gain in the folds, but no definition learned from all labels is better"
    return [*attempts, *tried], gain, metric, why


async def _learn_definition(
    task: AlignTask, items: Sequence[LabelledItem], fold: int
) -> tuple[JudgedMetric | None, list[AlignAttempt]]:
    """Change the metric with each strategy from some of the items, and choose the best on the others.

    A definition is chosen if its figure is better than that of the unchanged metric; None is returned otherwise. This
    is a selection, not yet evidence of a gain: the figures on the deciding items are biased upwards. `fold` is the
    fold that is held out, 0 for none.
    """
    setup, seed = task.setup, f"{task.setup.seed}/{fold}"
    # Drawn before people and judge are compared. Taking out the disagreements that were learned from would make the
    # unchanged metric look better than it is.
    questions = [item.question for item in items]
    deciding = draw_questions(questions, min(setup.choosing, len(items) // 2), seed=seed)
    lessons = [item for item in items if item.question not in deciding]
    deciding_items = [item for item in items if item.question in deciding]
    definitions: dict[AlignStrategy, tuple[JudgedMetric, list[LabelledItem]]] = {}
    dropped: dict[AlignStrategy, AlignAttempt] = {}
    for way in setup.ways:
        changed = await STRATEGIES[way](setup.metric, lessons, task.before, task.writer, seed=f"{seed}/{way}")
        if isinstance(changed, str):
            dropped[way] = AlignAttempt(fold=fold, way=way, dropped=changed)
        else:
            definitions[way] = changed
    tried = {way: await _try_definition(task, fold, way, *each, deciding_items) for way, each in definitions.items()}
    gains = {way: gain for way, (_, gain) in tried.items() if gain is not None and gain > 0}
    best = max(gains, key=lambda way: gains[way], default=None)
    attempts = dropped | {way: attempt for way, (attempt, _) in tried.items()}
    if best is None:
        return None, [attempts[way] for way in setup.ways]
    attempts[best] = attempts[best].model_copy(update={"chosen": True})
    return definitions[best][0], [attempts[way] for way in setup.ways]


async def _try_definition(
    task: AlignTask,
    fold: int,
    way: AlignStrategy,
    metric: JudgedMetric,
    lessons: Sequence[LabelledItem],
    deciding_items: Sequence[LabelledItem],
) -> tuple[AlignAttempt, float | None]:
    """Judge the deciding items by a changed definition, and return the attempt with its gain."""
    step = f"fold {fold}, {way}" if fold else f"all labels, {way}"
    pairs = _pair_verdicts(deciding_items, task.before, await task.runner.judge_items(metric, deciding_items, step))
    gain = compute_gain(pairs, task.setup.labelled.scale)
    attempt = AlignAttempt(
        fold=fold,
        way=way,
        learned=len(lessons),
        things=len(pairs),
        before=gain.before,
        after=gain.after,
        failed=sum(item.number in task.before for item in deciding_items) - len(pairs),
        definition=write_metric(metric),
    )
    return attempt, gain.gain


def _pair_verdicts(items: Sequence[LabelledItem], original: Verdicts, changed: Verdicts) -> list[VerdictPair]:
    """Pair the verdicts of two definitions. Items without both verdicts are left out."""
    return [
        VerdictPair(item.question, item.people, original[item.number], changed[item.number])
        for item in items
        if item.number in original and item.number in changed
    ]
