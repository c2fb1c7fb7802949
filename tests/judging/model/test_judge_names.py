"""Names of judges: what is suggested for wrong ones, and the environment variables of providers."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.chat_models import base

from greval import Judge
from greval.errors import JudgeError, JudgeUnavailableError
from greval.judging.model.judge import check_judge
from greval.judging.model.judge_names import (
    MODEL_FAMILIES,
    PROVIDER_ALIASES,
    PROVIDER_VARIABLES,
    clean_key,
    complete_judge_name,
    format_key_hint,
    parse_judge_name,
    suggest_judge_name,
)

AZURE = ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("openai/gpt-4o", "openai:gpt-4o"),
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("gemini-2.5-pro", "google_genai:gemini-2.5-pro"),
        ("gpt-oss:20b", "ollama:gpt-oss:20b"),
        ("llama3:8b", "ollama:llama3:8b"),
        ("azure:gpt-4o", "azure_openai:gpt-4o"),
        ("azure-openai:gpt-4o", "azure_openai:gpt-4o"),
        ("Anthropic", "anthropic:MODEL"),
        ("anthropc:claude", "anthropic:claude"),
        ("openai:", "openai:MODEL"),
        ("nosuch", None),
        ("nosuch:model", None),
        ("meta-llama/Llama-3.1", None),
        ("", None),
    ],
)
def test_what_was_meant(wrong, meant):
    """Names of other tools, bare models and misspelt providers lead to a name that greval takes."""
    assert suggest_judge_name(wrong) == meant


@pytest.mark.parametrize(
    ("given", "base_url", "model"),
    [
        ("gpt-5.1", None, "openai:gpt-5.1"),
        (" o3-mini ", None, "openai:o3-mini"),
        ("claude-sonnet-4-5", None, "anthropic:claude-sonnet-4-5"),
        ("gpt-5.1", "http://127.0.0.1:1/v1", "openai:gpt-5.1"),
        ("Qwen/Qwen3-8B", "http://127.0.0.1:1/v1", "openai:Qwen/Qwen3-8B"),
        ("qwen3:8b", "http://127.0.0.1:1/v1", "openai:qwen3:8b"),
        ("local", None, "local"),
        ("local:small", None, "local:small"),
        ("groq:x", None, "groq:x"),
        ("openai/gpt-4o", None, "openai/gpt-4o"),
        ("qwen3:8b", None, "qwen3:8b"),
        ("nosuch", None, "nosuch"),
        ("openai", None, "openai"),
        ("openai:", None, "openai:"),
    ],
)
def test_a_bare_name_is_completed(monkeypatch, given, base_url, model):
    """A name of a known family, or any on a named server, has its provider; what is not sure stays as it is."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert complete_judge_name(given, base_url) == Judge(given, base_url=base_url).model == model


@pytest.mark.parametrize("model", ["opnai:gpt-4", "azure:gpt-4o", "nope:x"])
def test_an_unknown_provider_needs_no_extra(monkeypatch, model):
    """Without the package of the providers, a misspelt one is told all the same, not the package that is missing."""
    monkeypatch.setattr("greval.judging.model.judge.find_spec", lambda name: None)
    with pytest.raises(JudgeUnavailableError, match="knows no such provider") as refused:
        check_judge(Judge(model))
    meant = suggest_judge_name(model)
    assert (f"Did you mean {meant}?" if meant else "openai:MODEL with base_url") in str(refused.value)


KEYS = [
    "sk-abc-123456",
    " sk-abc-123456",
    "sk-abc-123456\r\n",
    '"sk-abc-123456"',
    "\ufeffsk-abc-123456\u00a0",
    "'sk-abc-123456' ",
]


@pytest.mark.parametrize("value", KEYS)
def test_what_is_around_a_key_is_no_part_of_it(monkeypatch, value):
    """Blanks, line breaks and quotation marks around the key of OpenAI are left out."""
    monkeypatch.setenv("OPENAI_API_KEY", value)
    assert clean_key("OPENAI_API_KEY") == "sk-abc-123456"


