"""The draw of questions from an index, the files of the drawn questions, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from greval._util.files import write_atomically
from greval._util.wording import format_names
from greval.errors import DataError
from greval.reference.questions.descriptions import list_described_facts
from greval.reference.questions.drawing import QuestionDraw
from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.facts import list_facts
from greval.reference.questions.records import QUESTION_TYPES, QuestionReport, QuestionType
from greval.reference.questions.sources import QuestionSource

DRAFTS_SUFFIX = ".drafts.jsonl"
"""The end of the name of the file with all drawn questions, in place of that of the questions."""


def check_arguments(path: Path, count: int, types: Sequence[str]) -> None:
    """Check the arguments of a generation of questions.

    Raises:
        DataError: If a type is unknown, none is given, the count is below 1, or the output is no `.jsonl` file.
    """
    if unknown := [kind for kind in types if kind not in QUESTION_TYPES]:
        raise DataError(f"types: {format_names(unknown)} unknown; the types are {', '.join(QUESTION_TYPES)}")
    if not types or count < 1:
        raise DataError(f"count, types: expected at least one of each, got {count} and {len(types)}")
    if path.suffix != ".jsonl" or path.is_dir():
        raise DataError(f"{path}: expected a file that ends in .jsonl for the questions; name another with -o")


def build_draw(
    source: QuestionSource, types: Sequence[QuestionType], count: int, seed: int, *, has_model: bool = False
) -> QuestionDraw:
    """Read the facts of an index, and prepare to draw questions of these types from them.

    Descriptions of relations are read if a model is to word the questions, because templates cannot.
    """
    text = source.text
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    facts = list_facts(text)
    random.shuffle(facts)
    described, unused = list_described_facts(text) if text.described and has_model else ([], [])
    random.shuffle(described)
    notes = (*source.notes, *unused, *(_describe_limits(types, has_model=has_model) if text.described else ()))
    return QuestionDraw(FactTable(text, facts, random, described), [*dict.fromkeys(types)], count, notes)


def _describe_limits(types: Sequence[QuestionType], *, has_model: bool) -> Iterator[str]:
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


def name_drafts_file(path: Path) -> Path:
    """Return the file of all drawn questions beside that of the questions.

    Example:
        >>> name_drafts_file(Path("questions.jsonl")).name
        'questions.drafts.jsonl'
    """
    return path.with_name(f"{path.stem}{DRAFTS_SUFFIX}")


def write_questions(path: Path, draw: QuestionDraw) -> None:
    """Write the accepted questions as samples, and all drawn questions with their evidence and rejection.

    Raises:
        DataError: If a file cannot be written.
    """
    samples = (draft.to_sample().model_dump_json(exclude_none=True) for draft in draw.accepted)
    drafts = (draft.model_dump_json() for draft in (*draw.accepted, *draw.rejected, *draw.failed))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(name_drafts_file(path), _join_lines(drafts))
        write_atomically(path, _join_lines(samples))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}; name another file with -o") from error


def _join_lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def build_report(path: Path, draw: QuestionDraw, **figures: Any) -> QuestionReport:  # noqa: ANN401 - fields of the report
    """Build the report of what was drawn; `figures` are the other fields of the report, such as the duration."""
    documents, entities, relations = draw.count_coverage()
    return QuestionReport(
        path=str(path),
        drafts=str(name_drafts_file(path)),
        asked=draw.count,
        drawn=draw.drawn,
        accepted={kind: sum(draft.type == kind for draft in draw.accepted) for kind in draw.types},
        rejected=dict(Counter(draft.rejected for draft in draw.rejected if draft.rejected).most_common()),
        model_worded=sum(draft.wording == "model" for draft in draw.accepted),
        checked=sum(
            draft.wording == "model" or draft.judge_answers is not None for draft in (*draw.accepted, *draw.rejected)
        ),
        failed=len(draw.failed),
        failures=dict(Counter(draft.failure for draft in draw.failed if draft.failure).most_common()),
        documents=documents,
        entities=entities,
        relations=relations,
        notes=draw.notes,
        **figures,
    )
