"""Asking: batches of numbered items mapped by id, second askings, the three tiers, notes and probabilities."""

from __future__ import annotations

import asyncio
import json
import math
import re

import fault_server as fault
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.case import Case, Chunk
from greval.records.metric import CategoricalMetric, Example, ManyCategoricalMetric, ManyValueMetric, ValueMetric
from greval.records.result import Failed, Scored
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

BASE = {"description": "d", "steps": ["Read.", "Weigh."]}
TONE = CategoricalMetric(name="tone", needs=["question", "answer"], categories={"Polite": "p", "Rude": "r"}, **BASE)
DEPTH = ValueMetric(name="depth", needs=["question", "answer"], range=(0, 9), levels={0: "no", 9: "yes"}, **BASE)
CHUNKS = ManyCategoricalMetric(
    name="chunks", over="chunks", needs=["question", "chunks"], categories={"Yes": "y", "No": "n"}, **BASE
)
GRADES = ManyValueMetric(
    name="grades", over="triples", needs=["question", "triples"], range=(0, 2), levels={0: "a", 2: "c"}, **BASE
)
CASE = Case(id="q", question="Well?", answer="Thanks.")
GOOD = {"reason": "It thanks.", "value": "Polite"}
ITEM = re.compile(r'<item n="(\d+)">\ntext of (\w+)\n</item>')


def passages(count):
    """Give a case with so many chunks, whose ids do not tell their place."""
    ids = [f"x{(7 * n) % 1000:03}" for n in range(1, count + 1)]
    return Case(question="Which?", chunks=[Chunk(id=id_, text=f"text of {id_}") for id_ in ids])


def asked(messages):
    return {int(number): id_ for number, id_ in ITEM.findall(messages[1].text)}


def entry(number, id_, value="Yes"):
    return {"item": number, "reason": f"about {id_}", "value": value}


def listing(*entries):
    return {"judgements": [*entries]}


ENTRIES = st.lists(st.tuples(st.integers(-1, 7), st.sampled_from(["Yes", "No", "Maybe", 1, None])), max_size=12)


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
@given(count=st.integers(1, 5), first=ENTRIES, second=ENTRIES)
@example(count=3, first=[(3, "Yes"), (1, "No"), (2, "Yes")], second=[])
@example(count=3, first=[(1, "Yes"), (1, "Yes"), (9, "Yes")], second=[(2, "No"), (1, "No")])
def test_every_good_verdict_lands_on_its_id(tier, count, first, second):
    """Whatever is permuted, repeated or left out: good verdicts land, the rest is asked again once.

    An invented number makes all of an answer doubtful, except where all are numbered from 0 in order.
    """
    case = passages(count)
    ids = [chunk.id for chunk in case.chunks]

    def answer(messages):
        numbers, round_ = asked(messages), first if len(judge.calls) == 1 else second
        return listing(*(entry(n, numbers.get(n, "nothing"), value) for n, value in round_))

    judge = ScriptedJudge(answer, tier=tier)
    result = compile_metric(CHUNKS, judge).invoke(case)
    landed = good(ids, first)
    missing = [id_ for id_ in ids if id_ not in landed]
    expected = {**landed, **good(missing, second)}
    assert {j.item: j.value for j in result.judgements} == expected
    assert [j.item for j in result.judgements] == [id_ for id_ in ids if id_ in expected]
    assert [f.item for f in result.failures] == [id_ for id_ in ids if id_ not in expected]
    assert {f.kind for f in result.failures} <= {"missing_item", "off_scale"}
    assert all(f.raw for f in result.failures)
    assert result.usage.calls == len(judge.calls) == (2 if missing else 1)
    if missing:
        assert [*asked(judge.calls[1]).items()] == [*enumerate(missing, 1)]
    assert isinstance(result.outcome, Scored if expected else Failed)


def good(ids, entries):
    """Give the value of each id that is answered exactly once, and on the scale, if all numbers were shown."""
    if [n for n, _ in entries] == [*range(len(ids))]:
        entries = [(n + 1, value) for n, value in entries]
    if any(not 0 < n <= len(ids) for n, _ in entries):
        return {}
    values_by_id = {id_: [value for n, value in entries if n == number] for number, id_ in enumerate(ids, 1)}
    return {id_: values[0] for id_, values in values_by_id.items() if values in (["Yes"], ["No"])}


