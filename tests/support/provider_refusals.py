"""What providers and servers answer if they refuse a part of a request, as their documentation and users report it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """Return whether a request sets the temperature."""
    return body.get("temperature") not in (None, 1)


def sends_schema(body: Body) -> bool:
    """Return whether a request asks for a JSON schema."""
    return "response_format" in body


def sends_tools(body: Body) -> bool:
    """Return whether a request has tools."""
    return "tools" in body


def sends_structure(body: Body) -> bool:
    """Return whether a request asks for a structured answer in any way."""
    return sends_schema(body) or sends_tools(body)


def sends_system(body: Body) -> bool:
    """Return whether a request begins with a system message."""
    return body["messages"][0]["role"] in {"system", "developer"}


def is_not_streamed(body: Body) -> bool:
    """Return whether a request asks for an answer in one piece."""
    return not body.get("stream")


def sends_new_limit(body: Body) -> bool:
    """Return whether a request limits the answer under OpenAI's newer name."""
    return "max_completion_tokens" in body


def say(message: str, **more: Any) -> Body:
    """Build the body of an error in OpenAI's form."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


def report_fault(name: str, value: object) -> Body:
    """Build the body of an error in the form of pydantic, which repeats what was sent."""
    place = ["body", name]
    return {
        "detail": [{"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted", "input": value}]
    }


ROUTER = {"message": "Provider returned error", "code": 400}
HTTP_REFUSALS: Sequence[Refusal] = (
    Refusal(
        "OpenAI",
        sends_temperature,
        400,
        say(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
            "supported.",
            param="temperature",
            code="unsupported_value",
        ),
        "temperature",
    ),
    Refusal(
        "OpenAI, system",
        sends_system,
        400,
        say(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            param="messages[0].role",
            code="unsupported_value",
        ),
        "system",
    ),
    Refusal(
        "OpenAI, schema",
        sends_schema,
        400,
        say(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            param="response_format",
        ),
        "tools",
    ),
    Refusal(
        "Azure",
        sends_schema,
        400,
        say(
            "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
            code="BadRequest",
        ),
        "tools",
    ),
    Refusal(
        "Azure, limit",
        sends_new_limit,
        400,
        say("Unrecognized request argument supplied: max_completion_tokens"),
        "max_tokens",
    ),
    Refusal(
        "Azure, temperature",
        sends_temperature,
        400,
        say("Unsupported parameter: 'temperature' is not supported with this model.", code="unsupported_parameter"),
        "temperature",
    ),
    Refusal(
        "Gemini",
        sends_schema,
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "additionalProperties" at '
                    "'generation_config.response_schema': Cannot find field.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        "tools",
    ),
    Refusal(
        "Gemini, Gemma",
        sends_system,
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "Developer instruction is not enabled for models/gemma-3-27b-it",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        "system",
    ),
    Refusal(
        "DeepSeek",
        sends_schema,
        400,
        say("This response_format type is unavailable now", code="invalid_request_error"),
        "tools",
    ),
    Refusal(
        "DeepSeek, reasoner",
        sends_structure,
        400,
        say("deepseek-reasoner does not support this tool_choice or response_format", code="invalid_request_error"),
        "tools text",
    ),
    Refusal(
        "Groq",
        sends_schema,
        400,
        say(
            "This model does not support response format `json_schema`. See supported models at "
            "https://console.example.com/docs/structured-outputs#supported-models",
            param="response_format",
        ),
        "tools",
    ),
    Refusal(
        "Groq, tools",
        sends_structure,
        400,
        say("`response_format` and `tool calling` are not supported with this model"),
        "tools text",
    ),
    Refusal("Mistral", sends_new_limit, 422, report_fault("max_completion_tokens", 300), "max_tokens"),
    Refusal(
        "Mistral, nested",
        sends_new_limit,
        422,
        {"object": "error", "message": report_fault("max_completion_tokens", 300), "type": "invalid_request_error"},
        "max_tokens",
    ),
    Refusal(
        "Mistral, template",
        sends_system,
        400,
        {
            "object": "error",
            "message": "Conversation roles must alternate user/assistant/user/assistant/...",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        "system",
    ),
    Refusal(
        "xAI",
        sends_temperature,
        400,
        {"code": "Client specified an invalid argument", "error": "Argument not supported on this model: temperature"},
        "temperature",
    ),
    Refusal(
        "OpenRouter",
        sends_structure,
        404,
        {"error": {"message": "No endpoints found that support response_format or tool use.", "code": 404}},
        "tools text",
    ),
    Refusal(
        "OpenRouter, passed on",
        sends_temperature,
        400,
        {
            "error": {
                **ROUTER,
                "metadata": {
                    "raw": '{"error": {"message": "`temperature` is deprecated for this model."}}',
                    "provider_name": "Harbour",
                },
            }
        },
        "temperature",
    ),
    Refusal(
        "Ollama",
        sends_tools,
        400,
        {
            "error": {
                "message": "registry.example.com/library/gemma2:latest does not support tools",
                "type": "api_error",
            }
        },
        "text",
    ),
    Refusal(
        "vLLM",
        sends_system,
        400,
        {
            "object": "error",
            "message": "System role not supported",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        "system",
    ),
    Refusal(
        "vLLM, newer",
        sends_system,
        400,
        {"error": {"message": "Only user and assistant roles are supported!", "type": "BadRequestError", "code": 400}},
        "system",
    ),
    Refusal(
        "vLLM, tools",
        sends_tools,
        400,
        {
            "object": "error",
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "type": "BadRequestError",
            "code": 400,
        },
        "text",
    ),
    Refusal(
        "TGI",
        sends_schema,
        422,
        "Failed to deserialize the JSON body into the target type: response_format: unknown variant `json_schema`, "
        "expected one of `json`, `regex` at line 1 column 412",
        "tools",
    ),
    Refusal(
        "TGI, temperature",
        sends_temperature,
        422,
        {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"},
        "temperature",
    ),
    Refusal(
        "TGI, template",
        sends_system,
        422,
        {"error": "Template error: invalid operation: System role not supported (in <string>:1)"},
        "system",
    ),
    Refusal(
        "LM Studio",
        sends_system,
        400,
        {"error": "Error rendering prompt with jinja template: 'Only user and assistant roles are supported!'"},
        "system",
    ),
    Refusal(
        "LM Studio, schema",
        sends_schema,
        400,
        {"error": "The loaded model's runtime cannot use a grammar for response_format"},
        "tools",
    ),
    Refusal(
        "llama.cpp",
        sends_system,
        500,
        {"error": {"code": 500, "message": "System role not supported", "type": "server_error"}},
        "system",
    ),
    Refusal(
        "DashScope",
        is_not_streamed,
        400,
        say("This model only support stream mode, please enable the stream parameter to access the model."),
        "streaming",
    ),
    Refusal(
        "DashScope, thinking",
        is_not_streamed,
        400,
        say("parameter.enable_thinking must be set to false for non-streaming calls"),
        "streaming",
    ),
)


def refuse(refusals: Sequence[Refusal]) -> Callable[[Body], fault.Behaviour]:
    """Answer well to each request that none of these refuses, as a stream if it is asked for."""

    def choose(body: Body) -> fault.Behaviour:
        for refusal in refusals:
            if refusal.refuses(body):
                return fault.answers_with(refusal.status, refusal.body)
        return fault.streams() if body.get("stream") else fault.ok()

    return choose
