"""Finding the verdict in what a model wrote, in whatever form, and the probability of its value.

`replies.jsonl` has replies as models write them: `reads` is the value, or the value of each item, that must be stored;
null is a failure after a second call.
"""

from __future__ import annotations

import json
import math
import re
from itertools import groupby, pairwise, product
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import build_answer_schema, build_object_schema, parse_item_verdicts, parse_verdict
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.call_context import NO_RUN
from greval.judging.model.client import JudgeClient
from greval.judging.reply_json import (
    compute_probability,
    compute_value_probabilities,
    find_value,
    parse_reply_object,
)
from greval.records.case import Case, Chunk
from greval.records.metric import ManyCategoricalMetric, ValueMetric
from greval.records.result import Judgement
from greval.testing import ScriptedJudge

# Before a letter, these are read as what begins a command of LaTeX.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\b\f\r"), max_size=30)
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=30)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(TEXTS, CONTENT, max_size=4)


SCHEMA = build_object_schema({"reason": {"type": "string"}, "value": {"type": "integer"}})
METRIC = ValueMetric(name="m", description="d", needs=["answer"], steps=["s"], range=(0, 1), levels={0: "no", 1: "yes"})
CHUNKS = ManyCategoricalMetric(
    name="chunks",
    over="chunks",
    description="d",
    needs=["question", "chunks"],
    steps=["s"],
    categories={"Yes": "y", "No": "n"},
)
DRAFT = '{"reason": "draft", "value": 0}'
QUOTED = r"""It says {'reason': 'x', 'value': 0} and \"value\": 0 or <think> {\"value\": 0} </think>"""
VERDICTS = [
    f'{{"reason": "{QUOTED}", "value": @}}',
    f'{{"value": @, "reason": "{QUOTED}"}}',
    f'{{"verdict": {{\n "reason": "{QUOTED}",\n "value": @\n}}}}',
    f'```json\n{{"reason": "{QUOTED}", "value": @,}}\n```',
    f"{{'reason': 'It\\'s {DRAFT}', 'value': @}}",
    f"{{\u201creason\u201d: \u201cIt says {DRAFT}\u201d, \u201cvalue\u201d: @}}",
    '{reason: "no {value: 0, reason: 1}", # or {"value": 0}\n value: @ /* {"reason": "r", "value": 0} */}',
    json.dumps(f'{{"reason": "It says {QUOTED}", "value": @}}'),
]
BEFORE = [
    "",
    "Well: ",
    f"First {DRAFT}. The final verdict: ",
    'Form: {"reason": ..., "value": ...}\n',
    f"<think>Or {DRAFT} {{</think>\n",
    f"Or {DRAFT}</think>",
    f"<thinking>a<reflection>{DRAFT}</reflection></thinking>",
    f"[THINK]{DRAFT}[/THINK]",
    f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>",
    f"analysisWe see {DRAFT} assistantfinal",
]
AFTER = ["", " {}", "\n\nThat is all.", f"\n<think>So it is {DRAFT}</think>", "<|return|>", f"\n<!-- so {DRAFT} -->"]
ITEMS = {1: "a", 2: "b", 3: "c"}
LABELS = ("Yes", "No", "Yes")
ENTRIES = [
    {"item": n, "reason": "Unlike {'item': 2, 'reason': 'x', 'value': 'Yes'}.", "value": label}
    for n, label in enumerate(LABELS, 1)
]
OTHERS = json.dumps({"judgements": [{"item": n, "reason": "r", "value": "No"} for n in ITEMS]})
LISTS = [
    json.dumps({"judgements": ENTRIES}),
    json.dumps({"judgements": ENTRIES}, indent=1),
    "\n".join(map(json.dumps, ENTRIES)),
    "\n".join(json.dumps({"judgements": [entry]}) for entry in ENTRIES),
    f"<think>{OTHERS}</think>{json.dumps({'judgements': ENTRIES})}",
]
LETTERS = st.sampled_from(["", *"\"'{}[]:,\\#/*<>|`-.01x \n\u201c\u201d"]) | st.characters(exclude_categories=["Cs"])


def read_value(text):
    """Return the value that is stored for a reply, None for a failure."""
    try:
        return parse_verdict(METRIC, parse_reply_object(text, SCHEMA)).value
    except MalformedVerdictError:
        return None