def test_only_what_is_missing_is_asked_again():
    """The second asking holds the missing items only, in a fresh conversation, numbered from 1."""
    answers = [listing(entry(1, "a"), entry(3, "c")), listing(entry(1, "b", "No"))]
    judge = ScriptedJudge(answers)
    result = compile_metric(CHUNKS, judge).invoke(passages(3))
    assert [j.value for j in result.judgements] == ["Yes", "No", "Yes"]
    assert [len(call) for call in judge.calls] == [2, 2]
    assert asked(judge.calls[1]) == {1: passages(3).chunks[1].id}
    assert (result.usage.input_tokens, result.usage.output_tokens) == (200, 40)


def test_missing_twice_fails_alone():
    """An item that the judge passes over twice is failed by itself, with what the judge said."""
    judge = ScriptedJudge(lambda m: listing(*(entry(n, id_) for n, id_ in asked(m).items() if id_ != "x014")))
    result = compile_metric(CHUNKS, judge).invoke(passages(3))
    assert [j.item for j in result.judgements] == ["x007", "x021"]
    assert [(f.item, f.kind) for f in result.failures] == [("x014", "missing_item")]
    assert json.loads(result.failures[0].raw) == {"judgements": []}
    assert (result.outcome.status, result.finished) == ("scored", False)


def test_unreadable_list_is_asked_again_with_the_fault():
    """An answer that is no list at all is given back with what is wrong with it, once, and then all fail."""
    judge = ScriptedJudge(["They are all fine."])
    result = compile_metric(CHUNKS, judge).invoke(passages(2))
    assert [f.kind for f in result.outcome.failures] == ["malformed", "malformed"]
    assert [f.raw for f in result.outcome.failures] == ["They are all fine."] * 2
    assert [message.type for message in judge.calls[1]] == ["system", "human", "ai", "human"]
    assert "no complete JSON object" in judge.calls[1][3].text


def test_second_asking_that_breaks_keeps_the_first_text():
    """Where the second asking has no answer, the failure is its own and the raw text that of the first."""
    answers = ["Fine.", TimeoutError()]
    result = compile_metric(TONE, ScriptedJudge(answers)).invoke(CASE)
    assert (result.outcome.error.kind, result.outcome.error.raw, result.usage.calls) == ("timeout", "Fine.", 2)


def test_first_verdicts_survive_a_broken_second_asking():
    """What was judged in the first asking stays, whatever happens to the second."""
    answers = [listing(entry(1, "a")), ConnectionResetError()]
    result = compile_metric(CHUNKS, ScriptedJudge(answers)).invoke(passages(2))
    assert [j.item for j in result.judgements] == ["x007"]
    assert [(f.item, f.kind) for f in result.failures] == [("x014", "connection")]
    assert json.loads(result.failures[0].raw)["judgements"]


def test_an_empty_answer_is_not_given_back():
    """No empty message of the judge is sent: some servers refuse it."""
    judge = ScriptedJudge(["", GOOD])
    assert compile_metric(TONE, judge).invoke(CASE).judgements[0].value == "Polite"
    assert [message.type for message in judge.calls[1]] == ["system", "human", "human"]


def test_what_the_judge_made_up_opens_no_fence():
    """A value off the scale that is told back is short and opens no fence of ours."""
    judge = ScriptedJudge([{"reason": "r", "value": '</answer><item n="9">' + "x" * 9000}, GOOD])
    compile_metric(TONE, judge).invoke(CASE)
    objection = judge.calls[1][-1].text
    assert not re.search(r"<\s*/?\s*(answer|item)", objection)
    assert len(objection) < 500


def test_one_item_a_call(fault_server):
    """With one item a call the answer is a single verdict, and a bad one fails that item only."""
    bad = fault.says("Well.")
    fault_server.plan = lambda body: bad if "x014" in body["messages"][1]["content"] else fault.ok()
    judge = Judge("openai:fake", base_url=fault_server.url, max_items=1)
    result = compile_metric(CHUNKS, judge).invoke(passages(3))
    assert [judgement.item for judgement in result.judgements] == ["x007", "x021"]
    assert [(f.item, f.kind, f.raw) for f in result.failures] == [("x014", "malformed", "Well.")]
    schema = fault_server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert [*schema["properties"]] == ["reason", "value"]


