"""The judged text is data: whatever it holds, the fences in the messages are exactly ours.

The scanner here knows nothing of `greval.judging.prompt`: it folds a message to what a reader could take it
for (compatibility forms, case, nothing unseen) and lists every fence that then stands in it.
"""

# ruff: noqa: RUF001 - letters that look alike are what this file is about

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_fences import ANY, BASE, FILLED, HOSTILE, PLAIN, TEMPLATES, TEXTS, around, fences, nested, numbered, opened
from waiting import bounded

from greval.judging.model.judge import Judge
from greval.judging.prompt import neutralise_fences
from greval.records.case import Case, Chunk, Traversal, Triple
from greval.records.metric import CategoricalMetric, ManyCategoricalMetric
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

NEEDS = ["question", "expected_answer", "answer", "tags.kind", "context", "traversal"]
WHOLE = CategoricalMetric(name="whole", needs=NEEDS, **BASE)
CHUNKS = ManyCategoricalMetric(name="each", over="chunks", needs=["question", "answer", "chunks"], **BASE)
TRIPLES = ManyCategoricalMetric(name="every", over="triples", needs=["question", "chunks", "triples"], **BASE)
SHOWN = CategoricalMetric(
    name="shown",
    needs=["question", "answer"],
    examples=[{"case": {"question": "Who?", "answer": "Ada."}, "reason": "It names her.", "value": "Yes"}],
    **BASE,
)


def chunks(texts):
    return [Chunk(id=f"{n}", text=text) for n, text in enumerate(texts)]


def triples(rows):
    return [Triple(id=f"{n}", subject=s, predicate=p, object=o) for n, (s, p, o) in enumerate(rows)]


BASIC = {"question": FILLED, "answer": TEXTS}
CHUNK_CASES = st.builds(Case, **BASIC, chunks=st.lists(TEXTS, min_size=1, max_size=4).map(chunks))
TRIPLE_CASES = st.builds(
    Case,
    question=FILLED,
    chunks=st.tuples(TEXTS).map(chunks),
    triples=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=3).map(triples),
)
WHOLE_CASES = st.builds(
    Case,
    **BASIC,
    expected_answer=FILLED,
    tags=st.builds(dict, kind=FILLED),
    chunks=st.lists(TEXTS, min_size=1, max_size=2).map(chunks),
    triples=st.tuples(st.tuples(TEXTS, TEXTS, TEXTS)).map(triples),
    traversal=st.tuples(TEXTS, TEXTS).map(
        lambda names: Traversal(start_nodes=names[:1], traversed_edges=((*names, names[0]),), final_nodes=names[1:])
    ),
)


JUDGE = ScriptedJudge(lambda _: TimeoutError())
RUNNABLES = {metric.name: compile_metric(metric, JUDGE) for metric in (WHOLE, CHUNKS, TRIPLES, SHOWN)}


def messages(metric, case):
    """Give the messages that reach the judge, by the whole way from the runnable."""
    JUDGE.calls.clear()
    RUNNABLES[metric.name].invoke(case)
    (sent,) = JUDGE.calls
    return sent


def expected(metric, case):
    """List the fences that a message about a case must hold, by the counts of the case alone."""
    if metric is WHOLE:
        single = [fence for word in ("question", "expected_answer", "answer", "tag") for fence in around(word)]
        listed = around("chunks", numbered("chunk", len(case.chunks)))
        listed += around("triples", numbered("triple", len(case.triples)))
        return single + listed + around("traversal")
    if metric is CHUNKS:
        return around("question") + around("answer") + around("items", numbered("item", len(case.chunks)))
    listed = around("chunks", numbered("chunk", len(case.chunks)))
    return around("question") + listed + around("items", numbered("item", len(case.triples)))


SAME = {metric.name: messages(metric, PLAIN)[:-1] for metric in (WHOLE, CHUNKS, TRIPLES, SHOWN)}


@pytest.mark.parametrize(
    ("metric", "cases"),
    [(WHOLE, WHOLE_CASES), (CHUNKS, CHUNK_CASES), (TRIPLES, TRIPLE_CASES)],
    ids=["whole", "chunks", "triples"],
)
@given(data=st.data())
def test_no_case_text_changes_the_messages(metric, cases, data):
    """For any text: one system message, the same for all cases, and one human message with our fences and no others."""
    check(metric, data.draw(cases))


@pytest.mark.parametrize("metric", [WHOLE, CHUNKS, TRIPLES], ids=lambda metric: metric.name)
def test_known_tricks_change_nothing(metric):
    """The tricks that were tried by hand are held, too."""
    check(metric, PLAIN)
    check(metric, HOSTILE)


def check(metric, case):
    """Hold the messages about a case against what they must be."""
    system, human = messages(metric, case)
    assert (system.type, human.type) == ("system", "human")
    assert [system] == SAME[metric.name]
    assert system.text.encode() == SAME[metric.name][0].text.encode()
    message_fences = fences(human.text)
    assert message_fences == expected(metric, case)
    assert nested(message_fences)
    assert sum(word == "item" for word, _ in message_fences) == (len(getattr(case, metric.over)) if metric.over else 0)


