"""What models are asked about drawn questions: to word them, and to check that the gold, and only it, answers them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.prompt import join_lines, neutralise_fences
from greval.records.result import Failure, Usage
from greval.reference.model_call import ObjectReply, ask_for_object
from greval.reference.questions.counts import is_counted
from greval.reference.questions.drawing import quotes_answer
from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.facts import IndexText, has_phrase
from greval.reference.questions.prompts import (
    RequestName,
    build_agreement_messages,
    build_answers_messages,
    build_recall_messages,
    build_schema,
    build_wording_messages,
)
from greval.reference.questions.records import DraftQuestion, Rejection
from greval.reference.questions.sources import FindChunks

MAX_TRIES = 2
OBJECTIONS: dict[Rejection, str] = {
    "changed_names": "the question must have the names of the draft, and no others",
    "changed_answer": "the answer must have the name or date of the expected answer",
    "changed_count": "the question must ask for the same count, with the draft's words for what is counted",
    "quotes_answer": "the question gives the answer away",
    "no_reply": "it has not the form that was asked for",
}
_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass
class QuestionModel:
    """Asks a model for JSON objects, and sums what its replies cost.

    `on_reply` is called after each call, when its reply is stored, also if it failed.
    """

    client: JudgeClient
    context: CallContext
    on_reply: Callable[[], None]
    usage: Usage = field(default_factory=Usage)

    async def ask(self, request: RequestName, messages: Sequence[BaseMessage]) -> ObjectReply:
        """Ask once, and return the reply. Its `fields` are None if it cannot be read."""
        schema = build_schema(request, bounded=self.client.judge.local)
        form = AnswerFormat(request, schema, self.client.tier)
        try:
            reply = await ask_for_object(self.client, form, messages, self.context)
        finally:
            # What a failed call cost is recorded too.
            self.on_reply()
        self.usage += reply.usage
        failure = None if reply.fields is not None else Failure(kind="malformed", message=reply.fault, raw=reply.text)
        self.context.guard.record_answer(request, failure)
        return reply


async def word_question(draft: DraftQuestion, table: FactTable, model: QuestionModel) -> DraftQuestion:
    """Return a drawn question in the words of a model; rejected if these change what the pattern made sure of.

    That is the names, the answer and the gold. What is wrong with its words is sent back to the model once. An answer
    that is no name, such as a count, is kept.
    """
    messages = first = build_wording_messages(draft)
    worded = draft
    for _ in range(MAX_TRIES):
        reply = await model.ask("wording", messages)
        worded = _read_wording(draft, reply.fields or {})
        fault = _find_wording_fault(draft, worded, table)
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


def _find_wording_fault(draft: DraftQuestion, worded: DraftQuestion, table: FactTable) -> Rejection | None:
    """Return what the model's words change of a drawn question; None if they are as good as the draft."""
    if not worded.question or not worded.answer:
        return "no_reply"
    names = {name for fact in draft.evidence for name in (fact.subject, *fact.names)}
    draft_names, worded_names = (
        table.text.find_entities(version.question) & table.names for version in (draft, worded)
    )
    # A name of the draft is missing, or one that the draft hides is in the question.
    if draft_names - worded_names or (worded_names - draft_names) & names:
        return "changed_names"
    if not draft.fixed_answer and not any(has_phrase(worded.answer, name) for name in worded.answers):
        return "changed_answer"
    if is_counted(draft) and table.counts and not table.counts.counts_alike(worded.question, draft):
        return "changed_count"
    return "quotes_answer" if quotes_answer(worded) else None


async def check_with_judge(
    draft: DraftQuestion, text: IndexText, find_chunks: FindChunks, judge: QuestionModel
) -> DraftQuestion:
    """Return a question with the judge's answers, and rejected if it fails a check.

    The judge answers it from the chunks of its evidence, and its only answer must be the expected one. Then it is asked
    without any document, and must not know the answer. Of a question that the documents do not answer, it is
    shown the nearest chunks, and must find no answer in them. A count over many documents is asked without any only.
    """
    if is_counted(draft):
        return draft.model_copy(update={"rejected": await _find_recall_fault(draft, judge)})
    is_unanswerable = draft.type == "unanswerable"
    nearest = find_chunks(draft.question) if is_unanswerable else ()
    chunks = [*dict.fromkeys((*(fact.chunk for fact in draft.evidence), *nearest))]
    reply = await judge.ask("answers", build_answers_messages(draft.question, text, chunks))
    answers = _read_answers(reply.fields)
    if answers is None:
        return draft.model_copy(update={"rejected": "no_reply"})
    checked = draft.model_copy(update={"judge_answers": answers})
    if is_unanswerable:
        return checked.model_copy(update={"rejected": "answered_by_documents"}) if answers else checked
    return checked.model_copy(update={"rejected": await _find_answer_fault(checked, answers, judge)})


async def _find_answer_fault(draft: DraftQuestion, answers: Sequence[str], judge: QuestionModel) -> Rejection | None:
    """Return the first check that an answerable question fails, given the answers from its gold."""
    # The answers to a count are the parts of one answer.
    candidates = [", ".join(answers)] if answers and draft.type == "aggregation" else [*answers]
    if len({*map(_fold, candidates)}) > 1:
        return "several_answers"
    if not candidates or not await _agrees(draft, candidates[0], judge):
        return "not_answered_from_gold"
    return await _find_recall_fault(draft, judge)


async def _find_recall_fault(draft: DraftQuestion, judge: QuestionModel) -> Rejection | None:
    """Return the check that a question fails if the judge knows its answer without any document."""
    reply = await judge.ask("recall", build_recall_messages(draft.question))
    recalled = reply.fields.get("answer") if reply.fields else None
    if not isinstance(recalled, str):
        return "no_reply"
    is_known = bool(recalled.strip()) and await _agrees(draft, recalled, judge)
    return "answered_without_documents" if is_known else None


def _read_answers(fields: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    """Return the answers of a reply, without empty ones; None if it has another form."""
    listed = fields.get("answers") if fields else None
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        return None
    return tuple(line for text in listed if (line := join_lines(text)))


async def _agrees(draft: DraftQuestion, answer: str, judge: QuestionModel) -> bool:
    """Return whether an answer is the expected one: by its words, or else by the judge."""
    if has_same_words(draft, answer):
        return True
    reply = await judge.ask("agreement", build_agreement_messages(draft, answer))
    return reply.fields is not None and reply.fields.get("same") is True


def has_same_words(draft: DraftQuestion, answer: str) -> bool:
    """Return whether an answer has the words of an expected one; of an answer yes or no, or a count, the first word.

    Example:
        >>> from greval.records.case import Gold
        >>> draft = DraftQuestion(type="comparison", pattern="pair", question="Is it?", answer="Yes: both are.",
        ...                       answers=("Yes",), gold=Gold(), fixed_answer=True)
        >>> has_same_words(draft, "yes, both"), has_same_words(draft, "No.")
        (True, False)
    """
    folded, expected = _fold(answer), {_fold(text) for text in (draft.answer, *draft.answers)}
    return folded in expected or (draft.fixed_answer and folded.partition(" ")[0] in expected)


def _fold(text: str) -> str:
    """Return the words of an answer as they are compared: in lower case and without articles."""
    return " ".join(word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)
