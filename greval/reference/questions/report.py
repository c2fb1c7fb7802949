"""The report of a generation of questions, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from greval._util.wording import format_count
from greval.report.tables import format_cost

if TYPE_CHECKING:
    from greval.reference.questions.records import QuestionReport

REJECTION_TEXTS = {
    "answer_not_in_documents": "the answer is not in the gold documents",
    "several_answers": "ambiguous: another answer may be right too",
    "quotes_answer": "the question quotes the answer",
    "near_duplicate": "near-duplicate of another question",
    "changed_names": "the model's wording changed the names",
    "changed_answer": "the model gave a different answer",
    "changed_count": "the index counts something else for the model's wording",
    "not_answered_from_gold": "not answered from the gold documents",
    "answered_by_documents": "the documents may answer it (expected: unanswerable)",
    "answered_without_documents": "answered without any document",
    "no_reply": "the model's reply could not be read",
}
"""What each check found, by its name."""


def render(report: QuestionReport, console: Console) -> None:
    """Print how many questions were accepted, why others were not, and what they cover."""
    accepted, drawn = sum(report.accepted.values()), sum(report.drawn.values())
    head = f"{report.path}: {format_count(accepted, 'question')} of {report.asked:,} wanted, {drawn:,} drawn"
    # A path stays on one line, to be copied.
    console.print(escape(head), soft_wrap=True)
    for kind, count in report.accepted.items():
        console.print(f"  {kind:<13}{count:>5,} of {report.drawn.get(kind, 0):,} drawn")
    if report.rejected:
        console.print("left out:")
    for check, count in report.rejected.items():
        console.print(f"  {count:>5,}  {REJECTION_TEXTS[check]}")
    if report.failed:
        console.print(f"failed: {format_count(report.failed, 'question')}; the same command asks them again")
    for failure, count in report.failures.items():
        console.print(escape(f"  {count:>5,}  {failure}"), soft_wrap=True)
    for note in report.notes:
        console.print(escape(f"note: {note}"), soft_wrap=True)
    for line in _format_calls(report):
        console.print(escape(line), soft_wrap=True)
    parts = {"documents": report.documents, "entities": report.entities, "relations": report.relations}
    touched = (f"{count.touched:,} of {count.total:,} {what}" for what, count in parts.items())
    console.print(f"coverage: {', '.join(touched)}")
    console.print(escape(f"accepted and rejected drafts, with their evidence: {report.drafts}"), soft_wrap=True)


def _format_calls(report: QuestionReport) -> Iterator[str]:
    """Yield the models, what they were asked, what it cost, and the share of questions that passed their checks."""
    if report.judge is None:
        return
    yield f"model: {report.model or 'none, templates word the questions'}; judge: {report.judge}"
    if (forecast := report.forecast) is not None:
        tokens = f"{forecast.input_tokens:,} input and {forecast.output_tokens:,} output tokens"
        cost = format_cost(forecast.cost)
        calls = format_count(forecast.calls, "call")
        yield f"forecast: {calls}, about {tokens}, cost {cost}; more for each rejected draft"
        return
    if report.checked:
        accepted = sum(report.accepted.values())
        share = f"{accepted / report.checked:.0%}"
        yield f"accepted: {accepted:,} of {report.checked:,} that models worded or checked ({share})"
    usage, spent = report.usage, report.spent
    tokens = f"{usage.input_tokens or 0:,} input and {usage.output_tokens or 0:,} output tokens"
    reused = f", {usage.hits:,} reused" if usage.hits else ""
    yield f"calls: {usage.calls:,}{reused}, {tokens}, cost {format_cost(report.cost)}"
    if spent.calls != usage.calls:
        yield f"all commands for this file: {format_count(spent.calls, 'call')}, cost {format_cost(spent.cost)}"
