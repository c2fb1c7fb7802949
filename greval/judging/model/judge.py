"""The judge: the settings of the judging model, and the chat model that is built from them.

Models are built at first use and cached for each event loop, because the async clients of LangChain's models are
bound to the loop in which they were first used.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from greval.errors import JudgeError, JudgeUnavailableError, MissingExtraError
from greval.judging.answer_schema import ReasonPosition
from greval.judging.model.failures import redact_secrets
from greval.judging.model.judge_names import (
    KNOWN_PROVIDERS,
    LOCAL,
    check_keys,
    clean_key,
    complete_judge_name,
    list_environment_names,
    list_missing_variables,
    parse_judge_name,
    suggest_judge_name,
)
from greval.judging.model.openai_direct import DirectModel, is_usual
from greval.judging.model.rate_limit import RateLimiter, get_rate_limiter
from greval.judging.model.reply_limit import limit_response
from greval.judging.prompt import PromptStart
from greval.records.judge_choice import NO_TEMPERATURE, JudgeChoice, check_base_url, check_options, hide_secrets
from greval.records.record import Record

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.judging.local.serve import LocalServer

Structured = Literal["auto", "schema", "tools", "text"]
_LOG = logging.getLogger("greval")

LOCAL_TIMEOUT = 600.0
LOCAL_REASON_LENGTH = 160
LOCAL_MAX_TOKENS = 1024
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
NOT_IN_IDENTITY = {
    *("timeout", "max_retries", "requests_per_minute", "tokens_per_minute"),
    *("max_items", "item_tokens", "confidence"),
    # `LocalAnswers.settings` has the coefficients
    "calibration",
}
"""Settings that do not affect a verdict, or only those of some metrics, and are not part of the judge's identity."""

NO_JUDGE_MESSAGE = """\
No judge is named. Name one of:
  --judge openai:MODEL                 any OpenAI model; the key stands in OPENAI_API_KEY
  --judge openai:MODEL --base-url URL  any OpenAI-compatible server (vLLM, Ollama, llama.cpp)
  --judge local                        the small embedded model, for trying things out"""


