"""The forecast of a config-driven evaluation: the number of responses to collect and of judge calls to make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

from langchain_core.language_models import BaseChatModel

from greval.judging.model.judge import Judge
from greval.methods.collecting.response_file import read_responses
from greval.metrics.library import load_metric
from greval.records.case import Case, Chunk, Sample
from greval.records.record import Record
from greval.runs.forecast import Forecast, forecast
from greval.runs.from_config import CONFIG_FILE
from greval.runs.from_config.api import ConfigSelection, EvaluationPlan, prepare_evaluation
from greval.runs.from_config.result_files import JUDGED_METRICS
from greval.runs.from_config.result_writer import RESPONSES_FILE, RUN_FOLDER, select_current
from greval.runs.options import EvaluateOptions


class ConfigForecast(Record):
    """The work that an evaluation would do.

    `open` counts, for each method, how many of the `questions` it would be called for. Their judgements are part of
    `forecast`, with the expected answer and no context in place of the missing response: the number of calls is
    exact, but the input tokens are underestimated. `unread` lists the rows of the dataset that are not questions.
    """

    questions: int
    open: dict[str, int]
    forecast: Forecast
    unread: tuple[str, ...] = ()


def forecast_config(
    root: str | Path,
    file: str | Path = CONFIG_FILE,
    selection: ConfigSelection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    **options: Unpack[EvaluateOptions],
) -> ConfigForecast:
    """Count the calls that `evaluate_config` with the same arguments would make, without making any or writing files.

    Raises:
        DataError: If the config or the dataset is wrong. Every fault of the config is reported.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named or it cannot be used.
    """
    plan = prepare_evaluation(Path(root), Path(file), selection or ConfigSelection(), judge)
    there = _read_kept_responses(plan, options)
    missing = [(sample, name) for name in plan.scope.methods for sample in plan.scope.samples]
    missing = [(sample, name) for sample, name in missing if (sample.id, name) not in there]
    metrics = [load_metric(name) for name in JUDGED_METRICS]
    return ConfigForecast(
        questions=len(plan.scope.samples),
        open={name: sum(method == name for _, method in missing) for name in plan.scope.methods},
        forecast=forecast(
            [*there.values(), *_build_placeholders(missing)],
            metrics,
            plan.judge,
            out=plan.out / RUN_FOLDER,
            **options,
        ),
        unread=tuple(plan.scope.unread),
    )


def _read_kept_responses(plan: EvaluationPlan, options: EvaluateOptions) -> dict[tuple[str, str], Case]:
    """Read the responses that would be kept and not collected again."""
    file = plan.out / RESPONSES_FILE
    if not (options.get("resume", True) and file.is_file()):
        return {}
    again = options.get("retry_failed", True)
    found = select_current(plan.scope, read_responses(file))
    return {who: case for who, case in found.items() if case.error is None or not again}


def _build_placeholders(missing: list[tuple[Sample, str]]) -> Iterator[Case]:
    """Build a placeholder case for each missing response."""
    for sample, method in missing:
        known = {name: getattr(sample, name) for name in Sample.model_fields}
        answer = f"{method}: {sample.expected_answer or ''}"  # equal cases would share one call
        yield Case(**known, method=method, answer=answer, chunks=(Chunk(id="none", text=method),))
