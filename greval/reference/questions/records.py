"""Records of question generation: what a text states, a drawn question with its evidence, and the report."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from greval.judging.model.budget import RunSpending
from greval.records.case import Edge, Gold, Sample
from greval.records.record import Record
from greval.records.result import Usage

QuestionType = Literal["single_fact", "multi_hop", "comparison", "aggregation", "temporal", "unanswerable"]
QUESTION_TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
CountPattern = Literal[
    "top_objects", "top_subjects", "all_objects", "all_subjects", "number", "two_subjects", "look_up"
]
"""The pattern of a question that a count over the whole graph answers; see `QuestionPattern`."""
QuestionPattern = (
    Literal["edge", "chain", "description", "intersection", "star", "mentions", "pair", "date", "absent"] | CountPattern
)
"""The pattern of the graph that a question was drawn from.

`edge` is one statement; `chain` two of which one ends where the other begins; `description` one in which another one
stands in place of a name; `intersection` two about the entity that is asked for; `star` all with one predicate and one
object; `mentions` all documents with one name; `pair` two with one predicate; `date` one with a date; `absent` one that
no text makes.

Of an index with a schema, `top_objects` is what is stated most of one subject, `top_subjects` of which subjects one
object is stated most, `all_objects` and `all_subjects` the same over the whole graph, `number` in how many documents
one object is stated of one subject, `two_subjects` of which of two it is stated more, `look_up` the only document.
"""
Rejection = Literal[
    "answer_not_in_documents",
    "several_answers",
    "quotes_answer",
    "near_duplicate",
    "changed_names",
    "changed_answer",
    "changed_count",
    "not_answered_from_gold",
    "answered_without_documents",
    "answered_by_documents",
    "no_reply",
]
"""The check that a drawn question failed; `no_reply` if the model gave no answer that could be read."""
NOT_STATED = "The documents do not say."
"""The expected answer of a question that the documents do not answer."""


class StatedFact(Record):
    """What a sentence states of an entity.

    `clause` is what follows the subject in the sentence, without the full stop, `names` the other entities in it. If
    the fact is a relation of the graph, `predicate` is the verb phrase between the subject and the `object` at the end.
    If it is `described`, the sentence is the index's own description of a relation, and does not stand in the chunk.
    """

    subject: str
    clause: str
    names: tuple[str, ...] = ()
    predicate: str = ""
    object: str = ""
    edges: tuple[Edge, ...] = ()
    chunk: str
    document: str
    sentence: str
    described: bool = False


class DraftQuestion(Record):
    """A question as it was drawn: its words, answer, gold and evidence, and why it was rejected, if it was.

    `wording` is `model` if a model worded the question, else `template`. `fixed_answer` is true if the answer is not a
    name of the graph, such as a number, so that it need not stand in the documents. `template_question` has the words
    of the template if a model worded the question. `judge_answers` are those that the judge gave from the gold
    documents. `failure` is the error of a call that failed: such a question is neither accepted nor rejected.
    """

    type: QuestionType
    pattern: QuestionPattern
    question: str
    answer: str
    answers: tuple[str, ...] = ()
    gold: Gold
    evidence: tuple[StatedFact, ...] = ()
    fixed_answer: bool = False
    wording: Literal["template", "model"] = "template"
    template_question: str | None = None
    judge_answers: tuple[str, ...] | None = None
    rejected: Rejection | None = None
    failure: str | None = None
    id: str = ""

    @property
    def documents(self) -> tuple[str, ...]:
        """The ids of the documents of the evidence, each once."""
        return tuple(dict.fromkeys(fact.document for fact in self.evidence))

    def to_sample(self) -> Sample:
        """Return the question as a sample, with tags for its type, its pattern and the number of its documents."""
        tags = {"query_type": self.type, "pattern": self.pattern, "documents": str(len(self.documents))}
        gold = self.gold.model_copy(update={"answers": self.answers or None})
        return Sample(id=self.id, question=self.question, expected_answer=self.answer, gold=gold, tags=tags)


class CoverageCount(Record):
    """How many of the documents, entities or relations of an index the questions touch."""

    touched: int = 0
    total: int = 0


class CallForecast(Record):
    """The calls and tokens that the wanted questions need if none is rejected; `cost` is None if no price is known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


class QuestionReport(Record):
    """What question generation did.

    `drafts` is the file of all drawn questions with evidence and rejections. `drawn` and `accepted` count questions by
    type, `rejected` by the check that they failed, `failures` by the error of a call, after which the same command asks
    again. `checked` counts those that a model worded or checked. `documents`, `entities` and `relations` say what of
    the index the questions touch, `notes` what of it was not used and why. `usage` and `cost` (US dollars; None if no
    price is known) are those of this command, `spent` that of all commands for this file. A dry run with a model has a
    `forecast`.
    """

    path: str
    drafts: str
    asked: int
    drawn: dict[str, int] = Field(default_factory=dict)
    accepted: dict[str, int] = Field(default_factory=dict)
    rejected: dict[str, int] = Field(default_factory=dict)
    model_worded: int = 0
    documents: CoverageCount = CoverageCount()
    entities: CoverageCount = CoverageCount()
    relations: CoverageCount = CoverageCount()
    model: str | None = None
    judge: str | None = None
    checked: int = 0
    failed: int = 0
    failures: dict[str, int] = Field(default_factory=dict)
    usage: Usage = Usage()
    cost: float | None = None
    spent: RunSpending = RunSpending()
    forecast: CallForecast | None = None
    notes: tuple[str, ...] = ()
    stopped: str | None = None
    seconds: float = 0.0
