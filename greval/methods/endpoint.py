"""Endpoint files: the URL of a system under test, the request to send, and how to read the reply.

Example::

    url: https://rag.example.com/{tags.lang}/ask
    headers: {Authorization: "Bearer ${RAG_KEY}"}
    body: {query: "{question}", top_k: 5}
    timeout: 60
    response:
      answer: data.text
      chunks: data.hits
      chunks.id: ref
      chunks.text: passage
      usage.prompt_tokens: meta.tokens.in?
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from greval.errors import MethodError
from greval.methods.reply_mapping import ReplyMapping
from greval.methods.templates import check_fields, find_variables
from greval.metrics.files.faults import did_you_mean
from greval.metrics.files.yaml_reader import YamlSource, read_source
from greval.records.record import Record

DEFAULT_BODY: JsonValue = {"question": "{question}"}
SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|pass|credential", re.IGNORECASE)
"""Names of headers and variables that hold secrets."""
QUERY_SECRET = re.compile(r"[?&][^=&]*(key|token|secret|pass)[^=&]*=", re.IGNORECASE)


class Endpoint(Record):
    """An HTTP endpoint; see the module docstring. `timeout` is in seconds.

    Example:
        >>> Endpoint(url="http://127.0.0.1:8000/ask").body
        {'question': '{question}'}
    """

    url: Annotated[str, Field(min_length=1)]
    method: Literal["GET", "POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    body: JsonValue = DEFAULT_BODY
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    response: dict[str, str] = Field(default_factory=dict)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be an address such as https://rag.example.com/ask")
        if parts.username or "${" in url or QUERY_SECRET.search(url):
            raise ValueError('keys do not belong into an address, which logs show; send headers: X-Key: "${MY_KEY}"')
        return _check_text(url)

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if SECRET_NAME.search(name) and not find_variables(value):
                raise ValueError(f'{name}: keys come from the environment: "Bearer ${{MY_KEY}}"')
            if re.search(r"(?<![${])\{\w", value):
                raise ValueError(f"{name}: a header takes ${{NAME}} of the environment; put samples into url or body")
        return headers

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: JsonValue) -> JsonValue:
        return _check_texts(body)

    @model_validator(mode="after")
    def _check_response(self) -> Self:
        try:
            ReplyMapping(self.response)
        except MethodError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def secrets(self) -> set[str]:
        """The environment variables that hold secrets, by their names or by the headers that use them."""
        by_header = (find_variables(value) for name, value in self.headers.items() if SECRET_NAME.search(name))
        return {name for name in self.variables if SECRET_NAME.search(name)}.union(*by_header)

    @property
    def variables(self) -> set[str]:
        """The environment variables that the endpoint uses."""
        return find_variables([*self.headers.values(), self.body])

    @property
    def display_url(self) -> str:
        """The address for messages: without the query, and with unfilled placeholders."""
        return self.url.partition("?")[0]


def read_endpoint(path: Path) -> Endpoint:
    """Read an endpoint file, YAML or JSON.

    Raises:
        MethodError: If it cannot be read. All its faults are reported at once, each with its line.
    """
    try:
        source = read_source(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not UTF-8"
        raise MethodError(f"{path}: {why}; name a YAML or JSON file of an endpoint") from error
    faults = [(fault.line, str(fault).partition(": ")[2]) for fault in source.faults]
    if not faults:
        try:
            return Endpoint.model_validate(source.data)
        except ValidationError as error:
            found = error.errors(include_url=False)
            faults = [(_find_line(detail["loc"], source), _describe_fault(dict(detail))) for detail in found]
    raise MethodError("\n".join(f"{path}:{line}: {text}" for line, text in sorted(faults)))


def _find_line(place: tuple[str | int, ...], source: YamlSource) -> int:
    return next(source.lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in source.lines)


def _describe_fault(detail: dict[str, object]) -> str:
    """Describe what is wrong with a key."""
    place = detail["loc"]
    assert isinstance(place, tuple)  # noqa: S101 - guaranteed by pydantic
    kind, name = detail["type"], ".".join(map(str, place))
    if kind == "extra_forbidden":
        return f"{name}: is not known{did_you_mean(str(place[-1]), Endpoint.model_fields)}"
    text = str(detail["msg"])
    ours = text.removeprefix("Value error, ")
    told = "is missing; add it" if kind == "missing" else ours if ours != text else f"{text[:1].lower()}{text[1:]}"
    return f"{name}: {told}" if name else told


def _check_text(text: str) -> str:
    if faults := [*check_fields(text)]:
        raise ValueError("; ".join(faults))
    return text


def _check_texts(content: JsonValue) -> JsonValue:
    for value in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        _check_texts(value)
    return _check_text(content) if isinstance(content, str) else content
