"""Definitions written in parts: whatever a small model writes, the definition is valid, and its faults are mended."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import parse_metric, write_metric
from greval.errors import JudgeError, JudgeUnavailableError
from greval.judging.drafting.brief import DraftBrief, DraftWriter, find_draft_remarks
from greval.judging.drafting.parts import write_by_parts
from greval.judging.model.client import JudgeClient
from greval.testing import ScriptedJudge

TEXTS = {
    "best": "The answer greets the reader and thanks them.",
    "worst": "The answer insults the reader.",
    "between": "The answer greets the reader warmly, but forgets to say thanks.",
    "find": "Find the words that carry the tone.",
    "check": "Check whether all of these words are courteous.",
}
NAMES = {"best": "Polite", "worst": "Rude"}


class SmallModel:
    """A model that writes the given texts for each part, the next one each time that it is asked."""

    def __init__(self, **texts):
        self.texts = {key: [text] if isinstance(text, str) else [*text] for key, text in {**TEXTS, **texts}.items()}
        self.requests = []

    def __call__(self, messages):
        request = messages[1].text.split("\n")[-1] if "You wrote" not in messages[1].text else messages[1].text
        self.requests.append(messages[1].text)
        if "Write a name" in request:
            return NAMES
        words = {
            "the best answer:": "best",
            "the worst answer": "worst",
            "which words": "find",
            "what to check": "check",
        }
        key = next((key for mark, key in words.items() if mark in request), "between")
        texts = self.texts[key]
        return {key: texts.pop(0) if len(texts) > 1 else texts[0]}


def drafted(model, scale="value", description="Whether the answer is polite.", over=None):
    brief = DraftBrief.parse("tone", description, scale, over)
    writer = DraftWriter(JudgeClient(ScriptedJudge(model)))
    metric = asyncio.run(write_by_parts(brief, writer))
    return metric, find_draft_remarks(brief, metric), writer.usage


def test_a_range():
    """The ends and the middle of a range are described; reading and choosing are not left to the model."""
    metric, remarks, usage = drafted(SmallModel())
    assert metric.scale.levels == {1: TEXTS["worst"], 3: TEXTS["between"], 5: TEXTS["best"]}
    assert metric.steps == (
        "Read the answer.",
        TEXTS["find"],
        TEXTS["check"],
        "Choose the value whose description fits the answer best.",
    )
    assert (metric.needs, remarks, usage.calls) == (("answer",), [], 5)
    assert parse_metric(write_metric(metric)) == metric


def test_two_levels_have_no_middle():
    """On 0..1 nothing is asked for between the ends."""
    metric, _, usage = drafted(SmallModel(), (0, 1))
    assert (metric.scale.levels, usage.calls) == ({0: TEXTS["worst"], 1: TEXTS["best"]}, 4)


def test_own_categories():
    """Two categories are described, then named."""
    metric, remarks, usage = drafted(SmallModel(), "categorical")
    assert [(category.name, category.score) for category in metric.scale.categories] == [("Polite", 1), ("Rude", 0)]
    assert (remarks, usage.calls) == ([], 5)


def test_given_categories():
    """Given names are best first, and the model learns which one it describes."""
    model = SmallModel()
    metric, _, _ = drafted(model, ["Yes", "No"])
    assert [(category.name, category.means) for category in metric.scale.categories] == [
        ("Yes", TEXTS["best"]),
        ("No", TEXTS["worst"]),
    ]
    assert 'It belongs to the category "No".' in model.requests[1]


def test_the_question_is_needed_if_a_text_cites_it():
    """Needs follow from what the texts cite: the first step reads the question, which is then shown."""
    metric, remarks, _ = drafted(SmallModel(best="The answer replies to the question politely."))
    assert (metric.needs, metric.steps[0]) == (("question", "answer"), "Read the question and the answer.")
    assert remarks == []


def test_a_step_that_cites_what_is_not_shown_is_written_anew():
    """A step that needs an expected answer, of which the description says nothing, is sent back with the remark."""
    model = SmallModel(check=["Check whether it equals the expected answer.", TEXTS["check"]])
    metric, remarks, usage = drafted(model)
    assert metric.steps[2] == TEXTS["check"]
    assert (metric.needs, remarks, usage.calls) == (("answer",), [], 6)
    assert "The remark on it: cites 'expected answer'" in model.requests[-1]


def test_a_step_that_cannot_be_mended_is_left_out():
    """After two rounds the step goes, and the definition is complete without it."""
    metric, remarks, usage = drafted(SmallModel(check="Check whether it equals the expected answer."))
    assert len(metric.steps) == 3
    assert (remarks, usage.calls) == ([], 7)


def test_a_middle_that_repeats_the_best_is_left_out():
    """A level that reads like an end is written anew, then left out."""
    same = "The answer greets the reader and thanks them, but greets and thanks them."
    metric, remarks, _ = drafted(SmallModel(best=same, between=same))
    assert [*metric.scale.levels] == [1, 5]
    assert remarks == []


def test_a_middle_that_is_both_ends_is_written_anew():
    """A level that claims the best and the worst at once says nothing."""
    both = "The answer greets the reader and thanks them, but insults the reader."
    metric, _, _ = drafted(SmallModel(between=[both, TEXTS["between"]]))
    assert metric.scale.levels[3] == TEXTS["between"]


@pytest.mark.parametrize(
    ("best", "worst"),
    [
        (TEXTS["best"], TEXTS["best"]),
        (
            "The answer greets the reader and thanks them for the question.",
            "The answer greets the reader and thanks them, although it later mocks, scolds and threatens all of us.",
        ),
    ],
)
def test_a_worst_that_reads_like_the_best_must_say_what_is_missing(best, worst):
    """The second time, the grammar wants a negation, so that the ends differ."""
    mended = "The answer does not greet the reader or thank them."
    metric, remarks, _ = drafted(SmallModel(best=best, worst=[worst, mended]), (0, 1))
    assert (metric.scale.levels[0], remarks) == (mended, [])


def test_a_category_that_the_caller_named_stays():
    """A named category with a remark is kept, and the remark is reported."""
    model = SmallModel(between="The answer meets one criterion well enough, but misses other ones.")
    metric, remarks, _ = drafted(model, ["Good", "Fair", "Poor"])
    assert metric.scale.names == ("Good", "Fair", "Poor")
    assert [remark.partition(":")[0] for remark in remarks] == ["scale.categories.Fair"]


@pytest.mark.parametrize("bad", ["Answers are polite.", "The answer is polite and", 3, None])
def test_a_reply_of_another_form_is_asked_for_again(bad):
    """A text that no grammar enforced must have the form that was asked for; three such replies are an error."""
    assert drafted(SmallModel(worst=[bad, TEXTS["worst"]]), (0, 1))[2].calls == 5
    with pytest.raises(JudgeError, match=r"gave no valid definition in 3 tries: worst: "):
        drafted(SmallModel(worst=[bad]), (0, 1))


def test_a_server_that_is_down():
    """A key that is refused ends it at the first call."""
    with pytest.raises(JudgeUnavailableError):
        drafted(lambda _: ConnectionError("refused"))


@given(st.data())
def test_any_text_of_the_grammar_gives_a_valid_definition(data):
    """Whatever a model writes within the grammar, the definition is valid, has both ends, and bounds its calls."""
    schemas = []

    class Recording(ScriptedJudge):
        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            schemas.append(kwargs["extra_body"]["response_format"]["json_schema"]["schema"]["properties"])
            return super()._generate(messages, stop, run_manager, **kwargs)

    def answer(_):
        pattern = {key: part["pattern"].replace("320", "40") for key, part in schemas[-1].items()}
        return json.dumps(
            {key: data.draw(st.from_regex(re.compile(one, re.ASCII), fullmatch=True)) for key, one in pattern.items()}
        )

    scale = data.draw(st.sampled_from(["value", "categorical", (0, 1), (0, 3), ("Yes", "No"), ("A", "B", "C", "D")]))
    brief = DraftBrief.parse("tone", "Whether the answer is polite.", scale, None)
    writer = DraftWriter(JudgeClient(Recording(answer)))
    metric = asyncio.run(write_by_parts(brief, writer))
    assert parse_metric(write_metric(metric)) == metric
    assert writer.usage.calls <= 3 * 7