def read_labels(text):
    """Return the label that is stored for each item."""
    try:
        answer = parse_reply_object(text, build_answer_schema(CHUNKS, many=True))
        read = parse_item_verdicts(CHUNKS, answer, ITEMS)
    except MalformedVerdictError:
        return {}
    return {number: verdict.value for number, (_, verdict) in read.items() if isinstance(verdict, Judgement)}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_what_stands_around_a_verdict_changes_nothing(verdict):
    """Every form of a verdict is read behind all kinds of thoughts and drafts, and before all that may follow."""
    for before, after in product(BEFORE, AFTER):
        assert (before, after, read_value(before + verdict.replace("@", "1") + after)) == (before, after, 1)


@given(st.sampled_from(VERDICTS), st.sampled_from(BEFORE), st.sampled_from(AFTER), LETTERS, st.data())
def test_a_damaged_reply_is_its_verdict_or_a_failure(verdict, before, after, letter, data):
    """Whichever character outside of the value is lost or becomes another one, no other value is stored."""
    position = len(before) + verdict.index("@")
    text = before + verdict.replace("@", "1") + after
    at = data.draw(st.integers(0, len(text) - 1).filter(lambda at: at != position))
    assert read_value(text[:at] + letter + text[at + 1 :]) in {1, None}


@pytest.mark.parametrize("letter", ["", "}"])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_no_lost_character_makes_another_verdict(verdict, letter):
    """Every single character of every form is lost, or a closing brace, behind a draft."""
    for before in (BEFORE[2], BEFORE[5]):
        text = before + verdict.replace("@", "1")
        position = len(before) + verdict.index("@")
        damaged = [text[:at] + letter + text[at + 1 :] for at in range(len(text)) if at != position]
        assert [reply for reply in damaged if read_value(reply) == 0] == []


@given(st.sampled_from(LISTS), LETTERS, st.data())
def test_a_damaged_list_gives_no_item_the_verdict_of_another(text, letter, data):
    """Whichever character outside of numbers and labels is damaged, an item has its own verdict or none."""
    assert read_labels(text) == dict(enumerate(LABELS, 1))
    matches = re.finditer(r'"item": (\d)|"value": "(Yes|No)"', text)
    kept_positions = {at for match in matches for at in range(*match.span(match.lastindex))}
    at = data.draw(st.integers(0, len(text) - 1).filter(lambda at: at not in kept_positions))
    damaged = read_labels(text[:at] + letter + text[at + 1 :])
    assert damaged.items() <= dict(enumerate(LABELS, 1)).items()


@given(OBJECTS.filter(bool), st.booleans(), st.sampled_from([None, 2]))
def test_parse_reads_what_json_writes(content, ascii_only, indent):
    """Whatever object is written as JSON is read as itself, but for letters that nobody writes."""
    text = json.dumps(content, ensure_ascii=ascii_only, indent=indent)
    if not re.search(r"\\\\[bfnrt]", text):
        assert parse_reply_object(text, schema_of(content)) == content


FRAMES = st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "<answer>{}</answer>"])


@given(OBJECTS.filter(bool), PLAIN, PLAIN.filter(lambda after: not re.search(r"[:\uff1a#?]", after)), FRAMES)
def test_parse_ignores_what_stands_around(content, before, after, frame):
    """Prose and code fences around the object change nothing, but for what announces or doubts something after it."""
    written = frame.replace("{}", json.dumps(content))
    if not re.search(r"\\\\[bfnrt]", written):
        assert parse_reply_object(f"{before}{written}{after}", schema_of(content)) == content


def schema_of(content):
    return {"properties": {key: {} for key in content}}


@given(OBJECTS, OBJECTS.filter(bool), st.data())
def test_an_object_that_is_cut_hides_those_before_it(whole, cut, data):
    """A later object that was begun and not finished is never answered from an earlier one."""
    flat = json.dumps(dict.fromkeys(cut, 1))
    part = flat[: data.draw(st.integers(1, len(flat) - 1))]
    with pytest.raises(MalformedVerdictError):
        parse_reply_object(json.dumps(whole) + part, schema_of(whole))


