"""An answer whose value is requested before its reason: what is sent, and the answer that is made of the parts."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from greval import Judge, load_metric
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.judging.model.value_first import LEAST_SHARE, REASON_START, VALUE_START, ValueFirst
from greval.judging.reply_json import compute_probability, compute_value_probabilities

PROBABILITIES = {"logprobs": True, "top_logprobs": 20}
HALF = math.log(0.5)


class Continuing:
    """A model that writes a value in tokens of a given length, each with probability one half, and then a reason."""

    def __init__(self, value, reason="It fits", size=2):
        self.text = VALUE_START + json.dumps(value, ensure_ascii=False) + REASON_START
        self.reason = reason
        self.size = size
        self.sent = []
        self.running = 0

    async def __call__(self, messages, arguments):
        """Continue the text of the last message, which is repeated."""
        self.running += 1
        await asyncio.sleep(0)
        assert self.running == 1, "the requests of two answers are mixed"
        self.running -= 1
        start = messages[-1].text
        self.sent.append((start, arguments))
        is_value = arguments.get("max_completion_tokens") == 1
        token = self.text[len(start) :][: self.size] if is_value else self.reason
        alternative = {"token": "\x00", "logprob": HALF}  # it begins no value
        tokens = [{"token": token, "logprob": HALF, "top_logprobs": [{"token": token, "logprob": HALF}, alternative]}]
        return AIMessage(
            start + token,
            response_metadata={
                "finish_reason": "length" if is_value else "stop",
                "logprobs": {"content": tokens} if "logprobs" in arguments else None,
            },
            usage_metadata={
                "input_tokens": 100 + len(start),
                "output_tokens": 1 if is_value else 5,
                "total_tokens": 105,
                "input_token_details": {"cache_read": 90 if is_value else 100},
            },
        )


def ask(values, model, probabilities=PROBABILITIES, length=160):
    """Ask for one of the values."""
    form = ValueFirst(tuple(values), length)
    return asyncio.run(form.ask(model, [HumanMessage("Judge.")], probabilities=probabilities, body={}))


@given(
    values=st.one_of(
        st.lists(st.text(st.characters(exclude_categories=["C"]), min_size=1), min_size=1, max_size=5, unique=True),
        st.lists(st.integers(-20, 120), min_size=1, max_size=5, unique=True),
    ),
    data=st.data(),
    size=st.integers(1, 7),
)
def test_any_value_is_found_by_any_tokens_with_its_probability(values, data, size):
    """The answer is JSON with the value; its probability is that of the tokens that were needed to tell it apart.

    The comma after 1, which tells it apart from 10, is no part of the value: confidence does not count it.
    """
    chosen = data.draw(st.sampled_from(values))
    model = Continuing(chosen, size=size)
    answer = ask(values, model)
    assert json.loads(answer.text) == {"value": chosen, "reason": "It fits."}
    tokens = answer.response_metadata["logprobs"]["content"] if len(values) > 1 else []
    assert "".join(token["token"] for token in tokens) in {answer.text, ""}
    length = len(json.dumps(chosen, ensure_ascii=False).removeprefix('"'))
    needed = len([place for place in range(len(model.sent) - 1) if place * size < length])
    if needed:
        assert compute_probability(tokens, ("value",)) == pytest.approx(0.5**needed)
        shares = compute_value_probabilities(tokens, ("value",), values)
        assert shares == {chosen: pytest.approx(0.5 ** (len(model.sent) - 1))}


class Weighing:
    """A model that writes each of its values with a given probability, one character at a time, the likeliest first."""

    def __init__(self, shares):
        self.texts = {VALUE_START + json.dumps(value) + REASON_START: share for value, share in shares.items()}
        self.sent = []

    async def __call__(self, messages, arguments):
        """Continue the text of the last message by one character, or by a reason."""
        start = messages[-1].text
        self.sent.append(start)
        if "max_completion_tokens" not in arguments:
            return AIMessage(f"{start}It fits")
        shares = {}
        for text, share in self.texts.items():
            if text.startswith(start):
                token = text[len(start)]
                shares[token] = shares.get(token, 0) + share
        logs = [{"token": token, "logprob": math.log(share / sum(shares.values()))} for token, share in shares.items()]
        best = max(logs, key=lambda log: log["logprob"])
        content = [{**best, "top_logprobs": logs}]
        return AIMessage(start + best["token"], response_metadata={"logprobs": {"content": content}})


@given(
    shares=st.dictionaries(
        st.one_of(st.integers(-20, 120), st.sampled_from([0.1, 0.2, 0.25, 0.5, 1.5])),
        st.integers(1, 40),
        min_size=2,
        max_size=6,
    )
)
def test_values_that_begin_alike_have_their_own_probabilities(shares):
    """Whatever is chosen, each likely value is found with its probability, such as 10 beside 9 or 0.5 beside 1."""
    model = Weighing(shares)
    answer = ask(shares, model)
    tokens = answer.response_metadata["logprobs"]["content"]
    weighed = compute_value_probabilities(tokens, ("value",), [*shares])
    likely = {value: share / sum(shares.values()) for value, share in shares.items()}
    assert weighed == pytest.approx({value: likely[value] for value in weighed})
    assert all(share < LEAST_SHARE for value, share in likely.items() if value not in weighed)


def test_a_number_that_is_written_digit_by_digit_is_not_its_first_digit():
    """A model that is undecided between 9 and 10 is not undecided between 9 and 1; one more request tells."""
    model = Weighing({9: 0.6, 10: 0.38, 1: 0.02})
    answer = ask([1, 9, 10], model)
    assert json.loads(answer.text)["value"] == 9
    weighed = compute_value_probabilities(answer.response_metadata["logprobs"]["content"], ("value",), [1, 9, 10])
    assert weighed == pytest.approx({9: 0.6, 10: 0.38, 1: 0.02})
    assert [start.removeprefix(VALUE_START) for start in model.sent] == ["", "1", f"9{REASON_START}"]


def test_each_request_continues_the_answer_and_only_the_value_has_probabilities():
    """The grammar allows what is left of each value, and the fixed text is not generated."""
    model = Continuing("Irrelevant")
    answer = ask(["Relevant", "Irrelevant"], model)
    (first, choosing), (second, explaining) = model.sent
    assert (first, second) == ('{\n  "value": "', '{\n  "value": "Irrelevant",\n  "reason": "')
    assert choosing == {
        "extra_body": {"grammar": r'root ::= "Relevant\",\n  \"reason\": \"" | "Irrelevant\",\n  \"reason\": \""'},
        "max_completion_tokens": 1,
        **PROBABILITIES,
    }
    assert explaining["stop"] == ['"']
    assert "logprobs" not in explaining
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.usage_metadata == {
        "input_tokens": 100 + len(second),
        "output_tokens": 6,
        "total_tokens": 106 + len(second),
        "input_token_details": {"cache_read": 90 - 1 - len(first) + 1},
    }


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("It fits", "It fits."),
        ("It fits! ", "It fits!"),
        ("It names another yea", "It names another…"),
        ("Itnamesanotheryear--", "Itnamesanotheryear--…"),
        ("", ""),
    ],
)
def test_a_reason_ends_as_a_sentence(reason, expected):
    """A reason with the greatest length was cut, at best after a whole word."""
    assert json.loads(ask([0, 1], Continuing(1, reason), length=20).text)["reason"] == expected


@pytest.mark.parametrize("written", ["maybe", ""])
def test_a_text_that_begins_no_value_is_the_whole_answer(written):
    """A server that ignores the grammar gives an unreadable answer, not a wrong verdict and not an endless loop."""
    model = Continuing(1, size=5)
    model.text = VALUE_START + written
    answer = ask([0, 1], model)
    assert answer.text == VALUE_START + written
    assert answer.response_metadata["finish_reason"] == "stop"
    assert len(model.sent) == 1


def test_without_probabilities_and_usage_none_are_made_up():
    """A server may report neither."""

    async def send(messages, arguments):
        return AIMessage(messages[-1].text + ("1" if "max_completion_tokens" in arguments else "It fits."))

    answer = ask([0, 1], send, probabilities={})
    assert json.loads(answer.text) == {"value": 1, "reason": "It fits."}
    assert (answer.response_metadata["logprobs"], answer.usage_metadata) == (None, None)


def test_tokens_without_alternatives_are_read():
    """A judge whose confidence alone is wanted gets log-probabilities without alternatives."""

    async def send(messages, arguments):
        text = "1" if "max_completion_tokens" in arguments else "It fits."
        content = [{"token": text, "logprob": HALF}]
        return AIMessage(messages[-1].text + text, response_metadata={"logprobs": {"content": content}})

    answer = ask([0, 1], send, probabilities={"logprobs": True})
    tokens = answer.response_metadata["logprobs"]["content"]
    assert compute_probability(tokens, ("value",)) == pytest.approx(0.5)
    assert compute_value_probabilities(tokens, ("value",), [0, 1]) is None


@pytest.mark.parametrize(
    ("judge", "metric", "is_apart"),
    [
        (Judge("local"), "correctness", True),
        (Judge("local"), "chunk_evaluation", True),
        (Judge("local"), "overall_preference", True),
        (Judge("local:smollm2-135m"), "correctness", True),
        (Judge("local:own.gguf"), "correctness", False),
        (Judge("local", reason="before"), "correctness", False),
        (Judge("local", structured="text"), "correctness", False),
        (Judge("local", max_items=5), "chunk_evaluation", False),
        (Judge("local"), "faithfulness", True),
        (Judge("openai:gpt-5.4-mini", reason="after"), "correctness", False),
    ],
)
def test_only_the_models_of_greval_are_asked_for_a_value_and_its_reason_apart(judge, metric, is_apart):
    """Other answers are requested as a whole. Both ways have fingerprints and cached replies of their own."""
    judging = MetricJudge(load_metric(metric), JudgeClient(judge))
    assert bool(judging.question.value_first) == is_apart
    assert ("answer" in judging.settings) == is_apart
    assert ('"value_first"' in judging.question.form) == is_apart


def test_detailed_reasons_are_not_requested_apart():
    """They may hold quotation marks and several sentences."""
    metric = load_metric("correctness").model_copy(update={"reason_depth": "detailed"})
    assert MetricJudge(metric, JudgeClient(Judge("local"))).question.value_first is None
