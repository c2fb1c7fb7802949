"""What a notebook shows of a run, a comparison, a duel, an agreement, an estimate or a probe.

These are the functions behind the methods of `NotebookDisplay`, which the findings inherit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

from rich.console import Console

from greval._util.notebook_display import FindingRenderers
from greval.analysis.comparison.records import Comparison
from greval.analysis.duel.records import Duel
from greval.analysis.summary import build_report
from greval.errors import MissingExtraError
from greval.report import agreement, comparison, console, duel, estimates, probe
from greval.report.finding_plots import (
    plot_agreement,
    plot_comparison,
    plot_duel,
    plot_estimate,
    plot_probe,
    plot_summaries,
)
from greval.report.finding_rows import (
    Row,
    list_agreement_rows,
    list_comparison_rows,
    list_duel_rows,
    list_estimate_rows,
    list_probe_rows,
)
from greval.report.html_console import HtmlConsole
from greval.report.plots import PlotAxis, draw_intervals
from greval.runs.evaluation import Run
from greval.runs.run_reader import find_directions, read_metrics
from greval.runs.store import Store
from greval.trust.agreement.records import Agreement
from greval.trust.estimates.records import Estimate
from greval.trust.probing.records import Probe

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TabledFinding = Comparison | Duel | Agreement | Estimate | Probe
"""A finding whose figures are in the record itself; those of a run are in its folder."""


def format_html(finding: Run | TabledFinding) -> str:
    """Format a finding as HTML, with the tables and sentences of the terminal report."""
    page = HtmlConsole()
    _render(finding, page)
    return f"<div>\n{page.html}\n</div>"


def _render(finding: Run | TabledFinding, page: Console) -> None:
    match finding:
        case Run(folder=folder):
            with Store.open(folder) as store:
                console.render(build_report(store), page)
        case Comparison():
            comparison.render(finding, page)
        case Duel():
            duel.render(finding, page)
        case Agreement():
            agreement.render(finding, page)
        case Estimate():
            estimates.render(finding, page)
        case Probe():
            probe.render(finding, page)
        case _:
            assert_never(finding)


def build_frame(finding: TabledFinding) -> pd.DataFrame:
    """Build a pandas DataFrame with a row for each figure.

    Raises:
        MissingExtraError: If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("stats", "pandas") from error
    return pd.DataFrame([*_list_rows(finding)])


def _list_rows(finding: TabledFinding) -> Iterator[Row]:
    match finding:
        case Comparison():
            return list_comparison_rows(finding)
        case Duel():
            return list_duel_rows(finding)
        case Agreement():
            return list_agreement_rows(finding)
        case Estimate():
            return list_estimate_rows(finding)
        case Probe():
            return list_probe_rows(finding)
        case _:
            assert_never(finding)


def draw(finding: Run | TabledFinding, by: str | Sequence[str] = ()) -> Figure:
    """Draw the figures of a finding with their intervals.

    Args:
        finding: What to draw.
        by: `method` or tag names, by which the cases of a run are grouped.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    return draw_intervals([*_list_plots(finding, by)])


def _list_plots(finding: Run | TabledFinding, by: str | Sequence[str]) -> Iterator[PlotAxis]:
    match finding:
        case Run(folder=folder):
            with Store.open(folder) as store:
                directions = find_directions(read_metrics(store))
            return plot_summaries(finding.summary(by), directions)
        case Comparison():
            return plot_comparison(finding)
        case Duel():
            return plot_duel(finding)
        case Agreement():
            return plot_agreement(finding)
        case Estimate():
            return plot_estimate(finding)
        case Probe():
            return plot_probe(finding)
        case _:
            assert_never(finding)


RENDERERS = FindingRenderers(format_html, build_frame, draw)
"""The functions that the package root registers for `NotebookDisplay`."""
