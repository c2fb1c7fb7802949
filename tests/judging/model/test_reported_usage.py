"""What a provider reports of a reply's tokens and cost, in the words of each, is one usage."""

from __future__ import annotations

import fault_server as fault
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from tone_metrics import TONE, cases

from greval import Judge, evaluate
from greval.analysis.summary import build_report
from greval.judging.model.prices import Price, Prices
from greval.judging.model.reported_usage import ReportedUsage, estimate_unreported_usage, read_message_usage
from greval.judging.model.reported_usage import read_reported_usage as read
from greval.records.result import Usage
from greval.report.console import describe_estimates
from greval.runs.manifest import read_spending, read_usage
from greval.runs.store import Store

PRICE = Price(input=2, cached_input=0.5, output=10)
"""Dollars for a million tokens."""
BLOCKS = {
    "openai": (
        {
            "prompt_tokens": 1200,
            "completion_tokens": 340,
            "total_tokens": 1540,
            "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 256, "accepted_prediction_tokens": 0},
        },
        (1200 - 1024) * 2 + 1024 * 0.5 + 340 * 10,
    ),
    "openai responses": (
        {
            "input_tokens": 900,
            "input_tokens_details": {"cached_tokens": 100},
            "output_tokens": 80,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 980,
        },
        800 * 2 + 100 * 0.5 + 80 * 10,
    ),
    "xai": (
        {
            "prompt_tokens": 700,
            "completion_tokens": 30,
            "total_tokens": 2230,
            "prompt_tokens_details": {"text_tokens": 700, "cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 1500},
            "num_sources_used": 0,
        },
        636 * 2 + 64 * 0.5 + 1530 * 10,
    ),
    "gemini": (
        {
            "promptTokenCount": 400,
            "candidatesTokenCount": 25,
            "thoughtsTokenCount": 610,
            "toolUsePromptTokenCount": 50,
            "cachedContentTokenCount": 300,
            "totalTokenCount": 1085,
        },
        150 * 2 + 300 * 0.5 + 635 * 10,
    ),
    "gemini, as openai": (
        {"prompt_tokens": 400, "completion_tokens": 25, "total_tokens": 1035},
        400 * 2 + 635 * 10,
    ),
    "anthropic": (
        {
            "input_tokens": 40,
            "cache_creation_input_tokens": 500,
            "cache_read_input_tokens": 2000,
            "output_tokens": 90,
            "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": 500},
        },
        540 * 2 + 2000 * 0.5 + 90 * 10,
    ),
    "bedrock": (
        {
            "inputTokens": 40,
            "outputTokens": 90,
            "totalTokens": 2130,
            "cacheReadInputTokens": 2000,
            "cacheWriteInputTokens": 0,
        },
        40 * 2 + 2000 * 0.5 + 90 * 10,
    ),
    "deepseek": (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 300,
            "total_tokens": 1300,
            "prompt_cache_hit_tokens": 768,
            "prompt_cache_miss_tokens": 232,
            "completion_tokens_details": {"reasoning_tokens": 280},
        },
        232 * 2 + 768 * 0.5 + 300 * 10,
    ),
    "hits beside the prompt": (
        {
            "prompt_tokens": 232,
            "completion_tokens": 30,
            "total_tokens": 1030,
            "prompt_cache_hit_tokens": 768,
            "prompt_cache_miss_tokens": 232,
        },
        232 * 2 + 768 * 0.5 + 30 * 10,
    ),
    "thoughts without a total": (
        {"prompt_tokens": 50, "completion_tokens": 10, "reasoning_tokens": 200},
        50 * 2 + 210 * 10,
    ),
    "groq": (
        {"queue_time": 0.01, "prompt_tokens": 60, "prompt_time": 0.1, "completion_tokens": 12, "total_tokens": 72},
        60 * 2 + 12 * 10,
    ),
    "ollama": ({"prompt_eval_count": 80, "eval_count": 16, "eval_duration": 9}, 80 * 2 + 16 * 10),
    "the answer is in the total only": ({"prompt_tokens": 60, "total_tokens": 100}, 60 * 2 + 40 * 10),
    "openrouter": (
        {
            "prompt_tokens": 194,
            "completion_tokens": 20,
            "total_tokens": 214,
            "cost": 0.0123,
            "is_byok": False,
            "cost_details": {"upstream_inference_cost": 0.0123},
        },
        12_300,
    ),
    "openrouter, with the user's key": (
        {"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.001, "is_byok": True}
        | {"cost_details": {"upstream_inference_cost": 0.02}},
        21_000,
    ),
    "xai's cost": ({"prompt_tokens": 9, "completion_tokens": 2, "cost_in_usd_ticks": 37_756_000}, 3775.6),
    "perplexity": (
        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        | {
            "cost": {
                "input_tokens_cost": 0.001,
                "output_tokens_cost": 0.001,
                "request_cost": 0.005,
                "total_cost": 0.007,
            }
        },
        7_000,
    ),
}
"""Usage blocks in the form of each provider, and what they cost in millionths of a dollar, computed by hand."""


@pytest.mark.parametrize(("block", "millionths"), BLOCKS.values(), ids=BLOCKS)
def test_cost_of_each_provider(block, millionths):
    """Thoughts are output and cached tokens are cheaper input, whatever they are called and wherever they stand."""
    assert PRICE.cost(read(block).usage) * 1e6 == pytest.approx(millionths)


def test_costs_add_up_over_providers():
    """The cost of several replies is the sum of theirs."""
    blocks = [block for block, _ in BLOCKS.values() if read(block).usage.cost is None]
    total = sum((read(block).usage for block in blocks), Usage())
    assert PRICE.cost(total) * 1e6 == pytest.approx(sum(PRICE.cost(read(block).usage) * 1e6 for block in blocks))


