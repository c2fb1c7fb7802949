"""The verdicts of a result as rows of a report."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field, JsonValue

from greval.records.consistency import find_contradictions
from greval.records.judgement_text import list_cited_items
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.records.result import Result


class ReportVerdict(Record):
    """One judgement or failure as a row of the report.

    `cited_items` are the ids of the items that the judge cites by number. `contradictions` are the reasons why the
    value contradicts a share among the notes.
    """

    sample_id: str
    method: str
    metric: str
    item: str | None
    value: str
    reason: str
    findings: tuple[str, ...] = ()
    notes: dict[str, JsonValue] = Field(default_factory=dict)
    cited_items: dict[str, str] = Field(default_factory=dict)
    contradictions: tuple[str, ...] = ()


def list_verdicts(result: Result, metric: JudgedMetric | None = None) -> Iterable[ReportVerdict]:
    """Yield the verdicts of a result, including its failures and skip; contradictions are found by the definition."""
    who = {"sample_id": result.sample_id, "method": result.method, "metric": result.metric}
    for judgement in result.judgements:
        wrong = metric and find_contradictions(metric, judgement.value, judgement.notes, judgement.votes)
        yield ReportVerdict(
            **who,
            item=judgement.item,
            value=str(judgement.value),
            reason=judgement.reason,
            findings=judgement.findings,
            notes=judgement.notes,
            cited_items=list_cited_items(judgement),
            contradictions=tuple((wrong or {}).values()),
        )
    for failure in result.failures:
        yield ReportVerdict(**who, item=failure.item, value=f"failed: {failure.kind}", reason=failure.message)
    for item in result.outcome.skipped_items if result.outcome.status == "scored" else ():
        yield ReportVerdict(**who, item=item.item, value="skipped", reason=item.reason)
    if result.outcome.status == "skipped":
        yield ReportVerdict(**who, item=None, value="skipped", reason=result.outcome.reason)