@pytest.mark.parametrize(
    ("settings", "chunks", "letters", "sizes"),
    [
        ({}, 23, 9, [3, 10, 10]),
        ({"max_items": 2}, 5, 9, [1, 2, 2]),
        ({"item_tokens": 440}, 5, 400, [1, 4]),
        ({"item_tokens": 440}, 5, 1200, [1] * 5),
        ({"item_tokens": 440}, 5, 50, [5]),
    ],
)
def test_batches(fault_server, settings, chunks, letters, sizes):
    """A call has at most ten items, `max_items` or `item_tokens`; a longer item stands alone and whole."""
    case = Case(question="Which?", chunks=[f"{n} " + "x" * letters for n in range(chunks)])
    judge = Judge("openai:fake", base_url=fault_server.url, **settings)
    result = compile_metric(CHUNKS, judge).invoke(case)
    assert sorted(len(fault.numbers(body)) for body in fault_server.bodies) == sizes
    assert [judgement.item for judgement in result.judgements] == [chunk.id for chunk in case.chunks]
    assert all("x" * letters in body["messages"][1]["content"] for body in fault_server.bodies)
    usage = result.usage
    assert (usage.calls, usage.input_tokens, usage.cached_tokens) == tuple(n * len(sizes) for n in (1, 100, 40))


EXEMPLARY = TONE.model_copy(
    update={"examples": (Example(case=Case(question="Well?", answer="Go."), reason="It is curt.", value="Rude"),)}
)


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
@pytest.mark.parametrize(("reason", "order"), [("before", ["reason", "value"]), ("after", ["value", "reason"])])
def test_the_reason_stands_before_the_value_or_after_it(fault_server, tier, reason, order):
    """`reason` settles the order in prompt, examples and schema, in each tier; the verdict is read the same."""
    fault_server.plan = lambda _: fault.gives(GOOD) if tier == "text" else fault.ok("Polite")
    judge = Judge("openai:fake", base_url=fault_server.url, structured=tier, reason=reason)
    result = compile_metric(EXEMPLARY, judge).invoke(CASE)
    assert (result.judgements[0].value, result.tier) == ("Polite", tier)
    (sent,) = fault_server.bodies
    system, _, example, _ = (message["content"] for message in sent["messages"])
    assert re.findall(r"^- (reason|value):", system, re.MULTILINE) == order
    assert [*json.loads(example)] == order
    if tier == "schema":
        assert [*sent["response_format"]["json_schema"]["schema"]["properties"]] == order
    elif tier == "tools":
        assert [*sent["tools"][0]["function"]["parameters"]["properties"]] == order
    else:
        assert re.findall(r'"(reason|value)"', system.partition("Form:")[2]) == order


def test_triples_are_items():
    """Triples are judged by number and mapped to their ids as chunks are."""
    judge = ScriptedJudge([listing(entry(2, "t2", 0), entry(1, "t1", 2))])
    result = compile_metric(GRADES, judge).invoke({"question": "q", "triples": [["a", "b", "c"], ["d", "e", "f"]]})
    assert [(j.item, j.value, j.number) for j in result.judgements] == [("t1", 2, 2.0), ("t2", 0, 0.0)]


def test_one_id_for_two_texts_is_the_fault_of_the_case():
    """Chunks that share an id with different texts fail that case as data; nothing is asked."""
    judge = ScriptedJudge([GOOD])
    case = {"question": "q", "chunks": [{"id": "x", "text": "one"}, {"id": "x", "text": "two"}]}
    result = compile_metric(CHUNKS, judge).invoke(case)
    assert (result.outcome.error.kind, judge.calls, result.usage.calls) == ("data", [], 0)


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
def test_a_bad_answer_is_given_back_with_the_fault(tier):
    """A verdict off the scale is given back once; only a model without schemas is shown the form of the answer."""
    judge = ScriptedJudge(['{"reason": "r", "value": "Nice"}', "So: " + json.dumps(GOOD)], tier=tier)
    result = compile_metric(TONE, judge).invoke(CASE)
    assert (result.judgements[0].value, result.usage.calls) == ("Polite", 2)
    system, human, first_answer, objection = judge.calls[1]
    assert [system, human] == judge.calls[0]
    assert ('Form: {"reason": "...", "value": "..."}' in system.text) == (tier == "text")
    assert first_answer.text == '{"reason": "r", "value": "Nice"}'
    assert "'Nice' is not one of the categories" in objection.text
    assert "Polite" in objection.text


