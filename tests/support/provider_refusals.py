"""What providers and servers answer if they refuse a part of a request, as their documentation and users report it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fault_server as fault
from ruamel.yaml import YAML

Body = dict[str, Any]


class Refusal(NamedTuple):
    """A refusal: who refuses what, the status and the body of the answer, and the change after which it is asked."""

    provider: str
    refuses: Callable[[Body], bool]
    status: int
    body: Any
    change: str


def sends_temperature(body: Body) -> bool:
    return body.get("temperature") not in (None, 1)


def sends_schema(body: Body) -> bool:
    return "response_format" in body


def sends_tools(body: Body) -> bool:
    return "tools" in body


def sends_structure(body: Body) -> bool:
    return sends_schema(body) or sends_tools(body)


def sends_system(body: Body) -> bool:
    return body["messages"][0]["role"] in {"system", "developer"}


def is_not_streamed(body: Body) -> bool:
    return not body.get("stream")


def sends_new_limit(body: Body) -> bool:
    return "max_completion_tokens" in body


def say(message: str, **more: Any) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


BAD_REQUEST = 400
STATUSES = {"OpenRouter": 404, "llama.cpp": 500} | dict.fromkeys(
    ("Mistral", "Mistral, nested", "TGI", "TGI, temperature", "TGI, template"), 422
)
"""The statuses of the refusals that are no bad request."""
CHECKS = {
    check.__name__: check
    for check in (
        sends_temperature, sends_schema, sends_tools, sends_structure, sends_system, is_not_streamed, sends_new_limit
    )
}  # fmt: skip
BODIES: Sequence[Mapping[str, Any]] = YAML(typ="safe").load(Path(__file__).with_suffix(".yaml"))
HTTP_REFUSALS = tuple(
    Refusal(provider, CHECKS[group["refuses"]], STATUSES.get(provider, BAD_REQUEST), body, group["change"])
    for group in BODIES
    for provider, body in group["bodies"].items()
)


def refuse(refusals: Sequence[Refusal]) -> Callable[[Body], fault.Behaviour]:
    """Answer well to each request that none of these refuses, as a stream if it is asked for."""

    def choose(body: Body) -> fault.Behaviour:
        for refusal in refusals:
            if refusal.refuses(body):
                return fault.answers_with(refusal.status, refusal.body)
        return fault.streams() if body.get("stream") else fault.ok()

    return choose
