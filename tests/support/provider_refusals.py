"""What providers and servers answer if they refuse a part of a request, as their documentation and users report it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import fault_server as fault

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


def report_fault(name: str, value: object) -> Body:
    """Build the body of an error in the form of pydantic, which repeats what was sent."""
    place = ["body", name]
    return {
        "detail": [{"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted", "input": value}]
    }


def answer_as_vllm(message: str, **more: Any) -> Body:
    return {"object": "error", "message": message, "type": "BadRequestError", **more, "code": 400}


def answer_as_gemini(message: str) -> list[Body]:
    return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]


BAD_REQUEST = 400
STATUSES = {"OpenRouter": 404, "llama.cpp": 500} | dict.fromkeys(
    ("Mistral", "Mistral, nested", "TGI", "TGI, temperature", "TGI, template"), 422
)
"""The statuses of the refusals that are no bad request."""
PASSED_ON = {
    "raw": '{"error": {"message": "`temperature` is deprecated for this model."}}',
    "provider_name": "Harbour",
}
BODIES: Sequence[tuple[Callable[[Body], bool], str, Mapping[str, Any]]] = (
    (
        sends_temperature,
        "temperature",
        {
            "OpenAI": say(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
                "supported.",
                param="temperature",
                code="unsupported_value",
            )
        },
    ),
    (
        sends_system,
        "system",
        {
            "OpenAI, system": say(
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                param="messages[0].role",
                code="unsupported_value",
            ),
            "Gemini, Gemma": answer_as_gemini("Developer instruction is not enabled for models/gemma-3-27b-it"),
            "Mistral, template": answer_as_vllm(
                "Conversation roles must alternate user/assistant/user/assistant/...", param=None
            ),
            "vLLM": answer_as_vllm("System role not supported", param=None),
            "vLLM, newer": {
                "error": {
                    "message": "Only user and assistant roles are supported!",
                    "type": "BadRequestError",
                    "code": 400,
                }
            },
            "TGI, template": {"error": "Template error: invalid operation: System role not supported (in <string>:1)"},
            "LM Studio": {
                "error": "Error rendering prompt with jinja template: 'Only user and assistant roles are supported!'"
            },
            "llama.cpp": {"error": {"code": 500, "message": "System role not supported", "type": "server_error"}},
        },
    ),
    (
        sends_temperature,
        "temperature",
        {
            "Azure, temperature": say(
                "Unsupported parameter: 'temperature' is not supported with this model.", code="unsupported_parameter"
            ),
            "xAI": {
                "code": "Client specified an invalid argument",
                "error": "Argument not supported on this model: temperature",
            },
            "OpenRouter, passed on": {
                "error": {"message": "Provider returned error", "code": 400, "metadata": PASSED_ON}
            },
            "TGI, temperature": {
                "error": "Input validation error: `temperature` must be strictly positive",
                "error_type": "validation",
            },
        },
    ),
    (
        sends_schema,
        "tools",
        {
            "OpenAI, schema": say(
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
                param="response_format",
            ),
            "Azure": say(
                "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
                code="BadRequest",
            ),
            "Gemini": answer_as_gemini(
                'Invalid JSON payload received. Unknown name "additionalProperties" at '
                "'generation_config.response_schema': Cannot find field."
            ),
            "DeepSeek": say("This response_format type is unavailable now", code="invalid_request_error"),
            "Groq": say(
                "This model does not support response format `json_schema`. See supported models at "
                "https://console.example.com/docs/structured-outputs#supported-models",
                param="response_format",
            ),
            "TGI": "Failed to deserialize the JSON body into the target type: response_format: unknown variant "
            "`json_schema`, expected one of `json`, `regex` at line 1 column 412",
            "LM Studio, schema": {"error": "The loaded model's runtime cannot use a grammar for response_format"},
        },
    ),
    (
        sends_tools,
        "text",
        {
            "Ollama": {
                "error": {
                    "message": "registry.example.com/library/gemma2:latest does not support tools",
                    "type": "api_error",
                }
            },
            "vLLM, tools": answer_as_vllm(
                '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            ),
        },
    ),
    (
        sends_structure,
        "tools text",
        {
            "DeepSeek, reasoner": say(
                "deepseek-reasoner does not support this tool_choice or response_format", code="invalid_request_error"
            ),
            "Groq, tools": say("`response_format` and `tool calling` are not supported with this model"),
            "OpenRouter": {
                "error": {"message": "No endpoints found that support response_format or tool use.", "code": 404}
            },
        },
    ),
    (
        sends_new_limit,
        "max_tokens",
        {
            "Azure, limit": say("Unrecognized request argument supplied: max_completion_tokens"),
            "Mistral": report_fault("max_completion_tokens", 300),
            "Mistral, nested": {
                "object": "error",
                "message": report_fault("max_completion_tokens", 300),
                "type": "invalid_request_error",
            },
        },
    ),
    (
        is_not_streamed,
        "streaming",
        {
            "DashScope": say(
                "This model only support stream mode, please enable the stream parameter to access the model."
            ),
            "DashScope, thinking": say("parameter.enable_thinking must be set to false for non-streaming calls"),
        },
    ),
)
"""The bodies of refusals by who refuses: what is refused, and the change after which it is asked."""
HTTP_REFUSALS = tuple(
    Refusal(provider, refuses, STATUSES.get(provider, BAD_REQUEST), body, change)
    for refuses, change, bodies in BODIES
    for provider, body in bodies.items()
)


def refuse(refusals: Sequence[Refusal]) -> Callable[[Body], fault.Behaviour]:
    """Answer well to each request that none of these refuses, as a stream if it is asked for."""

    def choose(body: Body) -> fault.Behaviour:
        for refusal in refusals:
            if refusal.refuses(body):
                return fault.answers_with(refusal.status, refusal.body)
        return fault.streams() if body.get("stream") else fault.ok()

    return choose
