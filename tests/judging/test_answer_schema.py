"""The schema of a judge's answer, and the strict reading of what came back."""

from __future__ import annotations

import re

import pytest
from fault_server import sample
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import build_answer_schema, format_schema_name, parse_item_verdicts, parse_verdict
from greval.judging.prompt import format_system_text
from greval.records.metric import CategoricalMetric, ManyCategoricalMetric, ManyValueMetric, ValueMetric
from greval.records.result import Judgement

BASE = {"description": "d", "steps": ["s"]}
NOTES = {
    "elements": {
        "means": "The facts asked for.",
        "each": {"name": "the fact", "status": ["found", "missing", "unclear"]},
        "when": "before",
    },
    "advice": "What would help.",
    "coverage": {"share": "elements", "where": {"status": "found"}, "among": {}},
    "decided": {"share": "elements", "where": {"status": "found"}, "among": {"status": "missing"}},
}
TONE = CategoricalMetric(name="tone", needs=["answer"], categories={"Höflich": "p", "Grob": "r"}, **BASE)
DEPTH = ValueMetric(name="depth", needs=["answer"], range=(1, 5), levels={1: "low", 5: "high"}, **BASE)
WIDE = ValueMetric(name="wide", needs=["answer"], range=(-50, 50), levels={-50: "low", 50: "high"}, **BASE)
NOTED = CategoricalMetric(name="noted", needs=["answer"], categories={"Yes": "y", "No": "n"}, notes=NOTES, **BASE)
CHUNKS = ManyCategoricalMetric(
    name="chunks",
    over="chunks",
    needs=["question", "chunks"],
    categories={"Yes": {"means": "y", "score": 1}, "No": {"means": "n", "score": 0}},
    **BASE,
)
GRADES = ManyValueMetric(
    name="grades", over="triples", needs=["question", "triples"], range=(0, 2), levels={0: "a", 2: "c"}, **BASE
)
METRICS = [TONE, DEPTH, WIDE, NOTED, CHUNKS, GRADES]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["Yes", "reason"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["reason", "value", "item", "judgements", "elements", "advice", "x"]), inner)
    ),
    max_leaves=12,
)


def walk(schema):
    """Walk a schema and those inside it."""
    yield schema
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from walk(inner)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("many", [False, True])
def test_schema_is_strict(metric, many):
    """Every schema is valid, and within what strict mode takes: all fields required, no others, no defaults."""
    schema = build_answer_schema(metric, many=many)
    Draft202012Validator.check_schema(schema)
    for part in walk(schema):
        assert "default" not in part
        if part["type"] == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == [*part["properties"]]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_what_the_schema_allows_can_be_read(metric):
    """An answer that keeps to the schema is a verdict; its reason comes before the value, and notes as they ask."""
    schema = build_answer_schema(metric, many=False)
    answer = sample(schema, {})
    Draft202012Validator(schema).validate(answer)
    assert isinstance(parse_verdict(metric, answer), Judgement)
    assert [*schema["properties"]] == (
        ["elements", "reason", "value", "advice"] if metric is NOTED else ["reason", "value"]
    )


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_nothing_is_without_end_where_reasons_are_bounded(metric):
    """With a longest reason every text and list has an end: a small model under a grammar would fill it up for ever."""
    for part in walk(build_answer_schema(metric, many=False, reason_length=99)):
        assert part["type"] != "string" or "enum" in part or part["maxLength"] <= 2 * 99
        assert part["type"] != "array" or part["maxItems"] <= 10


