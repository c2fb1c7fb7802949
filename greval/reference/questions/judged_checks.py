"""Checks of questions by a judge: the gold documents answer them, and only they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from greval.judging.prompt import join_lines
from greval.reference.questions.facts import IndexText
from greval.reference.questions.prompts import (
    build_agreement_messages,
    build_answers_messages,
    build_recall_messages,
)
from greval.reference.questions.question_model import QuestionModel
from greval.reference.questions.records import DraftQuestion, Rejection

FindChunks = Callable[[str], Sequence[str]]
"""Finds the ids of the chunks that are nearest to a question."""
_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})


async def check_with_judge(
    draft: DraftQuestion, text: IndexText, find_chunks: FindChunks, judge: QuestionModel
) -> DraftQuestion:
    """Return a question with the judge's answers, and rejected if it fails a check.

    The judge answers it from the chunks of its evidence, and its only answer must be the expected one. Then it is asked
    without any document, and must not know the answer. Of a question that the documents do not answer, it is
    shown the nearest chunks, and must find no answer in them.

    Raises:
        MethodError: If a call fails.
        StoppedError: If no further call may be made.
    """
    is_unanswerable = draft.type == "unanswerable"
    nearest = find_chunks(draft.question) if is_unanswerable else ()
    chunks = [*dict.fromkeys((*(fact.chunk for fact in draft.evidence), *nearest))]
    reply = await judge.ask("answers", build_answers_messages(draft.question, text, chunks))
    answers = _read_answers(reply.fields)
    if answers is None:
        return draft.model_copy(update={"rejected": "no_reply"})
    checked = draft.model_copy(update={"judge_answers": answers})
    why: Rejection | None
    if is_unanswerable:
        why = "answered_by_documents" if answers else None
    else:
        why = await _find_fault(checked, answers, judge)
    return checked.model_copy(update={"rejected": why})


async def _find_fault(draft: DraftQuestion, answers: Sequence[str], judge: QuestionModel) -> Rejection | None:
    """Return the first check that an answerable question fails, given the answers from its gold."""
    # The answers to a count are the parts of one answer.
    candidates = [", ".join(answers)] if answers and draft.type == "aggregation" else [*answers]
    if len({*map(_fold, candidates)}) > 1:
        return "several_answers"
    if not candidates or not await _agrees(draft, candidates[0], judge):
        return "not_answered_from_gold"
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
