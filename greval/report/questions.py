"""The report of a generation of questions, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from greval._util.wording import format_count

if TYPE_CHECKING:
    from greval.methods.questions.records import CoverageCount, QuestionReport

REJECTION_TEXTS = {
    "answer_not_in_documents": "the gold documents do not hold the answer",
    "several_answers": "another answer may be as right",
    "quotes_answer": "the question quotes the answer",
    "near_duplicate": "much like another question",
    "not_answered_from_gold": "not answered from the gold documents",
    "answered_without_documents": "answered without any document",
    "no_reply": "the model's reply could not be read",
}
"""What each check found, by its name."""


def render(report: QuestionReport, console: Console) -> None:
    """Print how many questions were accepted, why others were not, and what they cover."""
    accepted, drawn = sum(report.accepted.values()), sum(report.drawn.values())
    head = f"{report.path}: {format_count(accepted, 'question')} of {report.asked:,} wanted, {drawn:,} drawn"
    console.print(escape(head), soft_wrap=True)  # a path stays whole, to be copied
    for kind, count in report.accepted.items():
        console.print(f"  {kind:<13}{count:>5,} of {report.drawn.get(kind, 0):,} drawn")
    if report.rejected:
        console.print("left out:")
    for check, count in report.rejected.items():
        console.print(f"  {count:>5,}  {REJECTION_TEXTS[check]}")
    parts = ("documents", report.documents), ("entities", report.entities), ("relations", report.relations)
    console.print(f"coverage: {', '.join(_format_coverage(what, count) for what, count in parts)}")
    console.print(escape(f"each with its evidence, and those left out: {report.drafts}"), soft_wrap=True)


def _format_coverage(what: str, count: CoverageCount) -> str:
    return f"{count.touched:,} of {count.total:,} {what}"
