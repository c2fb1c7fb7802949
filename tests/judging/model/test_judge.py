"""The judge: its settings, what they refuse, and the models that they name."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from types import ModuleType

import fault_server as fault
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from pydantic import ValidationError

from greval import load_metric
from greval.errors import JudgeError, JudgeUnavailableError, MissingExtraError
from greval.judging.model.answer_format import MAX_CACHED_MODELS
from greval.judging.model.judge import LOCAL_MAX_TOKENS, LOCAL_TIMEOUT, Judge, get_chat_model
from greval.records.metric import CategoricalMetric, ValueMetric
from greval.runs.runnable import compile_metric

URL = "http://127.0.0.1:9/v1"
METRIC = CategoricalMetric(name="m", description="d", needs=["answer"], steps=["s"], categories={"Yes": "y", "No": "n"})


@given(
    st.builds(
        Judge,
        st.sampled_from(["openai:a", "local", "local:b", "x:y:z"]),
        temperature=st.none() | st.floats(0, 2),
        timeout=st.floats(0.1, 1e6),
        base_url=st.none() | st.just(URL),
        max_tokens=st.none() | st.integers(1, 9),
        structured=st.sampled_from(["auto", "schema", "tools", "text"]),
        max_retries=st.integers(0, 20),
        options=st.dictionaries(st.sampled_from(["top_p", "user"]), st.booleans()),
    )
)
def test_settings_round_trip(judge):
    """Settings that are written as JSON are read back as the same judge."""
    assert Judge(**json.loads(judge.model_dump_json())) == judge
    assert Judge.model_validate_json(judge.model_dump_json()) == judge
    assert judge.label.startswith(judge.model)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model": ""}, "model"),
        ({"temperature": 3}, "temperature"),
        ({"timeout": 0}, "timeout"),
        ({"max_items": 0}, "max_items"),
        ({"max_retries": 99}, "max_retries"),
        ({"structured": "yaml"}, "structured"),
        ({"colour": "red"}, "colour"),
        ({"base_url": "127.0.0.1:8000"}, "not an http"),
        ({"base_url": "ftp://host/v1"}, "not an http"),
        ({"base_url": "http:///v1"}, "not an http"),
        ({"base_url": "http://me:hush@host/v1"}, "credentials"),
        ({"base_url": "http://host/v1?api_key=hush"}, "credentials"),
        ({"options": {"api_key": "hush"}}, "environment"),
        ({"options": {"client_secret": "hush"}}, "environment"),
        ({"options": {"default_headers": {"Authorization": "hush"}}}, "environment"),
        ({"options": {"extra": [{"auth_token": "hush"}]}}, "environment"),
    ],
)
def test_wrong_settings(settings, told):
    """A wrong setting is refused by name; a secret among them is refused and not repeated."""
    with pytest.raises(ValidationError, match=told) as error:
        Judge(**{"model": "openai:a", **settings})
    assert "hush" not in str(error.value)


def test_where_the_reason_stands_makes_another_judge():
    """The embedded model, and it alone, gives its value first by default; the setting decides if there is one."""
    assert Judge("openai:fake", reason="after").identity != Judge("openai:fake").identity
    assert Judge("openai:fake", reason="before").identity == Judge("openai:fake").identity
    assert Judge("local").identity == Judge("local", reason="after").identity
    assert "reason" not in Judge("local", reason="before").identity
    positions = [Judge(name).reason_position for name in ("local", "local:small", "openai:local", "locally:x")]
    assert positions == ["after", "after", "before", "before"]


def test_options_that_are_no_secrets():
    """Options that merely speak of tokens are options."""
    options = {"max_completion_tokens": 9, "logit_bias": {"7": 1}, "extra_body": {"cache_prompt": False}}
    assert Judge("openai:a", options=options).options == options


@pytest.mark.parametrize(
    ("model", "error", "told"),
    [
        ("nosuch", JudgeError, "write PROVIDER:MODEL, such as openai:nosuch"),
        ("gpt-5.4-mini", JudgeError, "'openai:gpt-5.4-mini': set OPENAI_API_KEY"),
        ("openai:", JudgeError, "write PROVIDER:MODEL"),
        ("openai:gpt-5.4-mini", JudgeError, "set OPENAI_API_KEY"),
        ("nowhere:model", JudgeUnavailableError, "nowhere:model"),
        ("cohere:command", (JudgeUnavailableError, MissingExtraError), "cohere"),
    ],
)
async def test_no_such_model(monkeypatch, model, error, told):
    """A name that means no model, and a missing key or package, are told with what to do."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(error, match=told):
        await get_chat_model(Judge(model))


