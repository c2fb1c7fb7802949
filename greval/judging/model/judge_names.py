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


def parse_judge_name(model: str) -> tuple[str, str]:
    """Split the name of a judge into provider and model.

    Raises:
        JudgeError: If one of the two is missing. The message suggests the name that was probably meant.

    Example:
        >>> parse_judge_name("openai:gpt-5.4-mini")
        ('openai', 'gpt-5.4-mini')
    """
    provider, _, name = model.partition(":")
    if not provider or not (name or provider == LOCAL):
        given = model.strip(":")
        example = suggest_judge_name(given) or f"openai:{given or 'MODEL'}"
        raise JudgeError(f"judge {model!r}: write PROVIDER:MODEL, such as {example}, or local")
    return provider, name


def suggest_judge_name(model: str, providers: Collection[str] = ()) -> str | None:
    """Return the name of a judge that was probably meant by a wrong one, or None.

    Args:
        model: The wrong name.
        providers: Further providers that are known, without misspelt ones among them.

    Example:
        >>> suggest_judge_name("azure:gpt-4o"), suggest_judge_name("openai/gpt-4o"), suggest_judge_name("claude-x")
        ('azure_openai:gpt-4o', 'openai:gpt-4o', 'anthropic:claude-x')
    """
    head, *rest = re.split("[:/]", model, maxsplit=1)
    known = {*PROVIDER_VARIABLES, *PROVIDER_ALIASES, *providers}
    written = head.lower().replace("-", "_")
    if written not in known:
        family = next((provider for start, provider in MODEL_FAMILIES.items() if model.lower().startswith(start)), None)
        if family or not rest:
            return family and f"{family}:{model}"
        written = find_typo(written, known) or ""
    return f"{PROVIDER_ALIASES.get(written, written)}:{''.join(rest) or 'MODEL'}" if written else None


def format_key_hint(model: str) -> str:
    """Return which environment variable to set for the key of a judge.

    Example:
        >>> format_key_hint("azure_openai:gpt-4o")
        'set AZURE_OPENAI_API_KEY to a valid key'
        >>> format_key_hint("bedrock:m")
        'set the key of bedrock in the environment'
    """
    provider = model.partition(":")[0]
    keys = [name for name in PROVIDER_VARIABLES.get(provider, ()) if name.endswith(("_KEY", "_TOKEN"))]
    return f"set {keys[0]} to a valid key" if keys else f"set the key of {provider} in the environment"


def list_environment_names(model: str) -> tuple[str, ...]:
    """List the environment variables that a model of this provider is built from: its keys and its server.

    Example:
        >>> list_environment_names("ollama:llama3")
        ('OLLAMA_HOST',)
    """
    provider = model.partition(":")[0]
    keys = PROVIDER_VARIABLES.get(provider, ())
    if provider in SERVER_VARIABLES:
        return (*keys, *SERVER_VARIABLES[provider])
    return (*keys, *sorted(name for name in os.environ if SERVER_VARIABLE.search(name)))


def list_missing_variables(model: str) -> list[str]:
    """List the environment variables that the provider of a judge needs and that are not set."""
    names = PROVIDER_VARIABLES.get(model.partition(":")[0], ())
    return [name for name in names if not os.environ.get(name)]