@pytest.mark.parametrize(
    ("value", "what"),
    [("sk-abc\n123456", "a line break"), ("sk-abc 123456", "a blank"), ("sk-äbc-123456", "a character")],
)
def test_a_broken_key_is_named_and_not_printed(monkeypatch, value, what):
    """A key with a blank or a line break inside is refused before any call, without its text."""
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(JudgeError, match=f"OPENAI_API_KEY: {what} at place") as refused:
        check_judge(Judge("openai:m"))
    assert "123456" not in str(refused.value)


def test_a_key_that_another_client_reads_is_named(monkeypatch):
    """A provider's own client reads its key itself, so that a line break after it is an error with its name."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-123456\n")
    with pytest.raises(JudgeError, match="ANTHROPIC_API_KEY: there are blanks, line breaks") as refused:
        check_judge(Judge("anthropic:claude"))
    assert "123456" not in str(refused.value)


@given(st.text(max_size=20))
def test_a_name_is_split_or_refused(text):
    """Any text has a provider and a model, or is refused in a sentence that suggests a name with both."""
    try:
        provider, model = parse_judge_name(text)
    except JudgeError as error:
        suggested = str(error).rpartition("such as ")[2].removesuffix(", or local")
        assert all(suggested.partition(":"))
    else:
        assert provider == "local" or (provider and model)


def test_the_tables_name_providers_of_langchain():
    """Each provider that is suggested or has variables is one that LangChain can build."""
    known_providers = {*base._BUILTIN_PROVIDERS}
    assert {*PROVIDER_VARIABLES, *PROVIDER_ALIASES.values(), *MODEL_FAMILIES.values()} <= known_providers


def test_the_key_of_a_provider():
    """The hint on a wrong key names the variable that the provider reads."""
    assert format_key_hint("mistralai:m") == "set MISTRAL_API_KEY to a valid key"
    assert format_key_hint("azure_openai:m") == "set AZURE_OPENAI_API_KEY to a valid key"
    assert format_key_hint("nosuch:m") == "set the key of nosuch in the environment"


@pytest.mark.parametrize("given", [(), AZURE[1:2], AZURE[:2]])
def test_all_missing_variables_are_named_at_once(monkeypatch, given):
    """A model of Azure that lacks its address, key or version names all that are missing, in one line."""
    for name in (*AZURE, "OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in given:
        monkeypatch.setenv(name, "https://example.org")
    with pytest.raises(JudgeError) as refused:
        check_judge(Judge("azure_openai:gpt-4o"))
    missing = ", ".join(name for name in AZURE if name not in given)
    assert str(refused.value) == f"judge 'azure_openai:gpt-4o': set {missing} in the environment"


def test_an_error_of_a_provider_is_one_line_without_secrets(monkeypatch):
    """What a provider raises while its model is built is told in one line, with keys left out."""

    class ProviderError(Exception):
        """An error that only this provider has."""

    def refuse(**_):
        raise ProviderError("the key very-private-word has expired")

    module = ModuleType("langchain_upstage")
    module.ChatUpstage = refuse
    monkeypatch.setitem(sys.modules, "langchain_upstage", module)
    monkeypatch.setenv("UPSTAGE_API_KEY", "very-private-word")
    with pytest.raises(JudgeUnavailableError) as refused:
        check_judge(Judge("upstage:small"))
    assert str(refused.value) == "judge 'upstage:small': ProviderError: the key [key] has expired"


def test_a_setting_that_a_provider_refuses_has_no_link(monkeypatch):
    """A validation error of a provider is told in its own words, without the frame of pydantic."""
    for name in AZURE:
        monkeypatch.setenv(name, "https://example.org")
    with pytest.raises(JudgeUnavailableError) as refused:
        check_judge(Judge("azure_openai:gpt-4o", options={"n": "many"}))
    assert "pydantic.dev" not in str(refused.value)
    assert str(refused.value).splitlines() == [str(refused.value)]
