"""The judge that a metric names for itself: a model, with the settings that belong to it."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from greval.records.record import Record

SECRET_NAME = re.compile(r"key|secret|password|authorization|credential|cookie|token\b", re.IGNORECASE)
"""Names of options that hold a secret, at any depth. Headers may hold keys; `max_tokens` does not match."""


class JudgeChoice(Record):
    """The judge that a metric names: a model by the name that `--judge` takes, or a mapping with further settings.

    `temperature` and `base_url` are those of the command if they are None. A key is never part of a metric.

    Example:
        >>> JudgeChoice.model_validate("openai:gpt-5.4-mini")
        JudgeChoice(model='openai:gpt-5.4-mini', temperature=None, base_url=None)
    """

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S+$")]
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    base_url: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_name(cls, given: object) -> object:
        """Read a choice that is given as the name of a model."""
        return {"model": given} if isinstance(given, str) else given

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        return check_base_url(url)

    @model_serializer(mode="wrap")
    def _dump_brief(self, dump: SerializerFunctionWrapHandler) -> object:
        """Write a choice without further settings as the name of the model."""
        settings = {key: value for key, value in dump(self).items() if value is not None}
        return settings if len(settings) > 1 else self.model


def check_base_url(url: str | None) -> str | None:
    """Return the address of a judge's server if it may be stored with results.

    Raises:
        ValueError: If it is no http(s) address, or holds credentials.

    Example:
        >>> check_base_url("http://127.0.0.1:8000/v1")
        'http://127.0.0.1:8000/v1'
    """
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is not an http(s) address such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or SECRET_NAME.search(parts.query):
            raise ValueError("the address holds credentials; keys come from the environment only")
    return url