@given(st.text(st.sampled_from("{}[]\":,\\ \n01aeux-.tfn\ud83d<>/'#`\u201c"), max_size=40) | TEXTS)
@example("{" * 5000)
@example('{"a":' * 3000 + "1" + "}" * 3000)
@example('{"a":[' * 500)
@example('{"a": ' + "9" * 5000 + "}")
@example("{'a': " * 3000)
@example("<think" * 3000)
@example("<" + "think" * 3000)
@example('{"a": "' * 2000)
@example('{\\"a' * 1000)
def test_parse_never_breaks(text):
    """Any text at all is an object or a malformed verdict, never another error."""
    try:
        assert isinstance(parse_reply_object(text, SCHEMA), dict)
    except MalformedVerdictError as error:
        assert error.kind == "malformed"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty text"),
        (" \n", "an empty text"),
        ("Polite.", "no complete JSON object"),
        ('["Polite"]', "no complete JSON object"),
        ("<think>Polite.</think>", "all of it is thoughts"),
        ("<think>Polite.", "the thoughts have no end"),
        ('{"value": 1', "character 12: expected a comma or }, found the end"),
        ('{"reason": "a" "value": 1}', "character 16: expected a comma or }, found '\"value\": 1}'"),
        ('{"reason": "a, "value": 1}', "character 17: expected a comma or }, found 'value"),
        ('{"reason": "a}', r"the text that begins at character 12 \('\"a}'\) has no end"),
        ('{"reason": yes}', "character 12: expected a text in quotes, a number, an object or a list, found 'yes}'"),
        ('{"reason" "a"}', "character 11: expected a colon after the key"),
        ('{"value": 1,, "a": 1}', "character 13: expected a key in quotes or a closing brace"),
        ('{"value": 1, "value": 2}', "a key stands twice in one object: 'value' at character 14"),
        ('{"notes": {"a": 1, "a": 1}}', "a key stands twice"),
        ('{"value": NaN}', "NaN is no JSON number"),
        ('{"value": -Infinity}', "-Infinity is no JSON number"),
        (r'{"reason": "\ud83d"}', "surrogate"),
        ('{"value": 1} {"value": 2}', "2 objects that differ"),
        ('{"value": 1} {"value', "the last object cannot be read"),
        ('{"value": 1}, "value": 2}', "what stands beside the last object cannot be read: '\"value\":'"),
        ('So: {"value": 1} }', "a closing brace stands beside the last object"),
        ('{"value": 1} So it is 0.', "may take it back: 'So it is'"),
    ],
)
def test_parse_says_what_is_wrong(text, told):
    """What cannot be read is malformed, with the character that is wrong."""
    with pytest.raises(MalformedVerdictError, match=told):
        parse_reply_object(text, SCHEMA)


@given(CONTENT, st.sampled_from([None, 1]), st.booleans())
def test_find_every_value(content, indent, ascii_only):
    """The text at the place of a path is the JSON of the value at that path, for every path."""
    text = json.dumps({"it": content}, indent=indent, ensure_ascii=ascii_only)
    for path, value in paths(content, ("it",)):
        assert json.loads(text[slice(*find_value(text, path))]) == value


def paths(content, path):
    """Walk the paths of JSON content."""
    yield path, content
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for step, part in inner:
        yield from paths(part, (*path, step))


@pytest.mark.parametrize("path", [("x",), ("value", 0), ("value", "a"), ("list", 2), ("list", "0"), (0,)])
def test_find_nothing(path):
    """Where a path leads nowhere, nothing is found."""
    assert find_value('{"value": 1, "list": [1, {"a": 2}]}', path) is None


def tokens_of(text, cuts, logprobs, *, as_bytes=False):
    """Cut a text at places into tokens; as bytes, the cuts may fall within a character."""
    raw = text.encode()
    content = raw if as_bytes else text
    places = [0, *sorted({cut % (len(content) + 1) for cut in cuts}), len(content)]
    pieces = [content[a:b] for a, b in pairwise(places)]
    logs = [logprobs[n % len(logprobs)] for n in range(len(pieces))]
    if as_bytes:
        return [{"token": repr(p), "bytes": [*p], "logprob": log} for p, log in zip(pieces, logs, strict=True)]
    return [{"token": p, "logprob": log} for p, log in zip(pieces, logs, strict=True)]


