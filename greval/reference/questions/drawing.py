"""Drawing questions in turn from all types until there are enough, and the checks that need no model.

These are: the answer is there, it is the only one, and the question is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from greval.reference.questions.counts import COUNT_PATTERNS, CountTable
from greval.reference.questions.descriptions import list_described_facts
from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.facts import IndexText, has_phrase, list_facts
from greval.reference.questions.patterns import draw_questions
from greval.reference.questions.records import (
    CountPattern,
    CoverageCount,
    DraftQuestion,
    QuestionType,
    Rejection,
    StatedFact,
)
from greval.reference.questions.sources import QuestionSource

CheckQuestions = Callable[[Sequence[DraftQuestion]], Awaitable[Sequence[DraftQuestion | None]]]
"""Words and checks several drawn questions; returns them in the same order, with the rejection of those that fail, or
None for those that were not checked because the command is to stop."""
MIN_DUPLICATE_RATIO = 92
"""The similarity in percent from which two questions with one answer are near duplicates."""
MAX_REPEATED_FACTS = 2
"""How many questions with one answer may rest on the same sentence."""
MAX_CHECKED_PER_QUESTION = 4
"""How many questions are worded and checked for each that is wanted, so that rejections do not cost without end."""


@dataclass
class QuestionDraw:
    """The questions that were drawn so far: accepted, rejected, and failed ones."""

    table: FactTable
    shares: Mapping[QuestionType | CountPattern, float]
    count: int
    notes: Sequence[str] = ()
    accepted: list[DraftQuestion] = field(default_factory=list)
    rejected: list[DraftQuestion] = field(default_factory=list)
    failed: list[DraftQuestion] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin to draw the candidates of each type."""
        self._left: Mapping[QuestionType | CountPattern, Iterator[DraftQuestion]] = {
            kind: draw_questions(self.table, kind, self.shares) for kind in self.shares
        }

    def count_types(self, drafts: Sequence[DraftQuestion]) -> dict[QuestionType | CountPattern, int]:
        """Count questions by the types and patterns that are drawn."""
        counts = Counter(draft.pattern if draft.pattern in self.shares else draft.type for draft in drafts)
        return {kind: counts[kind] for kind in self.shares}

    async def draw(self, check: CheckQuestions, batch: int) -> None:
        """Draw questions until there are enough or none are left, `batch` of them at a time.

        The type that is furthest from its share of the accepted questions is drawn from next, as long as there are any.
        """
        open_types = [*self.shares]
        remaining = self.count * MAX_CHECKED_PER_QUESTION
        # A failed question keeps its place, because the same command asks it again.
        while open_types and remaining and (missing := self.count - len(self.accepted) - len(self.failed)) > 0:
            candidates = self._take_candidates(open_types, min(batch, missing, remaining))
            remaining -= len(candidates)
            checked = await check(candidates)
            for draft in checked:
                if draft is not None:
                    self._sort_in(draft)
            if None in checked:
                return

    def _take_candidates(self, open_types: list[QuestionType | CountPattern], most: int) -> list[DraftQuestion]:
        """Take candidates that pass the checks without a model; a type without any more is removed from the list."""
        candidates: list[DraftQuestion] = []
        while open_types and len(candidates) < most:
            counts = self.count_types([*self.accepted, *self.failed, *candidates])
            kind = min(open_types, key=lambda name: counts[name] / self.shares[name])
            draft = next(self._left[kind], None)
            if draft is None:
                open_types.remove(kind)
                continue
            why = _find_rejection(draft, self.table, [*self.accepted, *candidates])
            if why:
                self.rejected.append(draft.model_copy(update={"rejected": why}))
            else:
                candidates.append(draft)
        return candidates

    def _sort_in(self, draft: DraftQuestion) -> None:
        if draft.failure is not None:
            self.failed.append(draft)
        elif draft.rejected:
            self.rejected.append(draft)
        elif draft.wording == "model" and any(is_duplicate(draft, earlier) for earlier in self.accepted):
            self.rejected.append(draft.model_copy(update={"rejected": "near_duplicate"}))
        else:
            self.accepted.append(draft.model_copy(update={"id": f"q{len(self.accepted) + 1:03}"}))

    def count_coverage(self) -> tuple[CoverageCount, CoverageCount, CoverageCount]:
        """Return how many documents, entities and relations of the index the accepted questions touch."""
        text = self.table.text
        documents = {fact.document for draft in self.accepted for fact in draft.evidence}
        facts = [fact for draft in self.accepted for fact in draft.evidence]
        entities = {text.get_bearer(name) for fact in facts for name in (fact.subject, *fact.names)}
        edges = {edge for draft in self.accepted for edge in draft.gold.expected_edges or ()}
        return (
            CoverageCount(touched=len(documents), total=len({chunk.doc_id for chunk in text.chunks.values()})),
            CoverageCount(touched=len(entities), total=len(text.entities.keys() - text.bearers)),
            CoverageCount(touched=len(edges), total=len(text.relations)),
        )