class Judge(Record):
    """Settings of a judging model. They hold no secrets: keys are read from the environment.

    - `model` is `openai:NAME` (with `base_url` for any OpenAI-compatible server), `local` or `local:NAME` (the
      embedded model), or `PROVIDER:NAME` for any provider supported by `langchain`'s `init_chat_model`.
    - `temperature` None, or "none", leaves the temperature to the model.
    - `timeout` is the timeout of one call in seconds; a call is retried up to `max_retries` times.
    - `requests_per_minute` and `tokens_per_minute` are the provider's rate limits.
    - `structured` sets how structured answers are requested. With "auto", a judge that refuses a part of the request,
      such as a JSON schema, the default temperature or a system message, is asked without it.
    - `max_items` is the most items judged in one call, and `item_tokens` the most tokens of these items.
    - `confidence` requests log-probabilities.
    - `reason` sets whether the judge gives its reason before or after the value. If it is None, the embedded model
      gives it after the value, and every other model before. After the value, the embedded model's numbers are means
      over the values of the scale, weighted by their probabilities.
    - `calibration` calibrates the embedded model's choice of a value by cheap numbers of what it judges, for metrics
      for which this was fitted. Other models have none.
    - `prompt_start` sets what a prompt begins with: the metric, or the case, which several metrics share. A metric with
      examples always comes first.
    - `options` are passed to the model, such as `reasoning_effort`, `extra_body`, `headers` or `streaming`.

    Raises:
        pydantic.ValidationError: If a setting is invalid or holds a secret.

    Example:
        >>> Judge("openai:gpt-5.4-mini", timeout=30).label
        'openai:gpt-5.4-mini'
    """

    # Lax types would read `seed: yes` of a YAML file as 1.
    model_config = ConfigDict(hide_input_in_errors=True, strict=True)

    model: Annotated[str, Field(min_length=1)]
    temperature: Annotated[
        Annotated[float, Field(ge=0, le=2)] | None, BeforeValidator(lambda t: None if t == NO_TEMPERATURE else t)
    ] = 0.0
    timeout: Annotated[float, Field(gt=0)] = 60.0
    base_url: Annotated[str | None, AfterValidator(check_base_url)] = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    seed: int | None = None
    structured: Structured = "auto"
    max_retries: Annotated[int, Field(ge=0, le=20)] = 6
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = None
    max_items: Annotated[int, Field(gt=0)] | None = None
    item_tokens: Annotated[int, Field(gt=0)] = 8000
    confidence: bool = False
    reason: ReasonPosition | None = None
    calibration: bool = True
    prompt_start: PromptStart = "metric"
    options: dict[str, JsonValue] = Field(default_factory=dict)

    def __init__(self, model: str, **settings: Any) -> None:  # noqa: ANN401 - the fields above
        """Create settings from the model, by position, and the other settings, by keyword."""
        BaseModel.__init__(self, model=model, **settings)

    @model_validator(mode="before")
    @classmethod
    def _complete_name(cls, settings: Any) -> Any:  # noqa: ANN401 - what pydantic validates
        """Add the provider to a bare name of a model."""
        if not isinstance(settings, dict) or not isinstance(name := settings.get("model"), str):
            return settings
        url = settings.get("base_url")
        return {**settings, "model": complete_judge_name(name, url if isinstance(url, str) else None)}

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Reject secrets and settings of the judge, and read `headers` by the name that models have for it."""
        if misplaced := [name for name in options if name in cls.model_fields]:
            raise ValueError(f"{', '.join(misplaced)}: set it by itself, not as an option of the model")
        headers = {"default_headers": options["headers"]} if "headers" in options else {}
        return check_options({name: value for name, value in options.items() if name != "headers"} | headers)

    @property
    def label(self) -> str:
        """The name of the judge in results. For `local` it includes the name of the embedded model."""
        if self.model != LOCAL:
            return self.model
        from greval.judging.local.models import DEFAULT_MODEL
        from greval.judging.local.serve import MODEL_VARIABLE

        model_file = os.environ.get(MODEL_VARIABLE)
        return f"{LOCAL}:{Path(model_file).name if model_file else DEFAULT_MODEL}"

    @property
    def local(self) -> bool:
        """True if the judge is the embedded model."""
        return self.model.partition(":")[0] == LOCAL

    @property
    def reason_position(self) -> ReasonPosition:
        """The place of the reason in the judge's answer, before or after the value: `reason` or the model's default."""
        return self.reason or ("after" if self.local else "before")

    @property
    def identity(self) -> dict[str, JsonValue]:
        """The settings that affect the verdicts, as JSON, with the server's address.

        `JudgeClient.identity` adds what the environment makes of them. Timeouts, retries, rate limits, batch sizes and
        `confidence` are excluded.
        """
        settings = self.model_dump(mode="json", exclude={*NOT_IN_IDENTITY, "reason"}, exclude_defaults=True)
        if self.reason_position == "after":
            settings["reason"] = "after"
        url = self.base_url or (os.environ.get(URL_VARIABLE) if self.model.startswith("openai:") else None)
        return {**settings, "model": self.label, **({"base_url": hide_secrets(url)} if url else {})}


def read_judge(judge: Judge | BaseChatModel | str) -> Judge | BaseChatModel:
    """Return a judge; of a name such as `openai:gpt-5.4-mini`, the settings of this model."""
    if not isinstance(judge, str):
        return judge
    parse_judge_name(judge)
    return Judge(judge)


def build_chosen_judge(choice: JudgeChoice, settings: Judge | None = None) -> Judge:
    """Build the judge that a metric names, with the other settings of a run's judge, if it has one.

    A metric that names the model of the run's judge uses its server. Another model has its own `base_url` or that of
    the environment, and none of the `options`, because these belong to a model.
    """
    parse_judge_name(choice.model)
    model = complete_judge_name(choice.model, choice.base_url)
    own_settings: dict[str, Any] = {} if choice.temperature is None else {"temperature": choice.temperature}
    own_settings = {**own_settings, "temperature": None} if choice.temperature == NO_TEMPERATURE else own_settings
    if settings is None:
        return Judge(model, base_url=choice.base_url, options=choice.judge_options, **own_settings)
    if model == settings.model and choice.base_url in {None, settings.base_url}:
        return settings.model_copy(update={**own_settings, "options": {**settings.options, **choice.judge_options}})
    changed = {
        "model": model,
        "base_url": choice.base_url,
        "options": Judge(model, options=choice.judge_options).options,
    }
    return settings.model_copy(update={**changed, **own_settings})


async def get_chat_model(judge: Judge) -> BaseChatModel:
    """Return the chat model of a judge for the running event loop, created at first use."""
    model: BaseChatModel = await _keep_model(judge, direct=False)
    return model


async def get_calling_model(judge: Judge) -> BaseChatModel | DirectModel:
    """Return what the calls of a judge are made with: requests of greval's own, or the chat model if it has to be."""
    model: BaseChatModel | DirectModel = await _keep_model(judge, direct=is_direct(judge))
    return model


def is_direct(judge: Judge) -> bool:
    """Return whether greval sends the requests of a judge itself."""
    provider, _, name = judge.model.partition(":")
    if provider != LOCAL and not (provider == "openai" and name):
        return False
    url = None if provider == LOCAL else judge.base_url or os.environ.get(URL_VARIABLE)
    return is_usual("" if provider == LOCAL else name, url, judge.options)


