"""Input of an alignment: options, the metric, and the labelled items with their folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from greval._util.arguments import resolve_run_folder
from greval.errors import DataError, DefinitionError
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.metrics.library import load_metric
from greval.records.metric import JudgedMetric, Metric
from greval.stats.interval import LEVEL, check_level
from greval.trust.alignment.folds import assign_folds, draw_clusters
from greval.trust.alignment.labelled_items import LabelledItems, read_labelled_items
from greval.trust.alignment.model_calls import compute_run_fingerprint
from greval.trust.alignment.records import AlignStrategy
from greval.trust.annotations.files import AnnotationSource

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.runs.evaluation import Run

WAYS: tuple[AlignStrategy, ...] = ("examples", "rewrite")
FOLDER = "align"
DEFAULT_FOLDS = 5
DEFAULT_CHOOSING = 60
MIN_LABELS = 20
"""The minimum number of labelled items. They are split for learning, choosing and measuring."""


class AlignOptions(TypedDict, total=False):
    """Options of `align`."""

    out: str | Path | None
    ways: Sequence[AlignStrategy]
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


class PreparedAlignment(NamedTuple):
    """What is known before the first call. `fold_of` maps each question to its fold."""

    folder: Path
    work: Path
    metric: JudgedMetric
    found: LabelledItems
    fold_of: dict[int, int]
    ways: tuple[AlignStrategy, ...]
    reused: bool


def prepare_alignment(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: AnnotationSource,
    options: AlignOptions,
) -> PreparedAlignment:
    """Read the labelled items and assign them to folds.

    Raises:
        DataError: If there are too few labelled items, or an option is invalid.
        DefinitionError: If the metric does not exist or is computed.
        StoreError: If the folder is not a run.
    """
    ways = _parse_ways(options)
    check_level(options.get("level", LEVEL))
    count = options.get("folds", DEFAULT_FOLDS)
    if count < 2:  # noqa: PLR2004 - one fold to learn from, one to measure on
        raise DataError(f"folds: give 2 or more, got {count}; what is learned from some is tried on the others")
    folder = resolve_run_folder(run)
    defined = metric if isinstance(metric, Metric) else load_metric(metric)
    if not isinstance(defined, JudgedMetric):
        raise DefinitionError(f"{defined.name}: is computed; only what a model judges can be aligned")
    found = _limit_items(
        read_labelled_items(folder, defined, annotations), options.get("limit"), options.get("seed", 0)
    )
    questions = [point.question for point in found.points]
    if len(questions) < MIN_LABELS or len(set(questions)) < 2 * count:
        raise DataError(
            f"{folder}: {len(questions)} labelled things of {len(set(questions))} questions are too few to align "
            f"{defined.name} in {count} folds; label {MIN_LABELS} or more, of {2 * count} questions at least"
        )
    work = options.get("work") or folder / FOLDER
    return PreparedAlignment(
        folder=folder,
        work=Path(work),
        metric=defined,
        found=found,
        fold_of=assign_folds(questions, count, seed=options.get("seed", 0)),
        ways=ways,
        reused=found.matched.fingerprints == (compute_run_fingerprint(defined, judge, found.held),),
    )


def _parse_ways(options: AlignOptions) -> tuple[AlignStrategy, ...]:
    ways = tuple(dict.fromkeys(options.get("ways") or WAYS))
    if unknown := [way for way in ways if way not in WAYS]:
        raise DataError(f"ways: {', '.join(unknown)} is not known; choose from {', '.join(WAYS)}")
    return ways


def _limit_items(found: LabelledItems, limit: int | None, seed: int) -> LabelledItems:
    """Return at most `limit` labelled items, drawn at random by whole questions."""
    if limit is None or len(found.points) <= limit:
        return found
    kept = draw_clusters([point.question for point in found.points], limit, seed=f"limit {seed}")
    return found._replace(points=tuple(point for point in found.points if point.question in kept))