@pytest.mark.parametrize(
    "block",
    [
        None,
        "none",
        {},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": -1, "completion_tokens": -1, "total_tokens": -2},
        {"prompt_tokens": None, "completion_tokens": None, "cost": 0},
        {"prompt_tokens": True, "completion_tokens": "many", "cost": float("nan")},
        {"total_tokens": 500},
    ],
)
def test_what_is_not_reported(block):
    """Counts of 0 or less, and what is no number, are no counts, so that nothing is free by them."""
    usage = read(block).usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.cost) == (1, None, None, None)
    assert PRICE.cost(usage) is None


@given(
    st.dictionaries(
        st.sampled_from([*{name for block, _ in BLOCKS.values() for name in block}, "details"]),
        st.none()
        | st.integers()
        | st.floats()
        | st.text(max_size=3)
        | st.dictionaries(st.text(max_size=3), st.integers()),
    )
)
def test_any_block_is_read(block):
    """Whatever a server sends, no count is negative, and all that a total holds is paid for."""
    usage, total = read(block)
    assert Usage.model_validate(usage.model_dump()) == usage
    if total and usage.input_tokens and usage.output_tokens:
        assert usage.input_tokens + usage.output_tokens >= total


def test_the_providers_own_block_goes_before_langchains():
    """LangChain drops what it has no name for; a message without the block is read by LangChain's counts."""
    counts = {"input_tokens": 700, "output_tokens": 30, "total_tokens": 730}
    told = AIMessage("{}", usage_metadata=counts, response_metadata={"token_usage": BLOCKS["xai"][0]})
    assert read_message_usage(told).usage.output_tokens == 1530
    plain = AIMessage("{}", usage_metadata=counts, response_metadata={"token_usage": {"prompt_tokens": 0}})
    assert read_message_usage(plain).usage == Usage(calls=1, input_tokens=700, output_tokens=30)


@pytest.mark.parametrize(
    ("reported", "tokens"),
    [
        (ReportedUsage(Usage(calls=1)), (100, 25)),
        (ReportedUsage(Usage(calls=1, input_tokens=70)), (70, 25)),
        (ReportedUsage(Usage(calls=1), total=900), (100, 800)),
        (ReportedUsage(Usage(calls=1), total=50), (100, 25)),
    ],
)
def test_estimates(reported, tokens):
    """What is not reported is estimated, and what a total leaves is output."""
    usage = estimate_unreported_usage(reported, 100, 25)
    assert (usage.input_tokens, usage.output_tokens) == tokens


@pytest.mark.parametrize(
    ("left", "right", "cost"),
    [
        (Usage(calls=1, output_tokens=1, cost=0.1), Usage(calls=1, output_tokens=1, cost=0.2), 0.3),
        (Usage(calls=1, output_tokens=1, cost=0.1), Usage(calls=1), 0.1),
        (Usage(calls=1, output_tokens=1, cost=0.1), Usage(calls=1, output_tokens=1), None),
        (Usage(), Usage(calls=1, output_tokens=1, cost=0.1), 0.1),
    ],
)
def test_a_stated_cost_is_that_of_all_calls(left, right, cost):
    """A sum in which a paid reply has no cost has none either, so that the table of prices counts for all of it."""
    assert (left + right).cost == (right + left).cost == (cost and pytest.approx(cost))


WITH_THOUGHTS = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 3500}
"""2,480 tokens are thoughts: 1,000 * 2 + 2,500 * 10 millionths of a dollar."""
POLITE = '{"reason": "r", "value": "Polite"}'


def run(server, folder, usage, **options):
    """Judge twenty cases by a server that reports this usage."""
    server.plan = fault.says(POLITE, usage=usage)
    table = Prices(models={"openai:m": PRICE}, as_of="2026-11-01", source="a test")
    judge = Judge("openai:m", base_url=server.url)
    return evaluate(cases(20), [TONE], judge, out=folder, prices=table, concurrency=4, **options)


def test_a_cap_counts_thoughts(fault_server, tmp_path):
    """A cap is passed by no more than what is in flight, also if most of the cost stands beside the usual counts."""
    judged = run(fault_server, tmp_path, WITH_THOUGHTS, max_cost=0.1)
    assert (judged.stopped, fault_server.calls) == (True, 3)
    assert judged.progress.cost == pytest.approx(3 * 0.027)
    assert "estimate" not in judged.why


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_a_cap_counts_an_estimate(fault_server, tmp_path, usage):
    """Without reported tokens a cap counts an estimate and says so; the report counts nothing and says that too."""
    judged = run(fault_server, tmp_path, usage, max_cost=0.01)
    assert judged.stopped
    assert 1 < fault_server.calls < 20
    assert "calls is an estimate, because the provider did not report their tokens" in judged.why
    assert 0 < judged.progress.cost <= 0.01
    with Store.open(tmp_path) as store:
        assert read_spending(store).estimated == fault_server.calls
        assert {usage.output_tokens for usage in read_usage(store).values()} == {None}
        told = [*describe_estimates(build_report(store))]
    unreported = f"the tokens of {fault_server.calls} calls, which are missing from this figure"
    assert told == [f"cost: the provider did not report {unreported}"]


def test_a_stated_cost_is_counted(fault_server, tmp_path):
    """What the provider states to have charged goes before the table, in caps and in the stored results."""
    judged = run(fault_server, tmp_path, {**WITH_THOUGHTS, "cost": 0.04}, max_cost=0.1)
    assert (judged.stopped, fault_server.calls) == (True, 2)
    with Store.open(tmp_path) as store:
        assert [usage.cost for usage in read_usage(store).values()] == [pytest.approx(0.08)]