async def _keep_model(judge: Judge, *, direct: bool) -> Any:  # noqa: ANN401 - a model of either kind
    """Return the model of a judge, the same object within an event loop."""
    models = _MODELS.setdefault(asyncio.get_running_loop(), {})
    environment = [os.environ.get(name) for name in list_environment_names(judge.model)]
    key = json.dumps([direct, judge.model_dump(mode="json"), environment], sort_keys=True)
    if key not in models:
        # Another call may have built the model meanwhile.
        models.setdefault(key, await (_build_direct_model(judge) if direct else _build_model(judge)))
    return models[key]


def check_judge(judge: Judge) -> None:
    """Raise an error if a judge cannot be used as configured. No call is made and the embedded model is not loaded."""
    provider, name = parse_judge_name(judge.model)
    if provider == LOCAL:
        from greval.judging.local.serve import check_model

        check_model(name or None)
    elif provider == "openai":
        _require_openai()
        _read_openai_key(judge)
    else:
        _build_provider_model(judge)


def build_described_model(judge: Judge) -> BaseChatModel | None:
    """Build a chat model to describe its settings, not to call it; None if it is embedded or cannot be built."""
    provider, _, name = judge.model.partition(":")
    try:
        if provider == "openai":
            from langchain_openai import ChatOpenAI

            # The client requires a key, and no call is made with it.
            return ChatOpenAI(model=name, api_key=SecretStr("none"), base_url=judge.base_url)
        return None if provider == LOCAL else _build_provider_model(judge)
    except Exception:  # noqa: BLE001 - each integration raises errors of its own
        return None


_MODELS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Any]] = WeakKeyDictionary()
_DESCRIBED: set[Path] = set()
_CLIENT_CLOSERS: WeakKeyDictionary[asyncio.AbstractEventLoop, list[AsyncGenerator[None]]] = WeakKeyDictionary()


async def _build_model(judge: Judge) -> BaseChatModel:
    provider, name = parse_judge_name(judge.model)
    if provider == LOCAL:
        return await _build_local_model(judge, name)
    if provider == "openai":
        return await _build_openai_model(judge, name, base_url=judge.base_url, key=_read_openai_key(judge))
    return _build_provider_model(judge)


async def _build_direct_model(judge: Judge) -> DirectModel:
    """Open the connection of a judge whose requests greval sends itself; it is closed with the running event loop."""
    _require_openai()
    patient, name, base_url = judge, judge.model.partition(":")[2], judge.base_url or os.environ.get(URL_VARIABLE)
    if judge.local:
        server, patient = await _start_local_server(judge, name)
        name, base_url, key = server.model, server.base_url, server.api_key
    else:
        key = _read_openai_key(judge)
    model = DirectModel(
        model_name=name,
        openai_api_base=base_url,
        openai_api_key=SecretStr(key),
        request_timeout=patient.timeout,
        temperature=patient.temperature,
        max_tokens=patient.max_tokens,
        seed=patient.seed,
        options=patient.options,
        load_model=partial(get_chat_model, judge),
    )
    if judge.local:
        _limit_local_calls(model)
    await _close_with_loop(model.close)
    return model


def _require_openai() -> None:
    """Raise `MissingExtraError` if the packages for servers of this kind are not installed."""
    if find_spec("langchain_openai") is None:
        raise MissingExtraError("openai", "langchain-openai")


async def _start_local_server(judge: Judge, name: str) -> tuple[LocalServer, Judge]:
    """Start the embedded model, once per process; return its server, and the judge with the limits of its calls."""
    from greval.judging.local.serve import describe, serve

    server = await asyncio.to_thread(serve, name or None)
    if server.path not in _DESCRIBED:
        _DESCRIBED.add(server.path)
        _LOG.warning("%s", describe(server))
    limits = {"timeout": max(judge.timeout, LOCAL_TIMEOUT), "max_tokens": judge.max_tokens or LOCAL_MAX_TOKENS}
    return server, judge.model_copy(update=limits)


async def _build_local_model(judge: Judge, name: str) -> BaseChatModel:
    """Build a chat model for the embedded model."""
    server, patient = await _start_local_server(judge, name)
    model = await _build_openai_model(patient, server.model, base_url=server.base_url, key=server.api_key)
    _limit_local_calls(model)
    return model


def _limit_local_calls(model: BaseChatModel | DirectModel) -> None:
    """Send one call at a time, as the server answers: the others wait here, and their wait is counted."""
    get_rate_limiter(model).max_in_flight = 1


