"""Options of commands that ask a judge: which one, its settings, prices and caps, and what is made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from pydantic import JsonValue, ValidationError

from greval.cli.help_layout import judge_option, limit_option
from greval.errors import JudgeError
from greval.judging.answer_schema import ReasonPosition
from greval.judging.model.judge import KEY_VARIABLE, Judge, Structured
from greval.judging.model.prices import FILE_VARIABLE, Prices
from greval.judging.prompt import PromptStart
from greval.records.judge_choice import NO_TEMPERATURE
from greval.records.metric import Metric, ReasonDepth, needs_judge
from greval.runs.config.judge_config import MODEL, SETTINGS, JudgeConfig

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

JUDGE_VARIABLE = "GREVAL_JUDGE"
"""The environment variable that names the judge of all commands."""
SUGGESTED_MODEL, LOCAL_JUDGE = "openai:gpt-5.4-mini", "local"
JudgeName = Annotated[
    str | None,
    judge_option(
        "--judge",
        envvar=JUDGE_VARIABLE,
        metavar="MODEL",
        help="openai:MODEL, local, local:NAME or PROVIDER:MODEL",
    ),
]
JudgeNames = Annotated[list[str] | None, judge_option("--judge", envvar=JUDGE_VARIABLE, metavar="[METRIC=]MODEL")]
PriceFile = Annotated[Path | None, limit_option("--prices", envvar=FILE_VARIABLE, metavar="FILE")]
Depth = Annotated[ReasonDepth | None, judge_option("--reason-depth")]


def parse_temperature(text: str | float) -> float | str:
    """Parse a temperature: a number, or `none` for a judge that is asked without one."""
    if str(text).strip().lower() == NO_TEMPERATURE:
        return NO_TEMPERATURE
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a number or {NO_TEMPERATURE}, got {text!r}") from error


def parse_judge_options(pairs: Iterable[str]) -> dict[str, JsonValue]:
    """Parse options of the judge's model, each as `NAME=JSON`; a word that is no JSON is a text.

    Example:
        >>> parse_judge_options(["reasoning_effort=low", "streaming=true", 'extra_body={"top_k": 1}'])
        {'reasoning_effort': 'low', 'streaming': True, 'extra_body': {'top_k': 1}}
    """
    options: dict[str, JsonValue] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not (name and sign and text):
            raise JudgeError(f"--judge-option {pair}: write it as NAME=JSON, such as reasoning_effort=low")
        if name in options:
            raise JudgeError(f"--judge-option {name}: it is given twice; name each option once")
        try:
            options[name] = json.loads(text)
        except ValueError as error:
            # What begins like JSON is meant as JSON, and no word.
            if text[0] in '{["':
                raise JudgeError(f"--judge-option {name}: {text} is not JSON: {error}") from error
            options[name] = text
    return options


class JudgeOptions(NamedTuple):
    """Settings of the judge, with the defaults of `Judge`."""

    base_url: Annotated[str | None, judge_option("--base-url", metavar="URL")] = None
    temperature: Annotated[Any, judge_option(metavar="T", parser=parse_temperature)] = 0.0
    seed: Annotated[int | None, judge_option(metavar="N")] = None
    timeout: Annotated[float, limit_option(metavar="SECONDS")] = 60.0
    judge_options: Annotated[list[str] | None, judge_option("--judge-option", metavar="NAME=JSON")] = None
    max_tokens: Annotated[int | None, judge_option(metavar="N")] = None
    max_items: Annotated[int | None, judge_option(metavar="N")] = None
    structured: Annotated[Structured, judge_option("--structured")] = "auto"
    reason: Annotated[ReasonPosition | None, judge_option("--reason")] = None
    calibration: Annotated[bool, judge_option("--calibration/--no-calibration", show_default=False)] = True
    prompt_start: Annotated[PromptStart, judge_option("--prompt-start")] = "metric"
    reason_depth: Depth = None
    confidence: Annotated[bool, judge_option("--confidence/--no-confidence", show_default=False)] = False
    max_retries: Annotated[int, limit_option(min=0, metavar="N")] = 6
    requests_per_minute: Annotated[float | None, limit_option(metavar="N")] = None
    tokens_per_minute: Annotated[float | None, limit_option(metavar="N")] = None

    def build_config(self, names: Iterable[str] | None = None) -> JudgeConfig:
        """Build the judge of a command, by the names that it gives; raise `JudgeError` if a setting is invalid."""
        settings = self._asdict()
        # The depth of reasons belongs to the metrics, not to the judge.
        del settings["reason_depth"]
        return build_judge_config({**settings, MODEL: [*names]} if names else settings)

    def create_judge(self, name: str | None) -> Judge:
        """Create the judge of this name; raise `JudgeError` without one, or if it or a setting is invalid."""
        return self.build_config().create_judge(name)


def build_judge_config(settings: Mapping[str, Any]) -> JudgeConfig:
    """Build the judge of a run from its names and the values of the options of `JudgeOptions`."""
    content = {name: value for name, value in settings.items() if name != "judge_options"}
    if pairs := settings.get("judge_options"):
        content["options"] = parse_judge_options(pairs)
    try:
        return JudgeConfig.model_validate(content)
    except ValidationError as error:
        raise JudgeError("\n".join(map(_format_option_error, error.errors()))) from error


class CapOptions(NamedTuple):
    """What ends a run early, and the prices that its cost is computed with."""

    max_calls: Annotated[int | None, limit_option(min=1, metavar="N")] = None
    max_cost: Annotated[float | None, limit_option(min=0, metavar="USD")] = None
    prices: PriceFile = None

    def read_prices(self) -> Prices | None:
        """Read the price table, or the one that greval finds by itself."""
        return Prices.load(self.prices)


def require_judged(metric: Metric, done: str) -> None:
    """Raise `typer.BadParameter` for a computed metric, before a judge is asked for that it does not need."""
    if not needs_judge([metric]):
        raise typer.BadParameter(f"{metric.name} is computed: only what a model judges can be {done}")


def suggest_judge() -> str:
    """Return the judge to begin with: a model of OpenAI if the environment holds a key, else the embedded one."""
    return SUGGESTED_MODEL if os.environ.get(KEY_VARIABLE) else LOCAL_JUDGE


def _format_option_error(fault: ErrorDetails) -> str:
    """Format a validation error as an option and what is wrong with it."""
    # pydantic begins its messages with these.
    what = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    key_path = [str(part) for part in fault["loc"] if part != SETTINGS]
    if key_path[:1] == ["options"]:
        return f"--judge-option: {what}"
    return f"--{'.'.join(key_path).replace('_', '-')}: {what}"
