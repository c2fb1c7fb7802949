"""Keys of `greval.yaml`: each is an option of `greval evaluate`, with its type, its limits and its help."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    create_model,
)
from typer.models import ParameterInfo

from greval.cli.options import JudgeOptions
from greval.judging.model.judge import Judge
from greval.records.judge_choice import NO_TEMPERATURE
from greval.records.record import Text

RUN_CONFIG = "greval.yaml"
"""The file that `greval evaluate` reads if no cases are named."""
JUDGE = "judge"
"""The key of the judge: its name, or its settings with its name under `model`."""
MODEL = "model"
CONFIG = "config"
"""The option that names the file, which has no key itself."""
NAMES: Mapping[str, str] = {
    "cases": "data",
    "column": "columns",
    "metric": "metrics",
    "ask": "methods",
    "traversal": "traversals",
}
"""The keys that are not called like their parameter: they hold several values, and an option holds one."""
MAPPINGS: Mapping[str, str] = {
    "columns": "The column, or the path in JSON, of each field that is called otherwise.",
    "judge_options": "Options that are passed to the judge's model, such as reasoning_effort or extra_body.",
    "methods": "Methods that are asked for their responses first: the name of each, and what --ask takes.",
}
"""The keys that hold a mapping, which the option takes as `NAME=VALUE`, with their descriptions."""
DESCRIPTIONS: Mapping[str, str] = {
    "data": "The file of the cases: .jsonl, .json, .csv, .tsv or .parquet; or - for stdin.",
    "metrics": "Names of metrics, or files.",
    "judge": "The judge: openai:MODEL, local, local:NAME or PROVIDER:MODEL; or its settings.",
    "resume": "Resume the run in the folder; false begins a new one.",
}
"""Descriptions of the keys whose option has a help text about the command line."""
SCHEMA_HEAD: Mapping[str, str] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "greval run",
    "description": "A run of greval evaluate. Relative paths are relative to this file.",
}
_REPEATABLE = re.compile(r"[;,] repeatable")
_METHOD_NAME = re.compile(r"[^=:/?()\x00-\x1f]+")


class ConfigKey(NamedTuple):
    """A key of the file: its path, the parameter of the command that it sets, and the option of that parameter."""

    path: tuple[str, ...]
    parameter: str
    hint: Any
    option: ParameterInfo

    @property
    def name(self) -> str:
        """The path as text, such as `judge.temperature`."""
        return ".".join(self.path)

    @property
    def description(self) -> str:
        """The text that says what the key is for."""
        own = MAPPINGS.get(self.name) or DESCRIPTIONS.get(self.name)
        text = own or _REPEATABLE.sub("", self.option.help or "")
        return f"{text[:1].upper()}{text[1:].rstrip('.')}."

    @property
    def holds_paths(self) -> bool:
        """Return whether the values are paths, which are relative to the file."""
        return Path in {self.hint, *get_args(self.hint)}


def list_config_keys(command: Callable[..., object]) -> tuple[ConfigKey, ...]:
    """List the keys of the file that describes a run, from the options of a command.

    The settings of the judge are in a section; every other option is a key of its own.
    """
    keys: list[ConfigKey] = []
    for parameter in signature(command).parameters.values():
        if parameter.name == CONFIG or (found := _find_option(parameter)) is None:
            continue
        hint, option = found
        name = NAMES.get(parameter.name, parameter.name)
        in_judge = name in JudgeOptions._fields and name in Judge.model_fields
        path = (JUDGE, name) if in_judge else (JUDGE, MODEL) if name == JUDGE else (name,)
        keys.append(ConfigKey(path, parameter.name, hint, option))
    return tuple(keys)


def build_config_model(keys: tuple[ConfigKey, ...]) -> type[BaseModel]:
    """Build the model that checks the content of a file.

    Example:
        >>> from greval.cli.evaluate import evaluate
        >>> model = build_config_model(list_config_keys(evaluate))
        >>> model.model_validate({"data": "cases.csv", "metrics": "tone"}).model_dump(by_alias=True, exclude_unset=True)
        {'data': 'cases.csv', 'metrics': ['tone']}
    """
    judge = _build_model("JudgeSection", [key for key in keys if key.path[0] == JUDGE])
    named = Annotated[
        judge,  # type: ignore[valid-type]  # built above
        BeforeValidator(lambda given: {MODEL: given} if isinstance(given, str) else given),
        Field(description=DESCRIPTIONS[JUDGE]),
    ]
    return _build_model("RunConfig", [key for key in keys if key.path[0] != JUDGE], {JUDGE: named})


def build_config_schema(keys: tuple[ConfigKey, ...]) -> dict[str, Any]:
    """Build the JSON schema of the file, in draft 7, which editors support.

    It checks names, types and limits. Whether files exist and options fit together is checked when the file is used.
    """
    schema = _drop_generated_prose(build_config_model(keys).model_json_schema())
    section = schema.pop("$defs")["JudgeSection"]
    schema["properties"][JUDGE] = {"description": DESCRIPTIONS[JUDGE], "anyOf": [_TEXT_SCHEMA, section]}
    return {**SCHEMA_HEAD, **schema}


def _build_model(name: str, keys: list[ConfigKey], more: dict[str, Any] | None = None) -> type[BaseModel]:
    """Build a model of keys. Its fields are found by alias only, because a field may not be called `json`."""
    types = {key.path[-1]: _build_type(key) for key in keys} | (more or {})
    fields: dict[str, Any] = {f"{key}_": (hint, Field(default=None, alias=key)) for key, hint in types.items()}
    return create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _build_type(key: ConfigKey) -> Any:  # noqa: ANN401 - a type
    """Return the type of the values of a key."""
    described = Field(description=key.description)
    if key.name in MAPPINGS:
        name = Annotated[Text, AfterValidator(_check_method_name)] if key.name == "methods" else Text
        value = JsonValue if key.name == "judge_options" else Text
        return Annotated[dict[name, value], Field(min_length=1), described]  # type: ignore[valid-type]  # chosen above
    if key.path[0] == JUDGE and key.path[-1] != MODEL:
        field = Judge.model_fields[key.path[-1]]
        hint = field.rebuild_annotation()  # with the limits of the setting
        if key.path[-1] == "temperature":
            hint = Annotated[float, Field(ge=0, le=2)] | Literal[NO_TEMPERATURE]  # a file has no null
        return Annotated[hint, described]
    if get_origin(key.hint) is list:
        return Annotated[list[Text], Field(min_length=1), BeforeValidator(_wrap_text), _ONE_OR_MORE, described]
    limits = Field(ge=getattr(key.option, "min", None), le=getattr(key.option, "max", None))
    return Annotated[Text if key.hint in {str, Path} else Annotated[key.hint, limits], described]


def _find_option(parameter: Parameter) -> tuple[Any, ParameterInfo] | None:
    """Return the type of a parameter without None, and its option; None if it is neither option nor argument."""
    hint, *marks = get_args(parameter.annotation) if get_origin(parameter.annotation) is Annotated else [None]
    option = next((mark for mark in marks if isinstance(mark, ParameterInfo)), None)
    if option is None:
        return None
    if get_origin(hint) in {Union, UnionType}:
        hint = next(part for part in get_args(hint) if part is not type(None))
    return hint, option


_TEXT_SCHEMA = {"type": "string", "minLength": 1}
_ONE_OR_MORE = WithJsonSchema({"anyOf": [_TEXT_SCHEMA, {"type": "array", "minItems": 1, "items": _TEXT_SCHEMA}]})


def _wrap_text(given: object) -> object:
    """Return one text as a list of it."""
    return [given] if isinstance(given, str) else given


def _check_method_name(name: str) -> str:
    if not _METHOD_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a method; leave out = : / ? ( )")
    return name


def _drop_generated_prose(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """Drop the titles and defaults that pydantic adds, and null, which a file expresses by leaving the key out."""
    if isinstance(schema, list):
        return [_drop_generated_prose(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: part for key, part in schema.items() if not (key in {"title", "default"} and not isinstance(part, dict))
    }
    if options := [part for part in kept.get("anyOf", ()) if part != {"type": "null"}]:
        kept = {**kept, "anyOf": options} if len(options) > 1 else {**kept, **options[0]}
        if len(options) == 1:
            del kept["anyOf"]
    return {key: _drop_generated_prose(part) for key, part in kept.items()}