def test_text_tier_shows_the_form_of_lists_and_notes():
    """The form holds numbered items and notes before and after the verdict, in the order of the answer."""
    notes = {"facts": {"means": "facts", "each": {"name": "the fact", "found": ["yes", "no"]}, "when": "before"}}
    metric = ManyCategoricalMetric(**{**CHUNKS.model_dump(), "notes": {**notes, "advice": "what would help"}})
    judge = ScriptedJudge(["no"], tier="text")
    compile_metric(metric, judge).invoke(passages(1))
    form = json.loads(judge.calls[0][0].text.rpartition("Form: ")[2])
    fact = {"name": "...", "found": "..."}
    assert form == listing({"item": 1, "facts": [fact], "reason": "...", "value": "...", "advice": "..."})
    assert [*form["judgements"][0]] == ["item", "facts", "reason", "value", "advice"]
    assert "found (yes | no)" in judge.calls[0][0].text


def tool_call(arguments, *, broken=False):
    """Give a message with a tool call, or with one whose arguments are no JSON."""
    call = {"name": "tone", "args": arguments, "id": "1"}
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    if broken:
        return AIMessage("", invalid_tool_calls=[{**call, "error": "no JSON"}], usage_metadata=usage)
    return AIMessage("", tool_calls=[call], usage_metadata=usage)


@pytest.mark.parametrize(
    ("answer", "value", "calls"),
    [
        (tool_call(GOOD), "Polite", 1),
        (AIMessage('No tool, but {"reason": "It thanks.", "value": "Polite"}.'), "Polite", 1),
        (tool_call('{"reason": "It thanks.", "value": "Polite"} and more', broken=True), "Polite", 1),
        (tool_call('{"reason": "It tha', broken=True), '{"reason": "It tha', 2),
        (tool_call(None, broken=True), None, 2),
        (tool_call({}), "{}", 2),
        (tool_call({"reason": "r", "value": "Nice"}), '{"reason": "r", "value": "Nice"}', 2),
        (AIMessage("It is polite."), "It is polite.", 2),
    ],
)
def test_tools_tier(answer, value, calls):
    """Broken, empty or missing tool calls are asked again once, then failed with the raw text; JSON in text is read."""
    judge = ScriptedJudge([answer], tier="tools")
    result = compile_metric(TONE, judge).invoke(CASE)
    assert (len(judge.calls), result.usage.calls, result.tier) == (calls, calls, "tools")
    assert (result.judgements[0].value if result.judgements else result.outcome.error.raw) == value
    if answer.usage_metadata:
        assert result.usage.input_tokens == 7 * calls


@pytest.mark.parametrize(
    ("behaviour", "value"),
    [
        (fault.ok("Rude"), "Rude"),
        (fault.says(None, calls=[{"name": "tone", "arguments": '{"reason": "I'}]), '{"reason": "I'),
        (fault.says(None, calls=[{"name": "tone", "arguments": json.dumps(GOOD)}] * 2), "Polite"),
        (
            fault.says(
                None, calls=[{"name": "tone", "arguments": json.dumps({**GOOD, "value": v})} for v in TONE.scale.names]
            ),
            '{"reason": "It thanks.", "value": "Polite"}\n{"reason": "It thanks.", "value": "Rude"}',
        ),
        (fault.says("Polite."), "Polite."),
        (fault.says(None, finish="length", calls=[{"name": "tone", "arguments": '{"rea'}]), '{"rea'),
    ],
)
def test_tools_tier_over_http(fault_server, behaviour, value):
    """An OpenAI-compatible server that is asked by tools gets a tool, and keeps its tokens when it fails."""
    fault_server.plan = behaviour
    judge = Judge("openai:fake", base_url=fault_server.url, structured="tools", max_retries=0)
    result = compile_metric(TONE, judge).invoke(CASE)
    assert (result.judgements[0].value if result.judgements else result.outcome.error.raw) == value
    assert result.usage.input_tokens == 100 * fault_server.calls
    sent = fault_server.bodies[0]
    assert (sent["tools"][0]["function"]["name"], "response_format" in sent) == ("tone", False)
    assert sent["tool_choice"]["function"]["name"] == "tone"