@given(
    reason=TEXTS,
    value=st.sampled_from(["Polite", "Höflich", "丁寧", 'Not "so"', 0, 1, 25]),
    cuts=st.lists(st.integers(0, 200), max_size=40),
    logprobs=st.lists(st.floats(-3, 0), min_size=1, max_size=7),
    as_bytes=st.booleans(),
)
@example(reason='so "value": 0', value=1, cuts=[*range(60)], logprobs=[-0.5, -1.0, -0.1], as_bytes=False)
@example(reason='{"value": 0}', value=1, cuts=[*range(0, 60, 3)], logprobs=[-0.5, -1.0, -0.1], as_bytes=True)
def test_probability_is_that_of_the_value(reason, value, cuts, logprobs, as_bytes):
    """However the answer was cut into tokens, those that hold the value count, and no others."""
    before = f'{{"reason": {json.dumps(reason, ensure_ascii=False)}, "value": '
    written = json.dumps(value, ensure_ascii=False)
    tokens = tokens_of(before + written + ', "after": "value"}', cuts, logprobs, as_bytes=as_bytes)
    length = (lambda text: len(text.encode())) if as_bytes else len
    start, end, position, expected = length(before), length(before) + length(written), 0, 0.0
    for token in tokens:
        step = len(token["bytes"]) if as_bytes else len(token["token"])
        if position < end and position + step > start:
            expected += token["logprob"]
        position += step
    assert compute_probability(tokens, ("value",)) == pytest.approx(math.exp(expected))


def test_probability_in_a_list():
    """Each item of a list has the probability of its own value."""
    pieces = [
        *[('{"judgements": [{"item": 2, "reason": "a \\"value\\": 9", "value": ', -9.0), ("1", math.log(0.9))],
        *[('}, {"item": 1, "reason": "b", "value": ', -9.0), ('"', 0.0), ("Rel", math.log(0.5))],
        *[("evant", math.log(0.5)), ('"', 0.0), ("}]}", -9.0)],
    ]
    tokens = [{"token": token, "logprob": log} for token, log in pieces]
    assert compute_probability(tokens, ("judgements", 0, "value")) == pytest.approx(0.9)
    assert compute_probability(tokens, ("judgements", 1, "value")) == pytest.approx(0.25)
    assert compute_probability(tokens, ("judgements", 2, "value")) is None


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [{"token": "Polite", "logprob": -0.1}],
        [{"token": '{"reason": "r"}', "logprob": -0.1}],
        [{"token": '{"value": 1}', "logprob": None}],
        [{"token": '{"a":' * 900 + "1" + "}" * 900, "logprob": -0.1}],
    ],
)
def test_probability_unknown(tokens):
    """Where the tokens hold no such value or no probability there is None, not a guess."""
    assert compute_probability(tokens, ("value",)) is None


def with_others(*pieces):
    """Give tokens, each with the probability of its own text and of others in its place."""
    return [
        {
            "token": token,
            "logprob": math.log(own),
            "top_logprobs": [
                {"token": text, "logprob": math.log(share)} for text, share in {token: own, **others}.items()
            ],
        }
        for token, own, others in pieces
    ]


LEVELS = (0, 1, 2, 3, 10)


def test_levels_have_the_probabilities_of_their_tokens():
    """Digits count with and without a space before or a bracket after them; what is no level counts for none."""
    tokens = with_others(('{"value":', 1, {}), (" ", 1, {}), ("3", 0.5, {"1,": 0.2, " 0": 0.1, "2}": 0.1, "7": 0.1}))
    tokens += with_others((', "reason": "1"}', 0.9, {}))
    assert compute_value_probabilities(tokens, ("value",), LEVELS) == pytest.approx({3: 0.5, 1: 0.2, 0: 0.1, 2: 0.1})


@pytest.mark.parametrize(
    ("alternatives", "found"),
    [
        ({"1": 0.4}, {3: 0.5}),
        ({"1": 0.3, "10": 0.1}, {3: 0.5, 1: 0.3, 10: 0.1}),
        ({"1": 0.3, "10,": 0.1}, {3: 0.5, 1: 0.3, 10: 0.1}),
        ({"1": 0.3, "1,": 0.1}, {3: 0.5, 1: 0.1}),
    ],
)
def test_the_beginning_of_two_values_counts_for_one_only_if_the_other_is_a_token(alternatives, found):
    """A model that writes 10 digit by digit may mean 1 or 10 by the digit 1; one that writes it whole means 1."""
    tokens = with_others(('{"value": ', 1, {}), ("3", 0.5, alternatives), (', "reason": "1"}', 0.9, {}))
    assert compute_value_probabilities(tokens, ("value",), LEVELS) == pytest.approx(found)


