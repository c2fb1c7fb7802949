"""What the evaluation of a config file would ask: responses of its methods, and calls of its judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

from langchain_core.language_models import BaseChatModel

from greval.judging.model.judge import Judge
from greval.methods.collecting.response_file import read_responses
from greval.metrics.library import load
from greval.records.case import Case, Chunk, Sample
from greval.records.record import Record
from greval.runs.forecast import Forecast, forecast
from greval.runs.from_config import CONFIG
from greval.runs.from_config.api import Plan, Selection, planned
from greval.runs.from_config.result_files import JUDGED
from greval.runs.from_config.result_writer import RESPONSES, RUN, current
from greval.runs.options import Options


class Foretold(Record):
    """What an evaluation would ask.

    `open` tells for each method how many of the `questions` it would be asked. Their judgements are in
    `forecast` with the expected answer and no context in place of the response: its calls are those of the
    evaluation, its input tokens are fewer. `unread` rows of the dataset are no questions.
    """

    questions: int
    open: dict[str, int]
    forecast: Forecast
    unread: tuple[str, ...] = ()


def foretell_config(
    root: str | Path,
    file: str | Path = CONFIG,
    selection: Selection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    **options: Unpack[Options],
) -> Foretold:
    """Count what `evaluate_config` with the same arguments would ask; nothing is asked or written.

    Raises:
        DataError: Where the config or the dataset is wrong, with every fault of the config.
        MethodError: Where a method cannot be loaded.
        JudgeError: Where no judge is named or it cannot be used.
    """
    plan = planned(Path(root), Path(file), selection or Selection(), judge)
    there = _there(plan, options)
    missing = [(sample, name) for name in plan.asked.methods for sample in plan.asked.samples]
    missing = [(sample, name) for sample, name in missing if (sample.id, name) not in there]
    metrics = [load(name) for name in JUDGED]
    return Foretold(
        questions=len(plan.asked.samples),
        open={name: sum(method == name for _, method in missing) for name in plan.asked.methods},
        forecast=forecast(
            [*there.values(), *_stand_ins(missing)],
            metrics,
            plan.judge,
            out=plan.out / RUN,
            **options,
        ),
        unread=tuple(plan.asked.unread),
    )


def _there(plan: Plan, options: Options) -> dict[tuple[str, str], Case]:
    """Give the responses that would not be asked for again."""
    file = plan.out / RESPONSES
    if not (options.get("resume", True) and file.is_file()):
        return {}
    again = options.get("retry_failed", True)
    found = current(plan.asked, read_responses(file))
    return {who: case for who, case in found.items() if case.error is None or not again}


def _stand_ins(missing: list[tuple[Sample, str]]) -> Iterator[Case]:
    """Give a case for each response that is not there."""
    for sample, method in missing:
        known = {name: getattr(sample, name) for name in Sample.model_fields}
        answer = f"{method}: {sample.expected_answer or ''}"  # equal ones would be judged in one call
        yield Case(**known, method=method, answer=answer, chunks=(Chunk(id="none", text=method),))
