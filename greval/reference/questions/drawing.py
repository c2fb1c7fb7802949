"""Drawing questions in turn from all types until there are enough, and the coverage of the index by them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from greval.reference.questions.checks import find_rejection, is_duplicate
from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.patterns import draw_questions
from greval.reference.questions.records import CoverageCount, DraftQuestion, QuestionType

CheckQuestions = Callable[[Sequence[DraftQuestion]], Awaitable[Sequence[DraftQuestion | None]]]
"""Words and checks several drawn questions; returns them in the same order, with the rejection of those that fail, or
None for those that were not checked because the command is to stop."""
MAX_CHECKED_PER_QUESTION = 4
"""How many questions are worded and checked for each that is wanted, so that rejections do not cost without end."""


@dataclass
class QuestionDraw:
    """The questions that were drawn so far: accepted, rejected, and failed ones.

    Args:
        table: The facts that questions are drawn from.
        types: The types to draw.
        count: The number of questions that are wanted.
        notes: What of the index is not used, and why.
    """

    table: FactTable
    types: Sequence[QuestionType]
    count: int
    notes: Sequence[str] = ()
    accepted: list[DraftQuestion] = field(default_factory=list)
    rejected: list[DraftQuestion] = field(default_factory=list)
    failed: list[DraftQuestion] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Draw the candidates of each type."""
        self._left: Mapping[QuestionType, Iterator[DraftQuestion]] = {
            kind: iter(draw_questions(self.table, kind)) for kind in self.types
        }

    @property
    def drawn(self) -> dict[str, int]:
        """The number of drawn questions by type."""
        return _count_types(self.types, [*self.accepted, *self.rejected, *self.failed])

    async def draw(self, check: CheckQuestions, batch: int) -> None:
        """Draw questions until there are enough or none are left, `batch` of them at a time.

        The type with the fewest accepted questions is drawn from next, so that all types have equally many as long as
        there are any.
        """
        open_types = [*self.types]
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

    def _take_candidates(self, open_types: list[QuestionType], most: int) -> list[DraftQuestion]:
        """Take candidates that pass the checks without a model; a type without any more is removed from the list."""
        candidates: list[DraftQuestion] = []
        while open_types and len(candidates) < most:
            counts = _count_types(open_types, [*self.accepted, *self.failed, *candidates])
            kind = min(open_types, key=counts.__getitem__)
            draft = next(self._left[kind], None)
            if draft is None:
                open_types.remove(kind)
                continue
            why = find_rejection(draft, self.table, [*self.accepted, *candidates])
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
        entities = {name for draft in self.accepted for fact in draft.evidence for name in (fact.subject, *fact.names)}
        edges = {edge for draft in self.accepted for edge in draft.gold.expected_edges or ()}
        return (
            CoverageCount(touched=len(documents), total=len({chunk.doc_id for chunk in text.chunks.values()})),
            CoverageCount(touched=len(entities), total=len(text.entities)),
            CoverageCount(touched=len(edges), total=len(text.relations)),
        )


def _count_types(types: Sequence[str], drafts: Sequence[DraftQuestion]) -> dict[str, int]:
    return {kind: sum(draft.type == kind for draft in drafts) for kind in types}
