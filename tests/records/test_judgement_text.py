"""What a judge wrote stays: items that it cites by number have their ids, findings and notes are lines to read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases

from greval import compile_metric
from greval.judging.answer_schema import parse_item_verdicts
from greval.judging.prompt import format_case_text, list_numbered_ids, neutralise_fences
from greval.records.case import Case
from greval.records.judgement_text import find_cited_items, format_details, list_cited_items
from greval.records.metric import build_metric
from greval.records.metric_input import list_judged_items
from greval.records.result import Judgement
from greval.testing import ScriptedJudge

BASE = {"name": "m", "description": "d", "scale": {"categories": {"A": "a", "B": "b"}}, "steps": ["s"]}
CHUNKS = build_metric({**BASE, "over": "chunks", "needs": ["chunks"]})
MORE = Case(
    question="q",
    chunks=[{"id": "last", "text": "x"}],
    triples=[{"id": "end", "subject": "a", "predicate": "b", "object": "c"}],
)
IDS = {"chunk": ("d4", "d7", "d9"), "triple": ("t1",)}
NUMBERED = re.compile(r'<(chunk|triple|item) n="(\d+)">\n(.*?)\n</\1>', re.DOTALL)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as chunk 2 says", {"chunk 2": "d7"}),
        ("Chunks 1, 3 and Triple 1", {"chunk 1": "d4", "chunk 3": "d9", "triple 1": "t1"}),
        ("chunks 1, 2, and 3", {"chunk 1": "d4", "chunk 2": "d7", "chunk 3": "d9"}),
        ("chunks 2-3", {"chunk 2": "d7", "chunk 3": "d9"}),
        ("chunk 3 & 1", {"chunk 3": "d9", "chunk 1": "d4"}),
        ('<chunk n="2">', {"chunk 2": "d7"}),
        ("chunk #1, chunk no. 2", {"chunk 1": "d4", "chunk 2": "d7"}),
        ("chunk_3", {"chunk 3": "d9"}),
        ("chunk 4, chunk 0, chunk 99999999999999999999, triple 2, item 1", {}),
        ("chunks 2-9999999999", {"chunk 2": "d7"}),
        ("3 chunks in 2 chunky parts, rechunk 1", {}),
        ("source 1 and [2]", {}),
    ],
)
def test_items_are_found_by_the_numbers_that_were_shown(text, found):
    """Only a kind with a number that was shown is an item; whatever else stands there is a text."""
    assert find_cited_items([{"source": text}], IDS) == found


def test_nothing_is_cited_if_nothing_was_numbered():
    """Without numbers in the question there is nothing to name."""
    assert list_cited_items(Judgement(value=1, reason="chunk 1")) == {}


NEEDS = (["context"], ["chunks"], ["question", "triples", "chunks"], ["question", "context"])
"""What is shown by number; the items that are judged stand apart."""


@given(st.sampled_from(NEEDS), st.sampled_from([None, "chunks", "triples"]), cases(), st.booleans())
def test_each_number_that_is_shown_has_its_id(needs, over, case, together):
    """Whatever the case: number n of a kind stands before the text of the n-th id, and no other number is shown."""
    metric = build_metric({**BASE, "needs": [*needs, *([over] if over else [])], "over": over})
    chunks, triples = (
        [*(found or ()), *more] for found, more in ((case.chunks, MORE.chunks), (case.triples, MORE.triples))
    )
    case = case.model_copy(update={"chunks": tuple(chunks), "triples": tuple(triples)})
    batch = list_judged_items(metric, case) if together else list_judged_items(metric, case)[:1]
    ids = list_numbered_ids(metric, case, batch)
    shown_items = {}
    for kind, number, content in NUMBERED.findall(format_case_text(metric, case, batch)):
        shown_items.setdefault(kind, []).append((int(number), content))
    if len(batch) == 1:
        shown_items.pop("item")
    assert {kind: [number for number, _ in told] for kind, told in shown_items.items()} == {
        kind: [*range(1, len(told) + 1)] for kind, told in ids.items()
    }
    texts = {"chunk": case.chunks, "triple": case.triples, "item": batch}
    for kind, told in ids.items():
        assert told == tuple(item.id for item in texts[kind])
        for item, (_, content) in zip(texts[kind], shown_items[kind], strict=True):
            assert not hasattr(item, "text") or content == neutralise_fences(item.text)


def test_an_item_judged_alone_has_no_number_to_name():
    """With one item in a call there is nothing else to tell it from."""
    judge = ScriptedJudge([{"judgements": [{"item": 1, "reason": "item 1", "value": "A"}]}])
    result = compile_metric(CHUNKS, judge).invoke({"question": "q", "chunks": ["x"]})
    assert result.judgements[0].shown_ids == {}


def test_items_of_a_list_share_what_was_shown():
    """Each verdict of a list carries the numbers of the whole list, as its reason may name any of them."""
    listed_ = [{"item": n, "reason": "r", "value": "A"} for n in (2, 1)]
    told = parse_item_verdicts(CHUNKS, {"judgements": listed_}, {1: "x", 2: "y"}, shown_ids={"item": ("x", "y")})
    assert [judgement.shown_ids for _, judgement in told.values()] == [{"item": ("x", "y")}] * 2


def test_details_are_lines():
    """Findings, texts, lists, shares and cited items each have their line."""
    judgement = Judgement(
        value=1,
        reason="As chunk 2 says.",
        findings=("Ada is named.", "No other."),
        notes={
            "advice": "Say when.",
            "parts": [{"what": "Ada", "there": "yes"}, {"what": "when", "there": "no"}],
            "coverage": {"count": 1, "of": 2, "share": 0.5},
            "full": {"count": 1, "of": 2, "share": 0.5, "most": 8},
            "empty": {"count": 0, "of": 0},
        },
        shown_ids=IDS,
    )
    assert format_details(judgement.findings, judgement.notes, list_cited_items(judgement)) == (
        "step 1: Ada is named.",
        "step 2: No other.",
        "advice: Say when.",
        "parts:",
        "  - Ada | yes",
        "  - when | no",
        "coverage: 0.50 (1 of 2)",
        "full: 0.50 (1 of 2; no more than 8 entries are listed)",
        "empty: nothing to count",
        "chunk 2 is d7",
    )