def build_draw(
    source: QuestionSource,
    shares: Mapping[QuestionType | CountPattern, float],
    count: int,
    seed: int,
    *,
    has_model: bool = False,
) -> QuestionDraw:
    """Read the facts of an index, and prepare to draw questions of these types and patterns, with their shares.

    Descriptions of relations are read if a model is to word the questions, because templates cannot.
    """
    text = source.text
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    facts = list_facts(text)
    random.shuffle(facts)
    described, unused = list_described_facts(text) if text.described and has_model else ([], [])
    random.shuffle(described)
    notes = (*source.notes, *unused, *(_describe_limits(shares, has_model=has_model) if text.described else ()))
    schema = source.index.manifest.graph_schema if source.index else None
    counts = CountTable(source.index, schema, text, seed) if source.index and schema else None
    return QuestionDraw(FactTable(text, facts, random, described, counts), shares, count, notes)


def _describe_limits(types: Collection[str], *, has_model: bool) -> Iterator[str]:
    """Yield what cannot be drawn of an index whose relations have descriptions, and why."""
    if not has_model:
        yield (
            "relations have descriptions and no predicates, which only a model can word: without one, all questions "
            "are about sentences that begin with the name of an entity"
        )
    if "comparison" in types:
        yield "comparison: cannot be drawn, because it needs two relations with one predicate"
    if "aggregation" in types:
        yield "aggregation: counts documents that mention a name only, because relations have no predicate to count by"


def _find_rejection(draft: DraftQuestion, table: FactTable, accepted: Sequence[DraftQuestion]) -> Rejection | None:
    """Return the first check that a question fails, given those accepted before; None if it passes all."""
    if not _has_answer_in_documents(draft, table.text):
        return "answer_not_in_documents"
    if quotes_answer(draft):
        return "quotes_answer"
    if _has_several_answers(draft, table):
        return "several_answers"
    if any(is_duplicate(draft, earlier) for earlier in accepted) or _repeats_fact(draft, accepted):
        return "near_duplicate"
    return None


def _repeats_fact(draft: DraftQuestion, accepted: Sequence[DraftQuestion]) -> bool:
    """Return whether enough questions with the same answer rest on one of the sentences."""
    same_answer = (earlier for earlier in accepted if earlier.answer == draft.answer)
    uses = Counter(fact.sentence for earlier in same_answer for fact in earlier.evidence if fact.clause)
    return any(uses[fact.sentence] >= MAX_REPEATED_FACTS for fact in draft.evidence if fact.clause)


def _has_answer_in_documents(draft: DraftQuestion, text: IndexText) -> bool:
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


def _has_several_answers(draft: DraftQuestion, table: FactTable) -> bool:
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
        return table.has_twin(fact, other_names, told)
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
    earlier_told = {(fact.chunk, fact.sentence) for fact in earlier.evidence}
    if "unanswerable" in {draft.type, earlier.type}:
        # With another name in it, the question is a copy of the one about the fact.
        return is_near or bool(told & earlier_told)
    # Different counts may be over the same sentences.
    is_count = draft.pattern in COUNT_PATTERNS
    same = not is_count and draft.type == earlier.type and told == earlier_told
    return same or (is_near and draft.answer == earlier.answer and draft.type != "comparison")
