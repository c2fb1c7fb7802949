"""Input of an alignment: options, the metric, and the labelled items with their folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from greval._util.arguments import run_folder
from greval.errors import DataError, DefinitionError
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.metrics.library import load
from greval.records.metric import JudgedMetric, Metric
from greval.stats.interval import LEVEL
from greval.trust.alignment.definition_runs import marked
from greval.trust.alignment.folds import folds, within
from greval.trust.alignment.labelled_items import Labelled, labelled
from greval.trust.alignment.records import Way
from greval.trust.annotations.sources import Source

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.runs.evaluation import Run

WAYS: tuple[Way, ...] = ("examples", "rewrite")
FOLDER = "align"
FOLDS = 5
CHOOSING = 60
FEWEST = 20
"""The minimum number of labelled items. They are split for learning, choosing and measuring."""


class Wishes(TypedDict, total=False):
    """Options of `align`."""

    out: str | Path | None
    ways: Sequence[Way]
    writer: Judge | BaseChatModel | None
    folds: int
    choosing: int
    limit: int | None
    seed: int
    level: float
    work: str | Path | None
    concurrency: int | None
    max_calls: int | None
    max_cost: float | None
    prices: Prices | None
    on_told: Callable[[str], None]


class Prepared(NamedTuple):
    """What is known before the first call. `fold_of` maps each question to its fold."""

    folder: Path
    work: Path
    metric: JudgedMetric
    found: Labelled
    fold_of: dict[int, int]
    ways: tuple[Way, ...]
    reused: bool


def prepared(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: Source,
    wishes: Wishes,
) -> Prepared:
    """Read the labelled items and assign them to folds.

    Raises:
        DataError: If there are too few labelled items, or an option is invalid.
        DefinitionError: If the metric does not exist or is computed.
        StoreError: If the folder is not a run.
    """
    ways = _ways(wishes)
    count, level = wishes.get("folds", FOLDS), wishes.get("level", LEVEL)
    if not 0 < level < 1:
        raise DataError(f"the level must lie between 0 and 1, got {level:g}; 0.95 is usual")
    if count < 2:  # noqa: PLR2004 - one fold to learn from, one to measure on
        raise DataError(f"folds: give 2 or more, got {count}; what is learned from some is tried on the others")
    folder = run_folder(run)
    defined = metric if isinstance(metric, Metric) else load(metric)
    if not isinstance(defined, JudgedMetric):
        raise DefinitionError(f"{defined.name}: is computed; only what a model judges can be aligned")
    found = _limited(labelled(folder, defined, annotations), wishes.get("limit"), wishes.get("seed", 0))
    questions = [point.question for point in found.points]
    if len(questions) < FEWEST or len(set(questions)) < 2 * count:
        raise DataError(
            f"{folder}: {len(questions)} labelled things of {len(set(questions))} questions are too few to align "
            f"{defined.name} in {count} folds; label {FEWEST} or more, of {2 * count} questions at least"
        )
    work = wishes.get("work") or folder / FOLDER
    return Prepared(
        folder=folder,
        work=Path(work),
        metric=defined,
        found=found,
        fold_of=folds(questions, count, seed=wishes.get("seed", 0)),
        ways=ways,
        reused=found.matched.fingerprints == (marked(defined, judge, found.held),),
    )


def _ways(wishes: Wishes) -> tuple[Way, ...]:
    ways = tuple(dict.fromkeys(wishes.get("ways") or WAYS))
    if unknown := [way for way in ways if way not in WAYS]:
        raise DataError(f"ways: {', '.join(unknown)} is not known; choose from {', '.join(WAYS)}")
    return ways


def _limited(found: Labelled, limit: int | None, seed: int) -> Labelled:
    """Return at most `limit` labelled items, drawn at random by whole questions."""
    if limit is None or len(found.points) <= limit:
        return found
    kept = within([point.question for point in found.points], limit, seed=f"limit {seed}")
    return found._replace(points=tuple(point for point in found.points if point.question in kept))