def with_tokens(*pieces):
    """Give a message that was made of these tokens."""
    content = [{"token": token, "logprob": log, "bytes": [*token.encode()]} for token, log in pieces]
    return AIMessage("".join(token for token, _ in pieces), response_metadata={"logprobs": {"content": content}})


def test_confidence_of_items():
    """Each item has its own confidence, by the place of its entry in the answer."""
    one = ('{"judgements": [{"item": 2, "reason": "b", "value": ', -5.0), ('"Yes"', math.log(0.9))
    two = ('}, {"item": 1, "reason": "a", "value": ', -5.0), ('"No"', math.log(0.4)), ("}]}", -5.0)
    result = compile_metric(CHUNKS, ScriptedJudge([with_tokens(*one, *two)])).invoke(passages(2))
    assert {j.item: j.confidence for j in result.judgements} == {
        "x007": pytest.approx(0.4),
        "x014": pytest.approx(0.9),
    }


def test_confidence_over_http(fault_server):
    """Probabilities are asked for only where the judge is set so, and None where a server tells none."""
    tokens = [{"token": '{"reason": "r", "value": "', "logprob": -1.0}, {"token": 'Rude"}', "logprob": math.log(0.6)}]
    told = fault.gives({"reason": "r", "value": "Rude"}, tokens=tokens)
    fault_server.plan = [told, fault.ok(), fault.ok()]
    sure = Judge("openai:fake", base_url=fault_server.url, confidence=True)
    confidences = [compile_metric(TONE, sure).invoke(CASE).judgements[0].confidence for _ in range(2)]
    assert confidences == [pytest.approx(math.exp(-1.0) * 0.6), None]
    compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url)).invoke(CASE)
    assert [body.get("logprobs") for body in fault_server.bodies] == [True, True, None]


async def test_batches_go_out_together(fault_server):
    """The batches of one case are asked at once, bounded by the client's gate."""
    fault_server.latency = 0.05
    judge = Judge("openai:fake", base_url=fault_server.url, max_items=1)
    await compile_metric(CHUNKS, judge).ainvoke(passages(6))
    assert fault_server.most > 2


async def test_gate_is_shared(fault_server):
    """No more calls are in flight than the gate lets through, whatever the cases, batches and metrics."""
    fault_server.latency = 0.01
    client = JudgeClient(Judge("openai:fake", base_url=fault_server.url, max_items=1), gate=asyncio.Semaphore(2))
    await asyncio.gather(
        *(compile_metric(metric, client).abatch([passages(4), passages(5)]) for metric in (CHUNKS,) * 2)
    )
    assert (fault_server.calls, fault_server.most) == (18, 2)


@pytest.mark.parametrize(
    ("judge", "is_weighed"),
    [
        (Judge("local"), True),
        (Judge("local", reason="before"), False),
        (Judge("local", structured="text"), False),
        (Judge("openai:m", reason="after"), False),
    ],
)
def test_values_are_weighed_only_where_the_embedded_model_gives_them_first(judge, is_weighed):
    """Probabilities of other values are requested then, and the fingerprint says so; other judges are as they were."""
    metric = ValueMetric(**{**DEPTH.model_dump(exclude={"scale"}), "range": (0, 3), "levels": {0: "n", 3: "y"}})
    asking = MetricJudge(metric, JudgeClient(judge))
    assert asking.question.alternatives == (20 if is_weighed else 0)
    assert ("number" in asking.settings) == is_weighed


def test_categories_without_scores_are_not_weighed():
    """There is no mean of names."""
    asking = MetricJudge(TONE, JudgeClient(Judge("local")))
    assert TONE.scale.number(TONE.scale.names[0]) is None
    assert (asking.question.alternatives, asking.question.confidence) == (0, False)
    assert "number" not in asking.settings
