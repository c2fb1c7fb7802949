"""Where the calls of a chat model go, read off the model and its client as they were built, without secrets.

Integrations read addresses, organisations, regions and versions from the environment by themselves. What they made of
it decides who answers, and is part of the judge's identity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, PydanticUndefined, to_jsonable_python

from greval.records.judge_choice import SECRET_NAME, hide_secrets

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from pydantic.fields import FieldInfo

SERVER_FIELD = re.compile(
    r"(^|_)(api_base|base_url|api_url|url|host|endpoint|proxy|region|region_name|location|project|project_id|"
    r"organi[sz]ation|deployment|deployment_name|api_version|api_type|profile_name|headers|query)$"
)
"""Fields of a chat model that say where a call goes, by their names in the integrations of all providers."""
ANSWER_FIELD = re.compile(
    r"^(extra_body|model_kwargs|reasoning(_effort)?|thinking(_.*)?|effort|verbosity|service_tier|top_k|stop|stop_sequences"
    r"|frequency_penalty|presence_penalty|repeat_penalty|logit_bias|num_ctx|guardrails?(_config)?|safety_settings"
    r"|additional_model_request_fields)$"
)
"""Fields of a chat model that change what it answers, beside those of every model."""
CLIENT_FIELDS = ("root_async_client", "root_client", "_async_client", "async_client", "_client", "client")
"""Where integrations keep the client of the provider's own package."""
CLIENT_SETTINGS = ("organization", "project", "_api_version")
DEFAULT_HOSTS = frozenset(
    {
        *("api.openai.com", "api.anthropic.com", "api.groq.com", "api.mistral.ai", "api.deepseek.com", "api.x.ai"),
        *(
            "openrouter.ai",
            "api.together.xyz",
            "api.together.ai",
            "api.fireworks.ai",
            "api.cohere.com",
            "api.cohere.ai",
        ),
        *("generativelanguage.googleapis.com", "integrate.api.nvidia.com", "api.perplexity.ai", "api.upstage.ai"),
        *("router.huggingface.co", "api-inference.huggingface.co", "huggingface.co"),
        *("localhost:11434", "127.0.0.1:11434"),
    }
)
"""The servers that the integrations call if nothing names another."""


def describe_server(model: BaseChatModel) -> dict[str, JsonValue]:
    """Return the settings of a built chat model that decide which server answers, as far as they are no defaults."""
    settings = _describe_fields(model, SERVER_FIELD)
    for client in _iterate_clients(model):
        # A client of AWS has it.
        meta = getattr(client, "meta", None)
        address = _read_text(client, "base_url") or _read_text(meta, "endpoint_url")
        if address and not _is_default(address):
            settings.setdefault("address", hide_secrets(address))
        if region := _read_text(meta, "region_name"):
            settings.setdefault("region_name", region)
        for name in CLIENT_SETTINGS:
            if text := _read_text(client, name):
                settings.setdefault(name.strip("_"), text)
    addresses = {normalise_address(str(settings["address"]))} if "address" in settings else set()
    return {
        name: setting
        for name, setting in settings.items()
        if name == "address" or not isinstance(setting, str) or normalise_address(setting) not in addresses
    }


def describe_answer_settings(model: BaseChatModel) -> dict[str, JsonValue]:
    """Return the settings of a chat model that change what it answers, as far as they are no defaults."""
    return _describe_fields(model, ANSWER_FIELD)


def normalise_address(url: str) -> str:
    """Return an address in the form in which two are compared."""
    scheme, _, location = url.partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme.lower(), "")
    return f"{scheme.lower()}://{_get_host(url).removesuffix(port)}/{location.partition('/')[2].rstrip('/')}"


def _describe_fields(model: BaseChatModel, names: re.Pattern[str]) -> dict[str, JsonValue]:
    """Return the plain values of the fields of a model whose names match, if they differ from the default."""
    settings: dict[str, JsonValue] = {}
    for name, field in type(model).model_fields.items():
        if not names.search(name) or SECRET_NAME.search(name):
            continue
        value = getattr(model, name, None)
        if value in (None, "", _find_default(field)) or (isinstance(value, dict | list) and not value):
            continue
        plain = _to_plain(value)
        if plain is not None and not (isinstance(plain, str) and _is_default(plain)):
            settings[name] = plain
    return settings


def _find_default(field: FieldInfo) -> object:
    """Return the default of a field; of one that LangChain reads from the environment, that without the variable."""
    if field.default_factory is None:
        return None if field.default is PydanticUndefined else field.default
    # LangChain's factory is a closure over the name of the variable and the default.
    code, cells = getattr(field.default_factory, "__code__", None), getattr(field.default_factory, "__closure__", None)
    variables = dict(zip(code.co_freevars, cells, strict=True)) if code and cells else {}
    return variables["default"].cell_contents if {"default", "key"} <= variables.keys() else None


def _to_plain(setting: object) -> JsonValue:
    """Return a setting as JSON without secrets, None if it is another object."""
    if isinstance(setting, str):
        return hide_secrets(setting)
    try:
        plain: JsonValue = to_jsonable_python(setting)
    except PydanticSerializationError:
        return None
    return _drop_secrets(plain)


def _drop_secrets(content: JsonValue) -> JsonValue:
    if isinstance(content, dict):
        return {name: _drop_secrets(part) for name, part in content.items() if not SECRET_NAME.search(name)}
    return [_drop_secrets(part) for part in content] if isinstance(content, list) else content


def _iterate_clients(model: BaseChatModel) -> Iterator[object]:
    """Iterate over the clients of a model, and over those that clients without an address wrap."""
    for name in CLIENT_FIELDS:
        client = getattr(model, name, None)
        if client is not None:
            yield client
            # The connections below a client with an address are shared with other models, and keep the first one's.
            if (inner := getattr(client, "_client", None)) is not None and not _read_text(client, "base_url"):
                yield inner


def _read_text(part: object, name: str) -> str:
    """Return an attribute that is a text or an address, empty if it is something else."""
    attribute: Any = getattr(part, name, None)
    # Of httpx, which some packages ship under another name.
    is_address = type(attribute).__name__ == "URL"
    return str(attribute) if isinstance(attribute, str) or is_address else ""


def _is_default(address: str) -> bool:
    return _get_host(address) in DEFAULT_HOSTS


def _get_host(url: str) -> str:
    """Return host and port of an address, also of one whose credentials are replaced, which is no valid address."""
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
