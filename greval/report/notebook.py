"""What `print` and a notebook show of a run, its worst cases, a comparison, duel, agreement, estimate or probe.

These are the functions behind the methods of `NotebookDisplay`, which the findings inherit.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from greval._util.notebook_display import FindingRenderers
from greval.analysis.comparison.records import Comparison
from greval.analysis.duel.records import Duel
from greval.analysis.history.records import RunHistory
from greval.analysis.summary import build_report
from greval.errors import MissingExtraError
from greval.report import agreement, comparison, console, duel, estimates, history, probe
from greval.report.finding_plots import (
    plot_agreement,
    plot_comparison,
    plot_duel,
    plot_estimate,
    plot_history,
    plot_probe,
    plot_summaries,
)
from greval.report.finding_rows import (
    Row,
    list_agreement_rows,
    list_comparison_rows,
    list_duel_rows,
    list_estimate_rows,
    list_history_rows,
    list_probe_rows,
)
from greval.report.html_console import HtmlConsole
from greval.report.plots import PlotAxis, draw_intervals
from greval.report.tables import ReportConsole
from greval.runs.evaluation import Run
from greval.runs.run_reader import find_directions, read_metrics
from greval.runs.store import Store
from greval.runs.worst_cases import WorstCaseList
from greval.trust.agreement.records import Agreement
from greval.trust.estimates.records import Estimate
from greval.trust.probing.records import Probe

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TabledFinding = Comparison | RunHistory | Duel | Agreement | Estimate | Probe
"""A finding whose figures are in the record itself; those of a run are in its folder."""
FORMS: Mapping[
    type[TabledFinding],
    tuple[Callable[[Any, Console], None], Callable[[Any], Iterator[Row]], Callable[[Any], Iterator[PlotAxis]]],
] = {
    Comparison: (comparison.render, list_comparison_rows, plot_comparison),
    RunHistory: (history.render, list_history_rows, plot_history),
    Duel: (duel.render, list_duel_rows, plot_duel),
    Agreement: (agreement.render, list_agreement_rows, plot_agreement),
    Estimate: (estimates.render, list_estimate_rows, plot_estimate),
    Probe: (probe.render, list_probe_rows, plot_probe),
}
"""The renderer of each kind of finding, the rows of its frame, and the axes of its plot."""


def format_text(finding: Run | WorstCaseList | TabledFinding) -> str:
    """Format a finding as the text that the command line prints, as wide as the terminal."""
    out = io.StringIO()
    # a notebook or an environment variable would make rich display it or add colours
    _render(finding, ReportConsole(file=out, force_terminal=False, force_jupyter=False))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().split("\n"))


def format_html(finding: Run | WorstCaseList | TabledFinding) -> str:
    """Format a finding as HTML, with the tables and sentences of the terminal report."""
    page = HtmlConsole()
    _render(finding, page)
    return page.html


def _render(finding: Run | WorstCaseList | TabledFinding, page: Console) -> None:
    """Print a finding to a console."""
    if isinstance(finding, Run):
        with Store.open(finding.folder) as store:
            console.render(build_report(store), page)
    elif isinstance(finding, WorstCaseList):
        for worst_cases in finding.by_metric:
            console.print_worst_cases(worst_cases, page)
    else:
        FORMS[type(finding)][0](finding, page)


def build_frame(finding: TabledFinding) -> pd.DataFrame:
    """Build a pandas DataFrame with a row for each figure."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("stats", "pandas") from error
    return pd.DataFrame([*FORMS[type(finding)][1](finding)])


def draw(finding: Run | TabledFinding, by: str | Sequence[str] = ()) -> Figure:
    """Draw the figures of a finding with their intervals; `by` groups the cases of a run by `method` or tags."""
    if not isinstance(finding, Run):
        return draw_intervals([*FORMS[type(finding)][2](finding)])
    with Store.open(finding.folder) as store:
        directions = find_directions(read_metrics(store))
    return draw_intervals([*plot_summaries(finding.summary(by), directions)])


RENDERERS = FindingRenderers(format_text, format_html, build_frame, draw)
"""The functions that the package root registers for `NotebookDisplay`."""
