"""Who a judge is: the server that its built client calls is part of its identity, however it was named."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import fault_server as fault
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.utils import from_env
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models import _client_utils
from pydantic import Field, SecretStr
from tone_metrics import TONE, cases

from greval import Judge, evaluate
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge_names import SERVER_VARIABLES
from greval.judging.model.server_settings import describe_server
from greval.records.metric_input import compute_fingerprint

POLITE = '{"reason": "r", "value": "Polite"}'
URL, OTHER = "http://first.example/v1", "http://other.example/v1"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """Begin without any variable that names a server."""
    for name in {name for names in SERVER_VARIABLES.values() for name in names}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush-hush-hush")


def identify(judge):
    """Give the identity of a judge, as a new client has it."""
    return dict(JudgeClient(judge).identity)


@pytest.mark.parametrize(
    ("judge", "identity"),
    [
        (Judge("openai:m"), {"model": "openai:m"}),
        (Judge("openai:m", base_url=URL), {"model": "openai:m", "base_url": URL}),
        (
            Judge("openai:m", base_url="http://LOCALHOST:80/v1/"),
            {"model": "openai:m", "base_url": "http://LOCALHOST:80/v1/"},
        ),
        (Judge("openai:m", options={"organization": "o"}), {"model": "openai:m", "options": {"organization": "o"}}),
        (Judge("no_such_provider:m"), {"model": "no_such_provider:m"}),
        (
            ChatOpenAI(model="m", api_key="k", temperature=0.5),
            {"class": "ChatOpenAI", "model": "m", "model_name": "m", "temperature": 0.5},
        ),
        (
            ChatOpenAI(model="m", api_key="k", base_url=URL),
            {"class": "ChatOpenAI", "model": "m", "model_name": "m", "openai_api_base": URL},
        ),
    ],
)
def test_judges_without_such_a_variable_are_who_they_were(judge, identity):
    """Nothing is added to settings that name the server, so that what was judged before goes on without a call."""
    assert identify(judge) == identity


@pytest.mark.parametrize(
    ("judge", "fingerprint"),
    [
        (Judge("openai:m"), "5227efadfc458c06"),
        (Judge("openai:m", base_url="http://h/v1", options={"reasoning_effort": "low"}), "025c4236f9620415"),
        (ChatOpenAI(model="m", api_key="k", base_url="http://h/v1"), "eb5aa045665584b1"),
    ],
)
def test_fingerprints_are_those_of_earlier_versions(judge, fingerprint):
    """A run that was judged before judges could be described goes on without a call."""
    assert compute_fingerprint(TONE, JudgeClient(judge).identity) == fingerprint


@pytest.mark.parametrize("name", SERVER_VARIABLES["openai"])
def test_each_variable_of_openai_is_part_of_the_identity(name, monkeypatch):
    """A variable that sends calls elsewhere, or bills another, makes another judge, also of a model object."""
    plain = identify(Judge("openai:m"))
    identities = [plain]
    for value in (URL, OTHER):
        monkeypatch.setenv(name, value)
        identities.append(identify(Judge("openai:m")))
    assert len({str(identity) for identity in identities}) == 3
    model = ChatOpenAI(model="m")
    assert OTHER in str(identify(model))


def test_a_base_url_of_the_environment_is_named_as_before(monkeypatch):
    """`OPENAI_BASE_URL` gives the identity that `base_url` gives; where both names are set, the one that is obeyed."""
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    assert identify(Judge("openai:m")) == identify(Judge("openai:m", base_url=URL))
    monkeypatch.setenv("OPENAI_API_BASE", OTHER)
    assert identify(Judge("openai:m"))["base_url"].startswith(OTHER)
    assert identify(Judge("openai:m", base_url=URL))["base_url"] == URL


@pytest.fixture
def _first_model(monkeypatch):
    """Share no connections with models that were built before, as in a new process."""
    for kind in ("sync", "async"):
        build = getattr(_client_utils, f"_build_{kind}_httpx_client")
        monkeypatch.setattr(_client_utils, f"_cached_{kind}_httpx_client", lru_cache(build))


@pytest.mark.usefixtures("_first_model")
def test_an_address_that_is_no_longer_set_is_forgotten(monkeypatch):
    """LangChain shares the connections of models without an address; the server of an earlier one is not in them."""
    judge = Judge("openai:m", options={"organization": "forgetful"})
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    assert identify(judge)["base_url"].startswith(URL)
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert "base_url" not in identify(judge)


def test_secrets_of_addresses_are_no_part_of_it(monkeypatch):
    """Neither keys, nor the user and the password of an address, nor a key in its query are stored."""
    monkeypatch.setenv("OPENAI_API_BASE", "http://ana:hunter2@first.example/v1?api-key=hush")
    model = ChatOpenAI(model="m", default_headers={"Authorization": "Bearer hush", "X-Route": "a"})
    for judge in (Judge("openai:m"), model):
        text = str(identify(judge))
        assert "first.example" in text
        assert not any(secret in text for secret in ("hunter2", "hush"))
    assert identify(model)["default_headers"] == {"X-Route": "a"}


def test_azure():
    """A model object of Azure is known by its endpoint, its deployment and its version."""
    settings = {"api_key": SecretStr("hush"), "api_version": "2026-01-01"}
    one, two = (
        identify(AzureChatOpenAI(azure_endpoint=f"https://{name}.example", azure_deployment="d", **settings))
        for name in ("one", "two")
    )
    assert one != two
    assert (one["deployment_name"], one["openai_api_version"]) == ("d", "2026-01-01")
    assert "hush" not in str(one)


@pytest.mark.parametrize("name", ["extra_body", "reasoning_effort", "model_kwargs"])
def test_settings_of_a_model_object_that_change_its_answers(name):
    """What a model object sends with each call is part of who it is."""
    value = "low" if name == "reasoning_effort" else {"provider": {"order": ["a"]}}
    assert identify(ChatOpenAI(model="m", **{name: value})) == identify(ChatOpenAI(model="m")) | {name: value}


class HostModel(FakeListChatModel):
    """A model of some provider, whose address LangChain or its own client reads from the environment."""

    api_base: str = Field(default_factory=from_env("SOME_API_BASE", default="https://some.example/v1"))
    region_name: str | None = None
    some_api_key: SecretStr | None = None
    client: Any = None


def test_other_providers(monkeypatch):
    """The defaults of an integration are no setting; a variable, a region or an address of its client is one."""
    plain = HostModel(responses=["x"], some_api_key=SecretStr("hush"))
    assert describe_server(plain) == {}
    monkeypatch.setenv("SOME_API_BASE", URL)
    assert describe_server(HostModel(responses=["x"])) == {"api_base": URL}
    assert describe_server(HostModel(responses=["x"], region_name="eu-1"))["region_name"] == "eu-1"


@pytest.mark.parametrize(
    ("client", "found"),
    [
        (SimpleNamespace(_client=SimpleNamespace(base_url="http://gpu.example:11434")), "http://gpu.example:11434"),
        (SimpleNamespace(_client=SimpleNamespace(base_url="http://127.0.0.1:11434")), None),
        (
            SimpleNamespace(meta=SimpleNamespace(endpoint_url="https://vpc.example", region_name="eu-1")),
            "https://vpc.example",
        ),
        (SimpleNamespace(base_url=7), None),
    ],
)
def test_addresses_of_clients(client, found):
    """The address is read off the client of the provider's package, as Ollama's and AWS's keep it."""
    assert describe_server(HostModel(responses=["x"], client=client)).get("address") == found


def test_verdicts_of_another_server_are_not_taken_over(fault_server, tmp_path, monkeypatch):
    """A run that goes on with another server judges again; back at the first one it asks nothing."""
    fault_server.plan = fault.says(POLITE)
    address = fault_server.url
    calls = []
    for url in (address, address.replace("127.0.0.1", "localhost"), address):
        monkeypatch.setenv("OPENAI_API_BASE", url)
        evaluate(cases(3), [TONE], Judge("openai:m"), out=tmp_path / "run", cache=tmp_path / "replies.sqlite")
        calls.append(fault_server.calls)
    assert calls == [3, 6, 6]