@pytest.mark.parametrize(
    ("package", "model", "extra"),
    [("langchain_openai", "openai:fake", "openai"), ("langchain.chat_models", "ollama:small", "providers")],
)
async def test_package_that_is_missing(monkeypatch, package, model, extra):
    """A package that is not installed is named with the command that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'greval\[{extra}\]'"):
        await get_chat_model(Judge(model, base_url=f"{URL}/{extra}"))


async def test_other_providers(monkeypatch):
    """Other providers' models are made by LangChain's own table, with the settings that are set."""
    settings_sent = {}

    class ChatOllama(FakeListChatModel):
        def __init__(self, **settings):
            settings_sent.update(settings)
            super().__init__(responses=['{"reason": "r", "value": "Yes"}'])

    provider = ModuleType("langchain_ollama")
    provider.ChatOllama = ChatOllama
    monkeypatch.setitem(sys.modules, "langchain_ollama", provider)
    judge = Judge("ollama:small", base_url=URL, seed=3, structured="text", options={"keep_alive": 5})
    result = await compile_metric(METRIC, judge).ainvoke({"question": "q", "answer": "a"})
    assert (result.judgements[0].value, result.judge) == ("Yes", "ollama:small")
    expected_settings = {
        "model": "small",
        "temperature": 0.0,
        "timeout": 60.0,
        "base_url": URL,
        "seed": 3,
        "keep_alive": 5,
    }
    assert expected_settings.items() <= settings_sent.items()


async def test_own_server_needs_no_key(monkeypatch):
    """A server of one's own needs no key; settings reach the model, but for retries: they are made in one layer."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = await get_chat_model(Judge("openai:fake", base_url=URL, timeout=7, max_retries=1, seed=3))
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.request_timeout, model.max_retries, model.seed) == ("fake", 7, 0, 3)
    assert model.temperature == 0.0
    judge = Judge("openai:fake", base_url=URL, temperature=None)
    assert (await get_chat_model(judge)).temperature is None


def test_models_are_made_once():
    """The same settings give the same model within a loop; other settings another, and each loop its own."""
    judges = [Judge("openai:fake", base_url=URL, seed=seed) for seed in (0, 0, 1)]

    async def build_all():
        return await asyncio.gather(*map(get_chat_model, judges))

    (one, two, other), (later, *_) = asyncio.run(build_all()), asyncio.run(build_all())
    assert one is two
    assert len({id(model) for model in (one, other, later)}) == 3


AGREES = ValueMetric(name="m", description="d", needs=["answer"], steps=["s"], range=(0, 1), levels={0: "n", 1: "y"})
"""A metric that each answer of the fault server fits, streamed or not."""


class Settings:
    """Settings of any names, as the runtime's own are."""

    def __getattr__(self, name):
        self.__dict__[name] = Settings()
        return self.__dict__[name]


async def test_the_embedded_model_is_an_own_server(monkeypatch, tmp_path, fault_server):
    """`local` starts the runtime once and speaks to it as to any server, with its key, patience and bounds."""
    started = []

    class Server:
        def __init__(self, params):
            started.append(params)
            self.listening_address = fault_server.url.removesuffix("/v1")

    runtime = ModuleType("xllamacpp")
    runtime.CommonParams, runtime.Server = Settings, Server
    monkeypatch.setitem(sys.modules, "xllamacpp", runtime)
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF and more")
    judge = Judge(f"local:{path}", timeout=1)
    models = await asyncio.gather(*(get_chat_model(judge) for _ in range(3)))
    assert (len(started), len({id(model) for model in models})) == (1, 1)
    assert (models[0].model_name, models[0].request_timeout) == ("own", LOCAL_TIMEOUT)
    result = await compile_metric(METRIC, judge).ainvoke({"question": "q", "answer": "a"})
    (sent,) = fault_server.bodies
    assert (result.judgements[0].value, result.judge, result.tier) == ("Yes", f"local:{path}", "schema")
    assert sent["max_completion_tokens"] == LOCAL_MAX_TOKENS
    assert sent["response_format"]["json_schema"]["schema"]["properties"]["reason"]["maxLength"]
    assert fault_server.headers[0]["Authorization"] == f"Bearer {started[0].api_keys[0]}"


