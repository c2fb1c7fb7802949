"""Checks of drawn questions that need no model: the answer is there, it is the only one, and the question is new."""

from __future__ import annotations

from collections.abc import Sequence

from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.facts import IndexText, has_phrase
from greval.reference.questions.records import DraftQuestion, Rejection, StatedFact

MIN_DUPLICATE_RATIO = 92
"""The similarity in percent from which two questions with one answer are near duplicates."""


def find_rejection(draft: DraftQuestion, table: FactTable, accepted: Sequence[DraftQuestion]) -> Rejection | None:
    """Return the first check that a question fails, given those accepted before; None if it passes all."""
    if not has_answer_in_documents(draft, table.text):
        return "answer_not_in_documents"
    if quotes_answer(draft):
        return "quotes_answer"
    if has_several_answers(draft, table):
        return "several_answers"
    return "near_duplicate" if any(is_duplicate(draft, earlier) for earlier in accepted) else None


def has_answer_in_documents(draft: DraftQuestion, text: IndexText) -> bool:
    """Return whether a gold document holds the answer or an alternative; true of answers that are no names."""
    chunks = {fact.chunk: " ".join(text.chunks[fact.chunk].content.split()) for fact in draft.evidence}
    # Descriptions are sentences of the index; all other evidence must be in its chunk.
    if not all(fact.described or fact.sentence in chunks[fact.chunk] for fact in draft.evidence):
        return False
    names = (draft.answer, *draft.answers)
    return draft.fixed_answer or any(has_phrase(chunk, name) for chunk in chunks.values() for name in names)


def quotes_answer(draft: DraftQuestion) -> bool:
    """Return whether a question holds its answer; false of answers that are no names."""
    return not draft.fixed_answer and any(has_phrase(draft.question, name) for name in (draft.answer, *draft.answers))


def has_several_answers(draft: DraftQuestion, table: FactTable) -> bool:
    """Return whether another entity fits the pattern as well, or the name of the answer is that of several entities."""
    if draft.type == "unanswerable" or draft.pattern == "mentions":
        return False
    if not draft.fixed_answer and draft.type != "temporal" and draft.answer.casefold() not in table.text.owners:
        return True
    rivals = [_has_rival(fact, draft, table) for fact in draft.evidence if fact.clause]
    # Of an intersection, only an entity that fits both facts would be another answer.
    return all(rivals) and bool(rivals) if draft.pattern == "intersection" else any(rivals)


def _has_rival(fact: StatedFact, draft: DraftQuestion, table: FactTable) -> bool:
    """Return whether the graph or another sentence gives the fact another end than the one that is asked for.

    A sentence that has the name of the other end and the main word of the predicate is taken for one that does.
    """
    sentences = [item.sentence for item in table.facts if (item.subject, item.object) == (fact.subject, fact.object)]
    names = {name for item in draft.evidence for name in (item.subject, *item.names)}
    told = [*(item.sentence for item in draft.evidence), *table.list_descriptions(names, of_both_ends=True)]
    asks_for_object = draft.pattern in {"chain", "pair"} or (draft.pattern == "edge" and draft.answer == fact.object)
    if not fact.predicate:
        other_names = [name for name in fact.names if name != draft.answer]
        return (
            table.has_rival(fact.clause.split()[0], other_names[0], told, name_first=False)
            if other_names
            else table.has_twin(fact)
        )
    objects, subjects = table.ends
    end_sets = [
        objects[source, label] if asks_for_object else subjects[label, target] for source, label, target in fact.edges
    ]
    stated = {item.subject for item in draft.evidence} if draft.pattern == "star" else set[str]()
    if any(len(ends - stated) > (draft.pattern != "star") for ends in end_sets):
        return True
    name = fact.subject if asks_for_object else fact.object
    return table.has_rival(fact.predicate, name, [*sentences, *told], name_first=asks_for_object)


def is_duplicate(draft: DraftQuestion, earlier: DraftQuestion) -> bool:
    """Return whether two questions are alike, or ask for the same by the same evidence."""
    from rapidfuzz import fuzz

    if draft.question.casefold() == earlier.question.casefold():
        return True
    is_near = fuzz.ratio(draft.question, earlier.question) >= MIN_DUPLICATE_RATIO
    told = {(fact.chunk, fact.sentence) for fact in draft.evidence}
    same = draft.type == earlier.type != "unanswerable" and told == {
        (fact.chunk, fact.sentence) for fact in earlier.evidence
    }
    return same or (is_near and draft.answer == earlier.answer and draft.type not in {"unanswerable", "comparison"})
