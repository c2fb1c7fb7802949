"""The preferences of a run as a section of its page: who wins against whom, and the habits of the judge."""

from __future__ import annotations

from collections.abc import Iterator

from greval._util.wording import format_names
from greval.analysis.duel.api import summarise_stored_duel
from greval.report import duel as duel_report
from greval.report.html.people import FindingSection
from greval.report.html.table_view import read_tables
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store


def list_preferences(store: Store) -> Iterator[FindingSection]:
    """Yield the section of all preferences of a run, if pairs were judged."""
    if not any(metric.is_preference for metric in read_metrics(store).values()):
        return
    found = summarise_stored_duel(store)
    if not found.metrics:
        return
    yield FindingSection(
        title=format_names(one.metric for one in found.metrics),
        tables=read_tables(duel_report.build_tables(found)),
        lines=tuple(duel_report.format_legend(found)),
        warnings=found.warnings,
    )
