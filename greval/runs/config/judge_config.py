"""The judge of a run's configuration: names of judges, and the settings that hold for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from greval._util.wording import did_you_mean, format_names
from greval.errors import JudgeError
from greval.judging.model.judge import NO_JUDGE_MESSAGE, Judge, build_chosen_judge
from greval.judging.model.judge_names import LOCAL, complete_judge_name, parse_judge_name
from greval.records.judge_choice import NO_TEMPERATURE
from greval.records.metric import JudgedMetric, Metric
from greval.records.record import Record, Text

MODEL, SETTINGS = "model", "settings"
UNNAMED = Judge("openai:any")
"""The settings of a judge that is not named yet."""
JUDGE_KEYS: Mapping[str, str] = {
    MODEL: "The judge: openai:MODEL, local, local:NAME or PROVIDER:MODEL, for metrics that name no judge; METRIC=MODEL "
    "for one metric.",
    "temperature": "The judge's sampling temperature; none leaves it to the model.",
    "timeout": "The timeout of one call, in seconds.",
    "base_url": "An OpenAI-compatible server, with openai:MODEL.",
    "max_tokens": "The maximum length of a reply of the judge, in tokens.",
    "seed": "The judge's random seed.",
    "structured": "How answers are structured.",
    "max_retries": "The maximum number of retries of a transient failure.",
    "requests_per_minute": "The provider's rate limit in calls.",
    "tokens_per_minute": "The provider's rate limit in tokens.",
    "max_items": "The maximum number of chunks or triples judged in one call.",
    "item_tokens": "The maximum number of tokens of the chunks or triples judged in one call.",
    "confidence": "Ask for the probability of each verdict.",
    "reason": "The place of the reason in the judge's answer: before the value, or after it as by default of local.",
    "calibration": "Whether the values of the embedded model are calibrated by cheap numbers of what it judges.",
    "prompt_start": "What prompts begin with: the metric, or the case, which metrics share.",
    "options": "Options that are passed to the judge's model, such as reasoning_effort or extra_body.",
}
"""The keys of a judge with their descriptions."""


def wrap_text(content: object) -> object:
    """Return one text as a tuple of it, and a list as a tuple."""
    return (
        (content,) if isinstance(content, str | PurePath) else tuple(content) if isinstance(content, list) else content
    )


TEXT_SCHEMA = {"type": "string", "minLength": 1}
ONE_OR_MORE = WithJsonSchema({"anyOf": [TEXT_SCHEMA, {"type": "array", "minItems": 1, "items": TEXT_SCHEMA}]})
"""The schema of several texts, or one."""
Texts = Annotated[tuple[Text, ...], BeforeValidator(wrap_text), Field(min_length=1), ONE_OR_MORE]
"""Several texts, or one."""


class JudgeConfig(Record):
    """The judge of a run: its name, or the judges of metrics as `METRIC=MODEL`, and the settings of all of them.

    It is written as a name, or as a mapping of the settings of `Judge` with the names under `model`.
    """

    model: Texts = ()
    settings: Judge = UNNAMED

    @model_validator(mode="before")
    @classmethod
    def _split_settings(cls, content: object) -> object:
        """Split the names from the settings."""
        if isinstance(content, str):
            return {MODEL: content}
        if isinstance(content, Judge):
            return {MODEL: content.model, SETTINGS: content}
        if not isinstance(content, Mapping) or isinstance(content.get(SETTINGS), Judge):
            return content
        names = {MODEL: content[MODEL]} if MODEL in content else {}
        settings = {name: value for name, value in content.items() if name != MODEL}
        # The settings are stored as those of a judge, which needs a name.
        return {**names, SETTINGS: {MODEL: UNNAMED.model, **settings}}

    @model_serializer
    def _dump(self) -> dict[str, JsonValue]:
        """Write what is set in the form of the file."""
        names: dict[str, JsonValue] = {MODEL: self.model[0] if len(self.model) == 1 else [*self.model]}
        settings = self.settings.model_dump(mode="json", include=self.keys, exclude_none=True)
        # None is a setting here: a key that is left out means the default.
        unset = {"temperature": NO_TEMPERATURE} if "temperature" in self.keys - settings.keys() else {}
        return {**(names if self.model else {}), **settings, **unset}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the section as it is written."""
        parts = handler.resolve_ref_schema(handler(schema))["properties"]
        settings = handler.resolve_ref_schema(parts[SETTINGS])["properties"]
        settings["temperature"] = {"anyOf": [settings["temperature"], {"const": NO_TEMPERATURE}]}
        settings[MODEL] = parts[MODEL]
        keys = {name: {**settings[name], "description": text} for name, text in JUDGE_KEYS.items()}
        section = {"type": "object", "additionalProperties": False, "properties": keys}
        return {"description": JUDGE_KEYS[MODEL], "anyOf": [TEXT_SCHEMA, section]}

    @property
    def keys(self) -> set[str]:
        """The settings that are set."""
        return self.settings.model_fields_set - {MODEL}

    def replace_by(self, overrides: Self) -> Self:
        """Return the section with what another one sets in place of its own."""
        changes = {name: getattr(overrides.settings, name) for name in overrides.keys}
        settings = self.settings.model_copy(update=changes)
        return self.model_copy(update={MODEL: overrides.model or self.model, SETTINGS: settings})

    def create_judge(self, name: str | None = None) -> Judge:
        """Create the judge of a name, by default of the one that is for all metrics."""
        name = name or parse_judge_names(self.model).get("")
        if not name:
            raise JudgeError(NO_JUDGE_MESSAGE)
        judge = self.settings.model_copy(update={MODEL: complete_judge_name(name, self.settings.base_url)})
        parse_judge_name(judge.model)
        return judge

    def create_judges(self, metrics: Iterable[Metric]) -> tuple[Judge | None, dict[str, Judge]]:
        """Create the judge of the metrics that name none, and those of single metrics, before any call is paid for.

        `METRIC=MODEL` goes before the judge that a metric names, and this before `MODEL`. The settings hold for all of
        them, except that the address of a server is that of the judges that are named here.
        """
        names = parse_judge_names(self.model)
        judged = {metric.name: metric.judge for metric in metrics if isinstance(metric, JudgedMetric)}
        if unknown := [name for name in names if name and name not in judged]:
            hint = did_you_mean(unknown[0], judged)
            raise JudgeError(f"--judge {unknown[0]}={names[unknown[0]]}: no judged metric has this name{hint}")
        lacking = [name for name, choice in judged.items() if choice is None and name not in names]
        if lacking and "" not in names:
            first = f"{format_names(lacking)}: " if len(lacking) < len(judged) else ""
            raise JudgeError(f"{first}{NO_JUDGE_MESSAGE}")
        default = self.create_judge() if "" in names else None
        # The address of a server is that of the judge that is named here, not of those that metrics name.
        template = default or self.settings.model_copy(update={MODEL: LOCAL, "base_url": None})
        judges = {name: build_chosen_judge(choice, template) for name, choice in judged.items() if choice}
        return default, judges | {name: self.create_judge(names[name]) for name in names if name}


def parse_judge_names(names: Iterable[str]) -> dict[str, str]:
    """Parse `MODEL` and `METRIC=MODEL`; the name of the metric is empty for the first form."""
    judges: dict[str, str] = {}
    for text in names:
        metric, sign, model = text.partition("=")
        # After a colon, the sign is part of a model's name.
        name, judge = (metric.strip(), model.strip()) if sign and ":" not in metric else ("", text.strip())
        if judges.setdefault(name, judge) != judge:
            whose = f"{name} has" if name else "all metrics have"
            raise JudgeError(
                f"--judge {text}: {whose} the judge {judges[name]} already; write METRIC=MODEL for one metric"
            )
    return judges