async def answered(runnable):
    return (await runnable.ainvoke({"question": "q", "answer": "a"})).judgements[0].value


@pytest.mark.parametrize("structured", ["schema", pytest.param("tools", marks=pytest.mark.nightly)])
def test_loops_that_ended_leave_nothing(fault_server, structured):
    """A program that starts loop after loop does not gather models, clients and connections."""
    runnable = compile_metric(METRIC, Judge("openai:fake", base_url=fault_server.url, structured=structured))
    assert {asyncio.run(answered(runnable)) for _ in range(2 * MAX_CACHED_MODELS)} == {"Yes"}
    gc.collect()
    models = [
        model for model in gc.get_objects() if type(model) is ChatOpenAI and model.openai_api_base == fault_server.url
    ]
    assert len(models) <= MAX_CACHED_MODELS


def test_the_embedded_model_is_told_by_its_own_name(monkeypatch):
    """What `local` stands for is part of the label and of what decides verdicts, so that another is judged anew."""
    monkeypatch.delenv("GREVAL_LOCAL_MODEL", raising=False)
    assert Judge("local").label == "local:qwen2.5-coder-1.5b"
    monkeypatch.setenv("GREVAL_LOCAL_MODEL", "/models/own.gguf")
    assert Judge("local").label == "local:own.gguf"
    assert Judge("local").identity["model"] == "local:own.gguf"
    assert Judge("local:smollm2-135m").label == "local:smollm2-135m"


def test_a_changed_key_takes_effect(fault_server, monkeypatch):
    """A key that is put right in the environment is used by the next call of the same process."""
    metric = load_metric("completeness")
    case = {"question": "Who?", "answer": "Ada."}
    for key in ("first-key", "second-key"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        compile_metric(metric, Judge("openai:fake", base_url=fault_server.url)).invoke(case)
    sent = [headers["Authorization"] for headers in fault_server.headers]
    assert sent == ["Bearer first-key", "Bearer second-key"]


@pytest.mark.parametrize(
    ("options", "is_sent"),
    [
        ({"extra_body": {"top_k": 1}}, lambda body, _: body["top_k"] == 1),
        ({"reasoning_effort": "low"}, lambda body, _: body["reasoning_effort"] == "low"),
        (
            {"headers": {"X-Team": "search"}},
            lambda _, headers: {**headers}.get("X-Team", headers.get("x-team")) == "search",
        ),
        (
            {"default_headers": {"X-Team": "search"}},
            lambda _, headers: {**headers}.get("X-Team", headers.get("x-team")) == "search",
        ),
        ({"streaming": True}, lambda body, _: body["stream"] is True),
    ],
    ids=["body", "effort", "headers", "headers of the model", "streaming"],
)
async def test_options_are_sent(options, is_sent):
    """Options of the model reach the server with each call, and make another judge."""
    async with fault.FaultServer(fault.streams() if "streaming" in options else fault.ok()) as server:
        judge = Judge("openai:m", base_url=server.url, options=options)
        assert (await compile_metric(AGREES, judge).ainvoke({"question": "Who?", "answer": "Ada."})).judgements
        assert is_sent(server.bodies[0], server.headers[0])
        assert judge.identity != Judge("openai:m", base_url=server.url).identity


def test_an_option_that_is_a_setting_is_refused():
    """A setting of the judge has one place, so that an option cannot contradict it."""
    with pytest.raises(ValidationError, match="temperature, seed: set it by itself"):
        Judge("openai:m", options={"temperature": 1, "seed": 3})


@pytest.mark.parametrize(
    ("setting", "value"), [("seed", True), ("max_tokens", "5"), ("temperature", "0"), ("confidence", "yes")]
)
def test_a_setting_of_another_type_is_refused_not_converted(setting, value):
    with pytest.raises(ValidationError, match=setting):
        Judge("openai:m", **{setting: value})
