"""Findings as sections of a page: agreement with people, planted faults that were caught, and preferences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from greval._util.wording import format_names
from greval.analysis.duel.api import summarise_stored_duel
from greval.errors import DataError, MissingExtraError
from greval.report import agreement as agreement_report
from greval.report import duel as duel_report
from greval.report import probe as probe_report
from greval.report.agreement_verdict import format_verdict
from greval.report.html.table_view import TableView, read_tables
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.trust.agreement.api import agreement
from greval.trust.annotations.files import ANNOTATIONS_FILE, read_run_annotations
from greval.trust.probing.records import Probe


class FindingSection(NamedTuple):
    """A finding about the judge: its tables, the sentences that explain them, and its warnings."""

    title: str
    tables: tuple[TableView, ...]
    lines: tuple[str, ...]
    warnings: tuple[str, ...]


def list_agreements(store: Store) -> Iterator[FindingSection]:
    """Yield the agreement with people on each metric for which the run's folder has annotations."""
    if not (store.folder / ANNOTATIONS_FILE).is_file():
        return
    try:
        annotated = {one.metric for one in read_run_annotations(store.folder).annotations}
    except DataError as error:
        yield FindingSection(ANNOTATIONS_FILE, (), (), (str(error),))
        return
    for name in read_metrics(store):
        if name in annotated:
            yield _build_agreement(store, name)


def _build_agreement(store: Store, metric: str) -> FindingSection:
    try:
        found = agreement(store.folder, metric)
    except (DataError, MissingExtraError) as error:
        return FindingSection(metric, (), (), (f"no agreement: {error}",))
    return FindingSection(
        title=metric,
        tables=read_tables(agreement_report.build_tables(found)),
        lines=(
            f"{agreement_report.format_title(found)}.",
            format_verdict(found),
            *agreement_report.format_legend(found),
        ),
        warnings=found.warnings,
    )


def build_probe(probe: Probe) -> FindingSection:
    """Build the section of the faults that were planted for a metric."""
    return FindingSection(
        title=probe.metric,
        tables=read_tables(probe_report.build_tables(probe)),
        lines=tuple(probe_report.format_legend(probe)),
        warnings=tuple(probe_report.format_troubles(probe)),
    )


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