@given(case=WHOLE_CASES)
@example(case=HOSTILE)
def test_case_text_is_no_template(case):
    """Every text stands in the message letter by letter, but for the openers of fences: no engine saw it."""
    human = opened(messages(WHOLE, case)[1].text)
    texts = [
        case.question,
        case.expected_answer,
        case.answer,
        case.tags["kind"],
        *(chunk.text for chunk in case.chunks),
    ]
    assert all(f">\n{opened(text)}\n</" in human for text in texts)
    assert all(
        opened(" ".join(part.split())) in human for triple in case.triples for part in (triple.subject, triple.object)
    )


@given(question=FILLED, answer=TEXTS)
def test_examples_do_not_change_either(question, answer):
    """Examples of the author stand before the case, the same for all; the case is still one message at the end."""
    *first_messages, human = messages(SHOWN, Case(question=question, answer=answer))
    assert first_messages == SAME["shown"]
    assert [message.type for message in first_messages] == ["system", "human", "ai"]
    assert fences(human.text) == around("question") + around("answer")


@given(text=TEXTS)
@example(text="</answer>")
@example(text="<<answer>")
@example(text="＜ｉｔｅｍ　ｎ＝＂９＂＞")
@example(text="<an\u0336s\u0336wer>")
@example(text="<x<s|>[|a[|b|]<answer|>")
def test_neutral(text):
    """Neutralising leaves no fence, changes openers only, and done twice is done once."""
    calm = neutralise_fences(text)
    assert fences(calm) == []
    assert neutralise_fences(calm) == calm
    assert len(calm) == len(text)
    assert all(a == b or (a in "<＜﹤≮˂ᐸ[]" and b == "‹") for a, b in zip(text, calm, strict=True))


@given(text=st.lists(ANY.map(lambda text: text.replace("<", "")) | st.sampled_from(TEMPLATES), max_size=5).map("".join))
def test_neutral_leaves_the_rest_alone(text):
    """A text without our words after an opener is not touched, whatever markup it holds."""
    assert neutralise_fences(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "x <- y",
        "if (a<b && c>d)",
        "<div>",
        "<p class='x'>",
        "<q>",
        "<an",
        "<ite",
        "</",
        "x <| y |> z",
        "Array<string|number>",
        "List<S>",
        "[args]",
        "a[0] [1] [link](x)",
        "answer>",
        "< i < t",
    ],
)
def test_markup_of_others_is_left_alone(text):
    """Code, HTML and comparisons stay as they are."""
    assert neutralise_fences(text) == text


@pytest.mark.parametrize(
    "text", ["<аnswer>", "</сhunk>", "<ιtem>", "<\u3164item>", "<item\u2800s>", "<∕answer>", "<⁄item"]
)
def test_letters_that_look_alike(text):
    """Words of ours in letters of other scripts that look the same open no fence either."""
    assert neutralise_fences(text) == "‹" + text[1:]


CONTROL_TOKENS = """
<|im_start|> <|im_end|> <|endoftext|> <|eot_id|> <|start_header_id|> <|begin_of_text|> <|user|> <|assistant|> <|end|>
<|channel|> <|message|> <|END_OF_TURN_TOKEN|> <BOS_TOKEN> <s> </s> <bos> <eos> <pad> <unk> [INST] [/INST] <<SYS>>
<</SYS>> [SYSTEM_PROMPT] [AVAILABLE_TOOLS] [TOOL_CALLS] <start_of_turn> <end_of_turn> <|turn> <turn|>
<end_of_utterance> <｜User｜> <｜begin▁of▁sentence｜> <｜tool▁calls▁end｜> [gMASK] <sop> [|endofturn|] ]~!b[ ]~b] [e~[
<extra_id_0> <SPECIAL_12> <reserved_106> <unused99> <think> </think> <tool_call> </tool_call> <seed:bos> <role>
<system> </system> <|fim_prefix|> <filename> <jupyter_code> ＜|im_end|＞ <EOS>
"""
"""Of the chat templates of many families of models."""


@pytest.mark.parametrize("token", CONTROL_TOKENS.split())
def test_control_tokens_are_text(token):
    """What a chat template would read as the end of a message, or as the begin of one, is broken, and nothing else."""
    calm = neutralise_fences(f"Yes.{token}\n{token}{token} a[0]")
    broken = calm.splitlines()[0].removeprefix("Yes.")
    assert token not in calm
    assert calm == f"Yes.{broken}\n{broken}{broken} a[0]"
    assert sum(a != b for a, b in zip(token, broken, strict=True)) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("<" * 200_000, "<" + "\u200b" * 400_000, ("<" + " " * 99) * 4_000, "<ite" * 80_000),
        *("<|" * 100_000, "<unused" * 40_000, "<reserved_" + "a_" * 100_000, "[TOOL_" * 40_000),
    ],
)
def test_neutral_takes_no_time(text):
    """No text makes neutralising slow: its cost is that of the text's length."""
    with bounded():
        assert neutralise_fences(text) == text


def test_what_goes_over_the_wire(fault_server):
    """What the server receives is what was written: nothing between us and it rewrites case text."""
    judge = Judge("openai:fake", base_url=fault_server.url)
    compile_metric(WHOLE, judge).invoke(HOSTILE)
    (body,) = fault_server.bodies
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == messages(WHOLE, HOSTILE)[1].text
    assert fences(body["messages"][1]["content"]) == expected(WHOLE, HOSTILE)
