"""The judge that a metric names for itself: a model, with the settings that belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from greval._util.wording import redact_credentials
from greval.records.record import Record

SECRET_NAME = re.compile(r"key|secret|password|authorization|credential|cookie|token\b", re.IGNORECASE)
"""Names of options that hold a secret, at any depth. Headers may hold keys; `max_tokens` does not match."""


ADDRESS_NAME = re.compile(r"(?:^|_)(?:url|uri|base|endpoint|proxy|proxies|host|mounts)(?:_|$)", re.IGNORECASE)
"""Names of options that change where a call goes."""
NO_TEMPERATURE: Final = "none"
"""The temperature of a judge that is asked without one."""


def check_base_url(url: str | None) -> str | None:
    """Return the address of a judge's server if it may be stored with results."""
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is not an http(s) address such as http://127.0.0.1:8000/v1")
        # Some servers take the key in the query.
        if parts.username or parts.password or SECRET_NAME.search(parts.query):
            raise ValueError("the address holds credentials; keys come from the environment only")
    return url


class JudgeChoice(Record):
    """The judge that a metric names: a model by the name that `--judge` takes, or a mapping with further settings.

    `temperature` and `base_url` are those of the command if they are None. A key is never part of a metric.
    """

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S+$")]
    temperature: Annotated[float, Field(ge=0, le=2)] | Literal["none"] | None = None
    base_url: Annotated[str | None, AfterValidator(check_base_url)] = None
    judge_options: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _read_name(cls, choice: object) -> object:
        return {"model": choice} if isinstance(choice, str) else choice

    @field_validator("judge_options")
    @classmethod
    def _check_options(cls, options: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if addresses := [name for name in options if ADDRESS_NAME.search(name)]:
            raise ValueError(f"{', '.join(addresses)}: the address of a server is named by base_url")
        return check_options(options)

    @model_serializer(mode="wrap")
    def _dump_brief(self, dump: SerializerFunctionWrapHandler) -> object:
        """Write a choice without further settings as the name of the model."""
        settings = {key: value for key, value in dump(self).items() if value not in (None, {})}
        return settings if len(settings) > 1 else self.model


def check_options(options: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the options of a judge's model if they may be stored with results."""
    if secret := [name for name in _iterate_names(options) if SECRET_NAME.search(name)]:
        raise ValueError(f"{', '.join(secret)}: secrets come from the environment only")
    return options


def _iterate_names(content: JsonValue) -> Iterator[str]:
    """Iterate over the names in JSON content, at any depth."""
    if isinstance(content, dict):
        yield from content
    for part in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _iterate_names(part)


def hide_secrets(url: str) -> str:
    """Return an address without user, password and a query that may hold a key.

    Example:
        >>> hide_secrets("http://ana:pw@h/v1?api-key=k")
        'http://[credentials]@h/v1?[hidden]'
    """
    head, mark, query = redact_credentials(url).partition("?")
    return f"{head}?[hidden]" if mark and SECRET_NAME.search(query) else f"{head}{mark}{query}"
