"""The tokens and the cost of a reply as its provider reports them, in the words of each provider, as one `Usage`.

Providers do not agree on what their counts include. Thoughts and cached tokens are part of the other counts or stand
beside them, and only the total shows which. A count of 0 or less is none: servers send it if they did not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from greval.records.result import Usage

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

INPUT_NAMES = (
    *("prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount", "inputTokens", "inputTokenCount"),
    *("prompt_eval_count", "num_prompt_tokens"),
)
OUTPUT_NAMES = (
    *("completion_tokens", "output_tokens", "candidates_token_count", "candidatesTokenCount", "outputTokens"),
    *("outputTokenCount", "eval_count", "generated_tokens", "num_generated_tokens"),
)
TOTAL_NAMES = ("total_tokens", "total_token_count", "totalTokenCount", "totalTokens")
ADDED_CACHE_NAMES = ("cache_read_input_tokens", "cacheReadInputTokens", "cacheReadInputTokenCount")
"""Cached tokens that `input_tokens` and `inputTokens` do not include: those of Anthropic and Bedrock."""
CACHED_NAMES = (
    *("cached_tokens", "cache_read", "prompt_cache_hit_tokens", "cached_content_token_count"),
    *("cachedContentTokenCount", "num_cached_tokens", "cached_input_tokens", "cache_hit_tokens", *ADDED_CACHE_NAMES),
)
INCLUSIVE_INPUT_NAME = "prompt_tokens"
"""If a block has this name, its input includes the cached tokens under any name."""
ADDED_WRITE_NAMES = ("cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWriteInputTokenCount")
CACHE_WRITE_NAMES = ("cache_creation", "cache_write_tokens", "cache_creation_tokens", *ADDED_WRITE_NAMES)
CACHE_MISS_NAMES = ("prompt_cache_miss_tokens",)
ADDED_THOUGHT_NAMES = ("thoughts_token_count", "thoughtsTokenCount")
"""Thoughts that the count of the answer never includes: those of Google."""
THOUGHT_NAMES = ("reasoning_tokens", "reasoning", "reasoning_token_count", *ADDED_THOUGHT_NAMES)
TOOL_PROMPT_NAMES = ("tool_use_prompt_token_count", "toolUsePromptTokenCount")
COST_NAMES = ("cost", "total_cost", "estimated_cost", "response_cost", "cost_usd")
TICKS_NAME = "cost_in_usd_ticks"
TICKS_PER_DOLLAR = 10_000_000_000
"""xAI reports the cost of a reply in ticks."""
UPSTREAM_COST_NAME = "upstream_inference_cost"
"""What OpenRouter's user pays to the provider, beside `cost`, if the key is the user's own."""
KEY_OF_USER = "is_byok"
MAX_COUNT, MAX_COST = 2**53, 1e9
"""What no reply takes or costs: a larger number, or one that is infinite, is a fault of the server."""
USAGE_PLACES = ("token_usage", "usage", "usage_metadata")
"""Where LangChain's integrations keep the provider's own usage block in `response_metadata`."""


class ReportedUsage(NamedTuple):
    """The usage of one reply, and the total of its tokens, which may be reported without its parts."""

    usage: Usage
    total: int | None = None


def read_reported_usage(block: object) -> ReportedUsage:
    """Read a provider's usage block.

    What the total holds beyond input and output is thoughts, cached tokens or both, whichever counts add up to it. If
    none do, it is output, which costs more.

    Example:
        >>> grok = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 30,
        ...         "completion_tokens_details": {"reasoning_tokens": 18}}
        >>> read_reported_usage(grok).usage.output_tokens
        20
        >>> read_reported_usage({"prompt_tokens": 0, "completion_tokens": -1}).usage
        Usage(calls=1, input_tokens=None, output_tokens=None, cached_tokens=None, hits=0, cost=None)
    """
    if not isinstance(block, Mapping):
        return ReportedUsage(Usage(calls=1))
    numbers = _read_numbers(block)
    counts = {name: int(number) for name, number in numbers.items() if 1 <= number < MAX_COUNT}
    read, written = _find_first(counts, INPUT_NAMES), _find_first(counts, OUTPUT_NAMES)
    total, cached = _find_first(counts, TOTAL_NAMES), _find_first(counts, CACHED_NAMES)
    thoughts = _find_first(counts, THOUGHT_NAMES)
    if beside := _count_input_beside(counts, read or 0, cached or 0, is_inclusive=INCLUSIVE_INPUT_NAME in numbers):
        read = (read or 0) + beside
    remainder = total - (read or 0) - (written or 0) if total and (read or written) else 0
    # The total tells the count that is missing.
    if remainder > 0 and not (read and written):
        read, written = read or remainder, written or remainder
    elif remainder > 0:
        into_input = _find_input_share(remainder, counts, cached, thoughts)
        read, written = (read or 0) + into_input, (written or 0) + remainder - into_input
    elif thoughts and written and (thoughts > written or (not total and _find_first(counts, ADDED_THOUGHT_NAMES))):
        # Thoughts of more tokens than the answer cannot be a part of it.
        written += thoughts
    # A count of 0 under one of these names says that nothing was cached.
    if cached is None and 0 in map(numbers.get, CACHED_NAMES):
        cached = 0
    return ReportedUsage(
        Usage(
            calls=1,
            input_tokens=read,
            output_tokens=written,
            cached_tokens=cached,
            cost=_find_cost(numbers, is_byok=block.get(KEY_OF_USER) is True),
        ),
        total,
    )


def read_message_usage(message: AIMessage) -> ReportedUsage:
    """Read the usage of a message of LangChain: the provider's own block if it is there, else LangChain's reading."""
    for key in USAGE_PLACES:
        reported = read_reported_usage(message.response_metadata.get(key))
        if reported.total or reported.usage.input_tokens or reported.usage.output_tokens:
            return reported
    return read_reported_usage(message.usage_metadata)


def estimate_unreported_usage(reported: ReportedUsage, input_tokens: int, output_tokens: int) -> Usage:
    """Return the usage with estimates for what was not reported; what the input leaves of a total is output."""
    usage = reported.usage
    read = usage.input_tokens or input_tokens
    written = usage.output_tokens or max(output_tokens, (reported.total or 0) - read)
    return usage.model_copy(update={"input_tokens": read, "output_tokens": written})


def _read_numbers(block: Mapping[str, object]) -> dict[str, float]:
    """Read the numbers of a block by their names; those of nested blocks are replaced by those beside them."""
    numbers: dict[str, float] = {}
    nested: dict[str, float] = {}
    for name, content in block.items():
        if isinstance(content, int | float | str) and not isinstance(content, bool):
            try:
                numbers[name] = float(content)
            # such as the name of a service tier, or a whole number of hundreds of digits
            except (ValueError, OverflowError):
                continue
        elif isinstance(content, Mapping):
            nested = _read_numbers(content) | nested
    return nested | numbers


def _find_first(counts: Mapping[str, int], names: Iterable[str]) -> int | None:
    return next(filter(None, map(counts.get, names)), None)


def _count_input_beside(counts: Mapping[str, int], read: int, cached: int, *, is_inclusive: bool) -> int:
    """Count the cached tokens that are surely not part of the input: by their names, or because they do not fit."""
    if not is_inclusive:
        added = sum(_find_first(counts, names) or 0 for names in (ADDED_CACHE_NAMES, ADDED_WRITE_NAMES))
        if added:
            return added
    missed = _find_first(counts, CACHE_MISS_NAMES)
    if missed:
        return max(missed + cached - read, 0)
    return cached if cached > read else 0


def _find_input_share(remainder: int, counts: Mapping[str, int], cached: int | None, thoughts: int | None) -> int:
    """Return how much of what the total holds beyond input and output is input, by the counts that add up to it."""
    written, tools = _find_first(counts, CACHE_WRITE_NAMES), _find_first(counts, TOOL_PROMPT_NAMES)
    parts = [(thoughts or 0, 0), *((count, count) for count in (cached, written, tools) if count)]
    # The fewest counts that add up to it.
    for size in range(1, len(parts) + 1):
        for chosen in combinations(parts, size):
            if sum(count for count, _ in chosen) == remainder:
                return sum(of_input for _, of_input in chosen)
    return 0


def _find_cost(numbers: Mapping[str, float], *, is_byok: bool) -> float | None:
    """Return the cost in US dollars that the provider states, None if it states none above 0."""
    ticks = numbers.get(TICKS_NAME, 0.0) / TICKS_PER_DOLLAR
    stated = (cost for name in COST_NAMES if (cost := numbers.get(name, 0.0)) > 0)
    upstream = numbers.get(UPSTREAM_COST_NAME, 0.0) if is_byok else 0.0
    cost = ticks if ticks > 0 else next(stated, 0.0) + upstream
    return cost if 0 < cost < MAX_COST else None