@given(st.text(min_size=1, max_size=120), st.text(min_size=1, max_size=120))
def test_schema_names(one, other):
    """Any name becomes one that every provider takes, and unlike names stay unlike."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", format_schema_name(one))
    assert (format_schema_name(one) == format_schema_name(other)) == (one == other)


@given(JSON)
def test_reading_never_breaks(answer):
    """Whatever stands in the JSON, it is a judgement or a malformed verdict."""
    for metric in METRICS:
        try:
            assert isinstance(parse_verdict(metric, answer), Judgement)
        except MalformedVerdictError as error:
            assert error.kind in {"malformed", "off_scale"}
        try:
            verdicts = parse_item_verdicts(metric, answer, {1: "a", 2: "b"})
        except MalformedVerdictError as error:
            assert error.kind in {"malformed", "missing_item"}
        else:
            assert [*verdicts] == [1, 2]


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        *((DEPTH, value) for value in (0, 6, "6", "2.5", "three", "3e0", 2.5, True, None, [3], float("inf"), 10**400)),
        *((DEPTH, value) for value in ("3/4", "2-3", "not 3", "3,000", "3\u00b2", "30%")),
        *((TONE, value) for value in ("Höflich!", "Hoflich", "Höf lich", "", ".", 0, None, ["Höflich"])),
    ],
)
def test_off_scale_is_never_moved(metric, value):
    """A value outside the scale, or of another type, is an error: nothing is clamped, rounded or guessed."""
    with pytest.raises(MalformedVerdictError) as told:
        parse_verdict(metric, {"reason": "r", "value": value})
    assert told.value.kind == "off_scale"


@pytest.mark.parametrize(
    ("metric", "written", "value"),
    [
        *(
            (TONE, label, "Höflich")
            for label in ("höflich", " HÖFLICH\n", "Ho\u0308FLICH", "**Höflich**", "'höflich'.")
        ),
        *((DEPTH, level, 3) for level in ("3", " 3 ", "3.0", 3.0, "+3", "3,0", "\uff13", "3/5", "3 out of 5")),
    ],
)
def test_a_value_that_can_mean_one_only_is_read(metric, written, value):
    """Case, blanks and quotes of a label do not count, and a level that is written as a text is that level."""
    judgement = parse_verdict(metric, {"reason": "r", "value": written})
    assert (judgement.value, type(judgement.value)) == (value, type(value))


def test_a_label_that_could_be_two_is_none():
    """Labels that differ in blanks only are told apart by their exact names."""
    metric = CategoricalMetric(name="m", needs=["answer"], categories={"so so": "a", "so  so": "b"}, **BASE)
    assert parse_verdict(metric, {"reason": "r", "value": "so  so"}).value == "so  so"
    with pytest.raises(MalformedVerdictError):
        parse_verdict(metric, {"reason": "r", "value": "So so"})


def test_half_steps_are_read_from_the_text_of_a_judge():
    """A half step is a value of its scale; between two levels it is none."""
    levels = {0: "Wrong.", 0.5: "Nearly wrong.", 3: "Right."}
    half = ValueMetric(name="half", needs=["answer"], range=(0, 3), step=0.5, levels=levels, **BASE)
    assert "0, 0.5, 1, 1.5, 2, 2.5, 3" in format_system_text(half, many=False)
    assert parse_verdict(half, {"reason": "r", "value": "0.5"}).value == 0.5
    assert parse_verdict(half, {"reason": "r", "value": "0,5"}).value == 0.5
    for value in (0.3, "0.3", 3.5, "1.5/3"):
        with pytest.raises(MalformedVerdictError, match=r"is not a multiple of 0\.5 from 0 to 3"):
            parse_verdict(half, {"reason": "r", "value": value})


NOTED_ANSWER = {
    "elements": [
        {"name": "who", "status": "found"},
        {"name": "when", "status": "missing"},
        {"name": "where", "status": "found"},
        {"name": "why", "status": "unclear"},
    ],
    "reason": " Two of four. ",
    "value": "Yes",
    "advice": "Say when.",
}


def test_notes_and_shares():
    """Notes come back as asked, and shares are counted in code over all that match."""
    judgement = parse_verdict(NOTED, NOTED_ANSWER)
    assert judgement.reason == "Two of four."
    assert judgement.notes["elements"] == NOTED_ANSWER["elements"]
    assert judgement.notes["advice"] == "Say when."
    assert judgement.notes["coverage"] == {"count": 2, "of": 4, "share": 0.5}
    assert judgement.notes["decided"] == {"count": 0, "of": 1, "share": 0.0}


def test_share_of_nothing_is_no_number():
    """Where there is nothing to count there is a count of none and no share."""
    judgement = parse_verdict(NOTED, {**NOTED_ANSWER, "elements": []})
    assert judgement.notes["coverage"] == {"count": 0, "of": 0}


@pytest.mark.parametrize(("most", "expected"), [(4, {"most": 4}), (5, {}), (None, {})])
def test_a_share_of_a_full_list_says_that_it_may_be_of_a_part(most, expected):
    """Further entries may be missing from a list that is as long as it may be."""
    elements = NOTED.notes["elements"].model_copy(update={"most": most})
    metric = NOTED.model_copy(update={"notes": {**NOTED.notes, "elements": elements}})
    share = {"count": 2, "of": 4, "share": 0.5}
    assert parse_verdict(metric, NOTED_ANSWER).notes["coverage"] == {**share, **expected}


@pytest.mark.parametrize(
    ("change", "kind", "told"),
    [
        ({"advice": None}, "malformed", "advice: must be a text"),
        ({"elements": "who"}, "malformed", "elements: must be a list"),
        ({"elements": ["who"]}, "malformed", "elements: must be an object"),
        ({"elements": [{"name": "who"}]}, "malformed", "elements.status: must be a text"),
        ({"elements": [{"name": 1, "status": "found"}]}, "malformed", "elements.name: must be a text"),
        ({"elements": [{"name": "who", "status": "lost"}]}, "off_scale", "elements.status: 'lost' is not one of"),
    ],
)
def test_wrong_notes(change, kind, told):
    """A note that is missing, of the wrong type or off its words is told by its name."""
    with pytest.raises(MalformedVerdictError, match=told) as error:
        parse_verdict(NOTED, {**NOTED_ANSWER, **change})
    assert error.value.kind == kind


def entry(item, value="Yes"):
    return {"item": item, "reason": f"about {item}", "value": value}


def test_items_stand_alone():
    """One item is scored, one off the scale, one missing, one twice; what has no number counts for nothing."""
    listed = [entry(4), entry(2, "Maybe"), entry(1), entry(4), "noise", entry("third"), entry(True)]
    verdicts = parse_item_verdicts(CHUNKS, {"judgements": listed}, {1: "a", 2: "b", 3: "c", 4: "d"})
    assert verdicts[1][0] == 2
    assert (verdicts[1][1].item, verdicts[1][1].value, verdicts[1][1].number) == ("a", "Yes", 1.0)
    kinds = {number: verdict.kind for number, (_, verdict) in verdicts.items() if number != 1}
    assert kinds == {2: "off_scale", 3: "missing_item", 4: "missing_item"}
    assert "2 verdicts on item 4" in str(verdicts[4][1])


@pytest.mark.parametrize("listed", [[{"reason": "r", "value": "Yes"}], [entry(0)], [entry(1)], [entry("the item")]])
def test_the_only_item_needs_no_number(listed):
    """The only verdict on the only item is its verdict; two of them, or one with another number, are none."""
    ((_, verdict),) = parse_item_verdicts(CHUNKS, {"judgements": listed}, {1: "a"}).values()
    assert (verdict.item, verdict.value) == ("a", "Yes")
    for further in ([entry(2)], [entry("a"), entry("b")]):
        with pytest.raises(MalformedVerdictError, match="the answer has a verdict"):
            parse_item_verdicts(CHUNKS, {"judgements": further}, {1: "a"})


@pytest.mark.parametrize(
    ("numbers", "doubtful"), [([1, 2, 3], None), ([1, 2, 9], 9), ([2, 3, 4], 4), ([0, 2, 1], 0), ([0, 1], 0)]
)
def test_a_number_that_was_not_shown_makes_all_doubtful(numbers, doubtful):
    """No item keeps its verdict, because all may be shifted; the message names the number and those that were shown."""
    answer = {"judgements": [entry(number) for number in numbers]}
    if doubtful is None:
        assert len(parse_item_verdicts(CHUNKS, answer, {1: "a", 2: "b", 3: "c"})) == 3
        return
    with pytest.raises(MalformedVerdictError, match=f"item {doubtful}, but the items are numbered from 1 to 3") as told:
        parse_item_verdicts(CHUNKS, answer, {1: "a", 2: "b", 3: "c"})
    assert told.value.kind == "missing_item"


@pytest.mark.parametrize("written", [(0, 1), (0.0, 1.0), ("0", "1"), ("Item 0", "#1")])
def test_items_that_are_numbered_from_0_in_order_are_shifted(written):
    """The order is certain if each number from 0 on stands once and in its place."""
    answer = {"judgements": [entry(written[0], "No"), entry(written[1])]}
    verdicts = parse_item_verdicts(CHUNKS, answer, {1: "a", 2: "b"})
    assert {verdict.item: verdict.value for _, verdict in verdicts.values()} == {"a": "No", "b": "Yes"}


@pytest.mark.parametrize("answer", [{}, {"judgements": {}}, {"judgements": None}, [], entry(1)])
def test_no_list_at_all(answer):
    """An answer without a list of judgements is malformed as a whole."""
    with pytest.raises(MalformedVerdictError):
        parse_item_verdicts(CHUNKS, answer, {1: "a"})


COUNTED = ValueMetric(
    name="counted",
    needs=["answer"],
    range=(0, 2),
    levels={0: "none", 2: "two"},
    notes={"names": {"means": "The names.", "each": {"name": "as written"}, "when": "before"}},
    counts="names",
    **BASE,
)


def answer_names(*names):
    return {"names": [{"name": name} for name in names], "reason": "All of them."}


def test_a_counted_value_is_not_asked_for():
    """The value of a metric that counts a list is the number of its entries, whatever else the answer holds."""
    assert [*build_answer_schema(COUNTED, many=False)["properties"]] == ["names", "reason"]
    assert "value" not in format_system_text(COUNTED, many=False, example=True).lower()
    verdict = parse_verdict(COUNTED, {**answer_names("Ada", "Grace"), "value": 7})
    assert (verdict.value, verdict.number, parse_verdict(COUNTED, answer_names()).value) == (2, 2.0, 0)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (answer_names("a", "b", "c"), "off_scale"),
        (answer_names("a", " "), "malformed"),
        ({"names": "a", "reason": "r"}, "malformed"),
        ({"reason": "r", "value": 1}, "malformed"),
    ],
)
def test_a_list_that_cannot_be_counted_is_no_number(answer, kind):
    """A list beyond the scale, without a text or missing is a failure, and not the nearest number."""
    with pytest.raises(MalformedVerdictError) as error:
        parse_verdict(COUNTED, answer)
    assert error.value.kind == kind


def test_a_counted_list_may_be_long():
    """The embedded model may list more entries of a list that is counted, with whole sentences."""
    schema = build_answer_schema(COUNTED, many=False, reason_length=160)["properties"]["names"]
    assert (schema["maxItems"], schema["items"]["properties"]["name"]["maxLength"]) == (30, 160)
