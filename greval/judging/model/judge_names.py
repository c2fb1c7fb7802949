"""Names of judges such as `openai:MODEL`: their parts, suggestions for wrong names, and the variables of providers."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from greval._util.wording import find_typo
from greval.errors import JudgeError

LOCAL = "local"
PROVIDER_VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "azure_openai": ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION"),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "cohere": ("COHERE_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google_genai": ("GOOGLE_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HUGGINGFACEHUB_API_TOKEN",),
    "mistralai": ("MISTRAL_API_KEY",),
    "nvidia": ("NVIDIA_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PPLX_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "upstage": ("UPSTAGE_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The environment variables that each provider needs, by its name for LangChain."""
SERVER_VARIABLES = {
    "openai": (
        *("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"),
        "OPENAI_PROXY",
    ),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_PROXY"),
    "ollama": ("OLLAMA_HOST",),
    LOCAL: (),
}
"""The environment variables by which a model of a provider reaches another server, if they are few."""
SERVER_VARIABLE = re.compile(
    r"_(BASE|BASE_URL|API_URL|URL|HOST|ENDPOINT|PROXY|REGION|LOCATION|PROJECT|PROJECT_ID|ORG_ID|ORGANIZATION|"
    r"DEPLOYMENT|VERSION|TYPE|PROFILE)$"
)
"""The names of such variables of all other providers."""
FURTHER_PROVIDERS = (
    *("anthropic_bedrock", "azure_ai", "baseten", "bedrock", "bedrock_converse", "bedrock_mantle_anthropic"),
    *("bedrock_mantle_openai", "google_anthropic_vertex", "google_vertexai", "ibm", "langsmith", "litellm", "meta"),
    "ollama",
)
"""Providers of LangChain that need no variable, or whose variables are not known here."""
PROVIDER_ALIASES = {
    "aws": "bedrock_converse",
    "azure": "azure_openai",
    "claude": "anthropic",
    "gemini": "google_genai",
    "google": "google_genai",
    "grok": "xai",
    "hf": "huggingface",
    "mistral": "mistralai",
    "ollama": "ollama",
    "vertex": "google_vertexai",
    "vertexai": "google_vertexai",
}
"""Names that people and other tools use for providers."""
MODEL_FAMILIES = {
    "gpt-oss": "ollama",
    "gpt": "openai",
    "chatgpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "command": "cohere",
    "deepseek": "deepseek",
    "gemini": "google_genai",
    "gemma": "ollama",
    "grok": "xai",
    "llama": "ollama",
    "mistral": "mistralai",
    "phi": "ollama",
    "qwen": "ollama",
    "sonar": "perplexity",
}
"""The provider of models whose name begins like this; the first that fits counts."""


KNOWN_PROVIDERS = frozenset({*PROVIDER_VARIABLES, *FURTHER_PROVIDERS})
"""The providers of LangChain, which are known without an installed package."""
_AROUND_KEYS = " \t\r\n\v\f\u00a0\u200b\ufeff"
"""Blanks that get around a key when it is copied."""


def parse_judge_name(model: str) -> tuple[str, str]:
    """Split the name of a judge into provider and model."""
    provider, sign, name = complete_judge_name(model).partition(":")
    if provider == LOCAL or (provider and name):
        return provider, name
    bare = model.strip(": ")
    example = suggest_judge_name(bare) or (f"{provider}:MODEL" if sign and provider else f"openai:{bare or 'MODEL'}")
    raise JudgeError(f"judge {model!r}: write PROVIDER:MODEL, such as {example}, or local")


def complete_judge_name(model: str, base_url: str | None = None) -> str:
    """Return the name of a judge with its provider.

    A bare name is that of a known family of models, or of a model on the OpenAI-compatible server at `base_url`, by
    default that of OPENAI_BASE_URL. Any other name is returned as it is.

    Example:
        >>> complete_judge_name("gpt-5.1"), complete_judge_name("claude-x"), complete_judge_name("local")
        ('openai:gpt-5.1', 'anthropic:claude-x', 'local')
        >>> complete_judge_name("qwen3:8b", base_url="http://localhost:11434/v1")
        'openai:qwen3:8b'
    """
    name = model.strip()
    provider, sign, bare_model = name.partition(":")
    if not name or provider in {LOCAL, *KNOWN_PROVIDERS} or (sign and not (provider and bare_model)):
        return name
    if base_url or (not sign and os.environ.get("OPENAI_BASE_URL")):
        return f"openai:{name}"
    family = None if sign or "/" in name else _find_family(name)
    return f"{family}:{name}" if family else name


def suggest_judge_name(model: str, providers: Collection[str] = ()) -> str | None:
    """Return the name of a judge that was probably meant by a wrong one, or None; `providers` are known, too."""
    head, *tail = re.split("[:/]", model, maxsplit=1)
    known_names = {*KNOWN_PROVIDERS, *PROVIDER_ALIASES, *providers}
    written = head.lower().replace("-", "_")
    if written not in known_names:
        family = _find_family(model)
        if family or not tail:
            return family and f"{family}:{model}"
        written = find_typo(written, known_names) or ""
    return f"{PROVIDER_ALIASES.get(written, written)}:{''.join(tail) or 'MODEL'}" if written else None


def _find_family(model: str) -> str | None:
    return next((provider for start, provider in MODEL_FAMILIES.items() if model.lower().startswith(start)), None)


def clean_key(name: str) -> str | None:
    r"""Return a key of the environment without blanks and quotation marks around it; None if it is not set."""
    value = os.environ.get(name)
    if value is None:
        return None
    key = value.strip(_AROUND_KEYS)
    if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'":
        key = key[1:-1].strip(_AROUND_KEYS)
    if wrong := next((n for n, letter in enumerate(key) if not "!" <= letter <= "~"), None):
        what = "a line break" if key[wrong] in "\r\n" else "a blank" if key[wrong].isspace() else "a character"
        raise JudgeError(f"{name}: {what} at place {wrong + 1} of {len(key)} cannot be part of a key; set it again")
    return key


def check_keys(provider: str) -> None:
    """Check the keys that a provider's own client reads from the environment."""
    for name in PROVIDER_VARIABLES.get(provider, ()):
        if name.endswith(("_KEY", "_TOKEN")) and clean_key(name) != os.environ.get(name):
            raise JudgeError(f"{name}: there are blanks, line breaks or quotation marks around the key; remove them")


def format_key_hint(model: str) -> str:
    """Return which environment variable to set for the key of a judge."""
    provider = model.partition(":")[0]
    keys = [name for name in PROVIDER_VARIABLES.get(provider, ()) if name.endswith(("_KEY", "_TOKEN"))]
    return f"set {keys[0]} to a valid key" if keys else f"set the key of {provider} in the environment"


def list_environment_names(model: str) -> tuple[str, ...]:
    """List the environment variables that a model of this provider is built from: its keys and its server."""
    provider = model.partition(":")[0]
    keys = PROVIDER_VARIABLES.get(provider, ())
    if provider in SERVER_VARIABLES:
        return (*keys, *SERVER_VARIABLES[provider])
    return (*keys, *sorted(name for name in os.environ if SERVER_VARIABLE.search(name)))


def list_missing_variables(model: str) -> list[str]:
    """List the environment variables that the provider of a judge needs and that are not set."""
    names = PROVIDER_VARIABLES.get(model.partition(":")[0], ())
    return [name for name in names if not os.environ.get(name)]
