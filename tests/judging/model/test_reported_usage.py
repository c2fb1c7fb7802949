"""What a provider reports of a reply's tokens and cost, in the words of each, is one usage."""

from __future__ import annotations

import json
from pathlib import Path

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
ROWS = [json.loads(line) for line in Path(__file__).with_name("usage_blocks.jsonl").read_text("utf-8").splitlines()]
"""Usage blocks in the form of each provider, and what they cost in millionths of a dollar, computed by hand."""
BLOCKS = {row["provider"]: (row["block"], row["millionths"]) for row in ROWS}


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
        {"prompt_tokens": 10**400, "completion_tokens": "1e400"},
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