async def _build_openai_model(judge: Judge, name: str, *, base_url: str | None, key: str) -> BaseChatModel:
    try:
        from langchain_openai import ChatOpenAI
    except ImportError as error:
        raise MissingExtraError("openai", "langchain-openai") from error
    settings = {
        "temperature": judge.temperature,
        "max_completion_tokens": judge.max_tokens,
        "seed": judge.seed,
        "base_url": base_url,
    }
    client = await _create_client(judge.timeout)
    try:
        model = ChatOpenAI(
            model=name,
            api_key=SecretStr(key),
            timeout=judge.timeout,
            # Retries are made in one layer, by the judge client.
            max_retries=0,
            http_async_client=client,
            **{setting: value for setting, value in settings.items() if value is not None},
            **judge.options,
        )
    except (ValidationError, ValueError) as error:
        raise _describe_build_error(judge.model, error) from error
    client.event_hooks = {"response": [partial(_observe_response, get_rate_limiter(model))]}
    return model


async def _observe_response(pace: RateLimiter, response: Any) -> None:  # noqa: ANN401 - a hook of httpx
    """Pass the headers of every response to the rate limiter, and limit what is read of it."""
    pace.read_headers(response.headers)
    limit_response(response)


async def _create_client(seconds: float) -> Any:  # noqa: ANN401 - a client of openai's own kind
    """Create a client with its own connection pool, which is closed when the running event loop shuts down."""
    from openai import DefaultAioHttpClient

    # The default transport becomes expensive with hundreds of calls in flight.
    # A request holds texts of cases: it goes to the address that was named and no other.
    client = DefaultAioHttpClient(timeout=seconds, follow_redirects=False)
    await _close_with_loop(client.aclose)
    return client


async def _close_with_loop(close: Callable[[], Awaitable[None]]) -> None:
    """Close the connections of a model when the running event loop shuts down."""
    loop = asyncio.get_running_loop()

    # The shutdown of async generators is the only hook at the end of a loop.
    async def close_with_loop() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            _MODELS.pop(loop, None)
            _CLIENT_CLOSERS.pop(loop, None)
            await close()

    keeper = close_with_loop()
    await anext(keeper)
    _CLIENT_CLOSERS.setdefault(loop, []).append(keeper)


def _read_openai_key(judge: Judge) -> str:
    """Read the key from the environment. It may be missing if a server is named by `base_url`."""
    key = clean_key(KEY_VARIABLE)
    if not key and judge.base_url is None and not os.environ.get(URL_VARIABLE):
        raise JudgeError(
            f"judge {judge.model!r}: set {KEY_VARIABLE}, or name a server of your own with base_url (--base-url)"
        )
    # A server of one's own may need no key, but the client does.
    return key or "none"


def _build_provider_model(judge: Judge) -> BaseChatModel:
    """Build a model of another provider with LangChain's `init_chat_model`."""
    provider = parse_judge_name(judge.model)[0]
    if provider not in KNOWN_PROVIDERS and find_spec("langchain") is None:
        raise _describe_unknown_provider(judge.model, sorted(KNOWN_PROVIDERS))
    check_keys(provider)
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise MissingExtraError("providers", "langchain") from error
    settings: Mapping[str, Any] = {
        "temperature": judge.temperature,
        "max_tokens": judge.max_tokens,
        "timeout": judge.timeout,
        "max_retries": 0,
        "seed": judge.seed,
        "base_url": judge.base_url,
        **judge.options,
    }
    try:
        model: BaseChatModel = init_chat_model(
            judge.model, **{name: value for name, value in settings.items() if value is not None}
        )
    except Exception as error:  # each provider raises errors of its own
        raise _describe_build_error(judge.model, error) from error
    return model


def _describe_build_error(model: str, error: Exception) -> JudgeError:
    """Return the error for a model that its provider could not build, with what to do in one line."""
    start = f"judge {model!r}: "
    if isinstance(error, ImportError):
        return JudgeUnavailableError(f"{start}{error}")
    supported = re.search(r"Supported providers: (.*)", str(error))
    if supported and isinstance(error, ValueError):
        return _describe_unknown_provider(model, supported[1].split(", "))
    if missing := list_missing_variables(model):
        return JudgeError(f"{start}set {', '.join(missing)} in the environment")
    faults = error.errors() if isinstance(error, ValidationError) else []
    reasons = [fault["msg"].removeprefix("Value error, ") for fault in faults] or [f"{type(error).__name__}: {error}"]
    return JudgeUnavailableError(f"{start}{redact_secrets('; '.join(reasons))}")


def _describe_unknown_provider(model: str, providers: Sequence[str]) -> JudgeUnavailableError:
    """Return the error for a provider that is not known, with the name that was probably meant."""
    meant = suggest_judge_name(model, providers)
    supported = f"Supported providers: {', '.join(providers)}; or openai:MODEL with --base-url URL"
    hint = f"Did you mean {meant}?" if meant else supported
    return JudgeUnavailableError(f"judge {model!r}: LangChain knows no such provider. {hint}")
