"""Wording of drawn questions by a model. What the pattern made sure of stays: the names, the answer and the gold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from greval.judging.prompt import join_lines, neutralise_fences
from greval.reference.questions.checks import quotes_answer
from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.facts import has_phrase
from greval.reference.questions.prompts import build_wording_messages
from greval.reference.questions.question_model import QuestionModel
from greval.reference.questions.records import DraftQuestion, Rejection

MAX_TRIES = 2
OBJECTIONS: dict[Rejection, str] = {
    "changed_names": "the question must have the names of the draft, and no others",
    "changed_answer": "the answer must have the name or date of the expected answer",
    "quotes_answer": "the question gives the answer away",
    "no_reply": "it has not the form that was asked for",
}


async def word_question(draft: DraftQuestion, table: FactTable, model: QuestionModel) -> DraftQuestion:
    """Return a drawn question in the words of a model; rejected if these change what the pattern made sure of.

    What is wrong with its words is sent back to the model once. An answer that is no name, such as a count, is kept.

    Raises:
        MethodError: If a call fails.
        StoppedError: If no further call may be made.
    """
    messages = first = build_wording_messages(draft)
    worded = draft
    for _ in range(MAX_TRIES):
        reply = await model.ask("wording", messages)
        worded = _read_wording(draft, reply.fields or {})
        fault = _find_fault(draft, worded, table)
        if fault is None:
            return worded
        worded = worded.model_copy(update={"rejected": fault})
        # A reply must neither open nor close a fence.
        answered = [AIMessage(neutralise_fences(reply.text))] if reply.text.strip() else []
        messages = [*first, *answered, HumanMessage(f"That cannot be used: {OBJECTIONS[fault]}. Answer again.")]
    return worded


def _read_wording(draft: DraftQuestion, fields: Mapping[str, Any]) -> DraftQuestion:
    """Return the draft with the model's question and answer, which are empty if they are no texts."""
    values = (fields.get(name) for name in ("question", "answer"))
    question, answer = (join_lines(text) if isinstance(text, str) else "" for text in values)
    changes: dict[str, object] = {"question": question, "wording": "model", "template_question": draft.question}
    if not draft.fixed_answer:
        changes |= {"answer": answer, "answers": tuple(dict.fromkeys((draft.answer, *draft.answers)))}
    return draft.model_copy(update=changes)


def _find_fault(draft: DraftQuestion, worded: DraftQuestion, table: FactTable) -> Rejection | None:
    """Return what the model's words change of a drawn question; None if they are as good as the draft."""
    if not worded.question or not worded.answer:
        return "no_reply"
    told = {name for fact in draft.evidence for name in (fact.subject, *fact.names)}
    draft_names, worded_names = (
        table.text.find_entities(version.question) & table.names for version in (draft, worded)
    )
    # A name of the draft is missing, or one that the draft hides is in the question.
    if draft_names - worded_names or (worded_names - draft_names) & told:
        return "changed_names"
    if not draft.fixed_answer and not any(has_phrase(worded.answer, name) for name in worded.answers):
        return "changed_answer"
    return "quotes_answer" if quotes_answer(worded) else None