@pytest.mark.parametrize(
    ("pieces", "values", "expected"),
    [
        # The digit 1 has the probability of 1 and of 10; the token after it divides it.
        (
            [("1", 0.9, {"3": 0.1}), (",", 0.75, {"0": 0.2, "5": 0.05}), (' "reason": "1"}', 1, {})],
            LEVELS,
            {3: 0.1, 1: 0.675, 10: 0.18},
        ),
        # A token in place of a later one counts with the probability of those before it.
        ([("1", 0.8, {"3": 0.2}), ("0", 0.75, {"}": 0.25}), ("}", 1, {})], LEVELS, {3: 0.2, 1: 0.2, 10: 0.6}),
        # Two categories with the same beginning are told apart by the token after it, in any script.
        (
            [('"', 1, {}), ("Un", 0.6, {"Hö": 0.3, "U": 0.1}), ("klar", 0.5, {"höflich": 0.5}), ('"}', 1, {})],
            ("Höflich", "Unklar", "Unhöflich"),
            {"Höflich": 0.3, "Unklar": 0.3, "Unhöflich": 0.3},
        ),
    ],
)
def test_values_of_several_tokens_part_at_any_of_them(pieces, values, expected):
    """The probability of a value is that of all tokens that tell it from the others."""
    tokens = with_others(('{"value": ', 1, {}), *pieces)
    assert compute_value_probabilities(tokens, ("value",), values) == pytest.approx(expected)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [{"token": '{"value": 1}', "logprob": -0.1}],
        with_others(('{"reason": "r"}', 1, {})),
        with_others(('{"value": 8}', 1, {})),
    ],
)
def test_without_alternatives_there_are_no_probabilities_of_values(tokens):
    """Without alternatives, without a value or with a value off the scale nothing is computed."""
    assert compute_value_probabilities(tokens, ("value",), LEVELS) is None


CASE = Case(id="q", question="Which?", answer="The harbour.", chunks=[Chunk(id=f"c{n}", text="A.") for n in (1, 2, 3)])
ROWS = [json.loads(line) for line in (Path(__file__).with_name("replies.jsonl")).read_text("utf-8").splitlines()]
GROUPS = {
    name: [*rows]
    for name, rows in groupby(
        sorted(ROWS, key=itemgetter("group", "tier")), lambda row: f"{row['group']}, {row['tier']}"
    )
}


def build_message(row):
    """Build the message that a model of LangChain returns for a row, with its tool calls parsed or not."""
    message = AIMessage(row["reply"])
    for n, arguments in enumerate(row.get("tool_calls", ())):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "verdict", "arguments": arguments}}
        try:
            message.tool_calls.append(parse_tool_call(call, return_id=True))
        except Exception as error:  # noqa: BLE001 - as LangChain does
            message.invalid_tool_calls.append(make_invalid_tool_call(call, str(error)))
    return message


async def read_row(row):
    """Judge with the reply of a row, and return what was stored, the reasons and the number of calls."""
    judge = ScriptedJudge([build_message(row), "They agree."], tier=row["tier"])
    metric = CHUNKS if row["items"] else METRIC
    outcome, usage, _ = await MetricJudge(metric, JudgeClient(judge))(CASE, NO_RUN)
    judgements = getattr(outcome, "judgements", ())
    read = {judgement.item: judgement.value for judgement in judgements}
    stored = {str(n): read.get(f"c{n}") for n in (1, 2, 3)} if row["items"] else read.get(None)
    return stored, [judgement.reason for judgement in judgements], usage.calls


@pytest.mark.parametrize("group", GROUPS)
async def test_each_reply_has_its_right_reading(group):
    """What is certain is stored after one call, with the reason as written; anything else is asked again and fails."""
    for row in GROUPS[group]:
        stored, reasons, calls = await read_row(row)
        nothing = dict.fromkeys("123") if row["items"] else None
        reads = nothing if row["reads"] is None else row["reads"]
        is_whole = None not in reads.values() if row["items"] else reads is not None
        assert (row["name"], stored, calls) == (row["name"], reads, 1 if is_whole else 2)
        if "reason" in row:
            assert (row["name"], reasons) == (row["name"], [row["reason"]])


def test_the_corpus_is_wide():
    """Each tier, items and no items, certain and doubtful replies are all in it."""
    assert len(ROWS) >= 150
    kinds = {(row["tier"], bool(row["items"]), row["reads"] is None) for row in ROWS}
    assert len(kinds) >= 10
