"""The messages to the models that word and check questions, and the forms of the answers.

All text of the documents and of other models is fenced as data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from greval.judging.answer_schema import build_object_schema
from greval.judging.prompt import format_need
from greval.records.case import Case
from greval.reference.model_call import MATERIAL_RULE
from greval.reference.questions.counts import is_counted
from greval.reference.questions.facts import IndexText
from greval.reference.questions.records import DraftQuestion, QuestionType

RequestName = Literal["wording", "answers", "recall", "agreement"]
"""What a model is asked: to word a question, to answer it from chunks or without any, or to compare two answers."""
MAX_QUESTION_CHARS, MAX_ANSWER_CHARS, MAX_ANSWERS = 240, 160, 4
"""Limits for the embedded model, which follows the schema by a grammar and might never stop without them."""

TYPE_RULES: Mapping[QuestionType, str] = {
    "single_fact": "It asks for one fact that one sentence states.",
    "multi_hop": (
        "It can only be answered from all the sentences together. A name that the draft replaces by a description or a "
        "letter stays unnamed: describe it."
    ),
    "comparison": "It asks whether two things are alike, and is answered with yes or no.",
    "aggregation": "It asks how many there are. It does not list them.",
    "temporal": "It asks when something happened.",
    "unanswerable": "The sentences do not answer it, and it must stay so: keep exactly what the draft asks.",
}
COUNT_RULE = "It asks for the same counts as the draft, with the draft's words for what is counted."
MAX_COUNTED_SENTENCES = 5
WORDING_PROMPT = """\
You turn a draft question, which a template made, into a question that a person would ask, with a short answer.

{material}

- question: the draft in natural, grammatical words, as one sentence that ends with a question mark. {rule} \
Ask for the same thing. Keep every name that the draft has, as it is written there, and add no name that it has not. \
X and Y stand for things without their names: ask for one or describe it, and never write the letter. \
Do not give the answer away, and do not mention sentences, chunks or passages. Who reads the question sees nothing else.
- answer: the expected answer in at most 20 words, from the chunks alone, with the name or date of the expected answer \
as it is written there.
Answer with JSON only, in this form: {form}"""
ANSWERS_PROMPT = """\
You answer a question from the given chunks, and from nothing else. Each begins with the id of its document in brackets.

{material}

- answers: each different answer that the chunks support, in a few words: one if there is one right answer, several \
only if each would be right by itself. A count or a list is one answer. An empty list if the chunks do not say: do not \
guess, and do not use what you know from elsewhere.
Answer with JSON only, in this form: {form}"""
RECALL_PROMPT = """\
You answer a question from what you know, without any document.

{material}

- answer: the answer in a few words, if you know it for sure. An empty text if you do not: do not guess.
Answer with JSON only, in this form: {form}"""
AGREEMENT_PROMPT = """\
You compare two answers to a question.

{material}

- same: true if the answer says the same as the expected answer, also in other words or with more detail; false if it \
says something else, or leaves out what was asked for.
Answer with JSON only, in this form: {form}"""


def build_schema(request: RequestName, *, bounded: bool) -> dict[str, Any]:
    """Build the JSON schema of the answer to a request; `bounded` limits the lengths of texts and lists."""

    def build_text(most: int) -> dict[str, Any]:
        return {"type": "string", "maxLength": most} if bounded else {"type": "string"}

    question, answer = build_text(MAX_QUESTION_CHARS), build_text(MAX_ANSWER_CHARS)
    answers = {"type": "array", "items": answer, **({"maxItems": MAX_ANSWERS} if bounded else {})}
    fields: Mapping[RequestName, dict[str, Any]] = {
        "wording": {"question": question, "answer": answer},
        "answers": {"answers": answers},
        "recall": {"answer": answer},
        "agreement": {"same": {"type": "boolean"}},
    }
    return build_object_schema(fields[request])


def build_wording_messages(draft: DraftQuestion) -> list[BaseMessage]:
    """Build the request to word a drawn question from its sentences, of a count from some of them."""
    sentences = [*dict.fromkeys(fact.sentence for fact in draft.evidence)]
    if is_counted(draft):
        sentences = sentences[:MAX_COUNTED_SENTENCES]
    case = Case(question=draft.question, expected_answer=draft.answer, chunks=sentences)
    return _build_messages(
        WORDING_PROMPT,
        {"question": "...", "answer": "..."},
        [format_need(need, case) for need in ("question", "expected_answer", "chunks")],
        "Word the draft question.",
        rule=COUNT_RULE if is_counted(draft) else TYPE_RULES[draft.type],
    )


def build_answers_messages(question: str, text: IndexText, chunks: Sequence[str]) -> list[BaseMessage]:
    """Build the request to answer a question from chunks, given by their ids."""
    passages = [f"[{text.chunks[chunk].doc_id}] {text.chunks[chunk].content}" for chunk in chunks]
    case = Case(question=question, chunks=passages)
    return _build_messages(
        ANSWERS_PROMPT,
        {"answers": ["..."]},
        [format_need("question", case), format_need("chunks", case)],
        "List the answers that the chunks support.",
    )


def build_recall_messages(question: str) -> list[BaseMessage]:
    """Build the request to answer a question without documents."""
    return _build_messages(
        RECALL_PROMPT,
        {"answer": "..."},
        [format_need("question", Case(question=question))],
        "Answer the question, or leave the answer empty.",
    )


def build_agreement_messages(draft: DraftQuestion, answer: str) -> list[BaseMessage]:
    """Build the request whether an answer agrees with the expected one."""
    case = Case(question=draft.question, expected_answer=draft.answer, answer=answer)
    return _build_messages(
        AGREEMENT_PROMPT,
        {"same": True},
        [format_need(need, case) for need in ("question", "expected_answer", "answer")],
        "Compare the two answers.",
    )


def _build_messages(
    prompt: str, form: Mapping[str, object], material: Sequence[str], request: str, **parts: str
) -> list[BaseMessage]:
    system = prompt.format(material=MATERIAL_RULE, form=json.dumps(form), **parts)
    return [SystemMessage(system), HumanMessage("\n".join((*material, request)))]
