"""Definitions in the words of their descriptions: whatever a small model answers, they say what their author said."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import parse_metric, write_metric
from greval.errors import JudgeError, JudgeUnavailableError
from greval.judging.drafting.brief import DraftBrief, DraftWriter, find_draft_remarks
from greval.judging.drafting.literal import write_literal
from greval.judging.model.client import JudgeClient
from greval.testing import ScriptedJudge

DESCRIPTION = "Whether the answer names sources."


def draft(answer, scale="value", description=DESCRIPTION, over=None):
    brief = DraftBrief.parse("sources", description, scale, over)
    writer = DraftWriter(JudgeClient(ScriptedJudge(answer)))
    metric = asyncio.run(write_literal(brief, writer))
    return metric, find_draft_remarks(brief, metric), writer.usage.calls


def answer_verb(verb):
    return lambda _: {"verb": verb}


def test_a_range():
    """The ends and the middle of a range are described by the sentence; the model names its verb only."""
    metric, remarks, calls = draft(answer_verb("names"))
    assert metric.scale.levels == {
        1: "The answer does not name sources.",
        3: "The answer only partly names sources.",
        5: "The answer names sources.",
    }
    assert metric.steps == (
        "Read the answer.",
        "Find what shows whether the answer names sources.",
        "Choose the value whose description fits the answer best.",
    )
    assert (metric.needs, remarks, calls) == (("answer",), [], 1)
    assert parse_metric(write_metric(metric)) == metric


def test_a_verb_that_is_known_needs_no_call():
    """A sentence with one auxiliary is denied at it, so that no model is asked."""
    metric, _, calls = draft(answer_verb("?"), (0, 1), "Whether the answer is polite.")
    assert (metric.scale.levels, calls) == ({0: "The answer is not polite.", 1: "The answer is polite."}, 0)


def test_categories_without_names():
    """Two categories say whether it is so."""
    metric, remarks, _ = draft(answer_verb("names"), "categorical")
    assert [(category.name, category.score) for category in metric.scale.categories] == [("Yes", 1), ("No", 0)]
    assert remarks == []


def test_given_categories():
    """Given names are best first; one for what is not known says so."""
    metric, _, _ = draft(answer_verb("names"), ["Named", "Hinted", "Unclear", "Hidden"])
    assert {category.name: category.means for category in metric.scale.categories} == {
        "Named": "The answer names sources.",
        "Hinted": "The answer mostly names sources.",
        "Unclear": "It cannot be told whether the answer names sources.",
        "Hidden": "The answer does not name sources.",
    }


def test_what_the_description_cites_is_read():
    """Fields that the description cites are needed, and the first step reads them."""
    metric, remarks, _ = draft(answer_verb("names"), description="Whether the answer names what the question is about.")
    assert (metric.needs, metric.steps[0]) == (("question", "answer"), "Read the question and the answer.")
    assert remarks == []


def test_a_description_of_another_form_is_met_as_a_whole():
    """A question or a noun is met, or not, in the author's words and without a call."""
    metric, remarks, calls = draft(answer_verb("?"), "categorical", "Names of sources?")
    assert [category.means for category in metric.scale.categories] == [
        "The answer meets this: Names of sources.",
        "The answer does not meet this: Names of sources.",
    ]
    assert metric.steps[1] == "Find what shows whether the answer meets this: Names of sources."
    assert (remarks, calls) == ([], 0)


@pytest.mark.parametrize("reply", ["sing", 3, None])
def test_a_word_that_is_not_in_the_sentence_is_asked_for_again(reply):
    """A model without a grammar may answer anything: it is asked again, and three such replies are an error."""
    replies = iter([reply, "names"])
    assert draft(lambda _: {"verb": next(replies)})[2] == 2
    with pytest.raises(JudgeError, match=r"gave no valid definition in 3 tries: verb: .* is not one of names, sources"):
        draft(answer_verb(reply))


def test_a_server_that_is_down():
    """A key that is refused ends it at the first call."""
    with pytest.raises(JudgeUnavailableError):
        draft(lambda _: ConnectionError("refused"))


@given(st.data())
def test_any_answer_of_the_grammar_gives_a_valid_definition(data):
    """Whatever a model answers within the schema, the definition is valid, and its levels differ."""
    schemas = []

    class Recording(ScriptedJudge):
        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            schemas.append(kwargs["extra_body"]["response_format"]["json_schema"]["schema"]["properties"])
            return super()._generate(messages, stop, run_manager, **kwargs)

    def answer(_):
        return json.dumps({key: data.draw(st.sampled_from(form["enum"])) for key, form in schemas[-1].items()})

    scale = data.draw(st.sampled_from(["value", "categorical", (0, 1), (0, 3), ("Yes", "No"), ("A", "B", "C", "D")]))
    description = data.draw(
        st.sampled_from([DESCRIPTION, "How well the answer names all sources.", "Names of sources?"])
    )
    brief = DraftBrief.parse("sources", description, scale, None)
    writer = DraftWriter(JudgeClient(Recording(answer)))
    metric = asyncio.run(write_literal(brief, writer))
    assert parse_metric(write_metric(metric)) == metric
    texts = [*getattr(metric.scale, "levels", {}).values()] or [one.means for one in metric.scale.categories]
    assert len({*texts}) == len(texts)
    assert writer.usage.calls <= 1
