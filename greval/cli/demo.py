"""`greval demo`: what greval finds in a shipped run, then a few cases that the judge judges while one watches."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.console import Console

from greval.analysis.diagnosis.records import LOSSES, tabulate
from greval.cli import STOPPED
from greval.cli.judge_options import JudgeName
from greval.cli.options import create_console
from greval.datasets.case_reader import read_cases
from greval.errors import GrevalError
from greval.records.case import Case
from greval.report.tables import build_fields, print_line, print_lines
from greval.runs.store import Store, is_begun

DATA = Path(str(files("greval"))) / "demo"
SHIPPED_RUN = DATA / "run"
METRICS = ("correctness", "completeness")
"""The judged metrics of the shipped run and of the live part; the first decides which answers are right."""
QUERY_TYPE, QUERY_TYPES = "query_type", ("single_fact", "multi_hop", "dependency_chain")
"""The tag of the type of a question, and the types of the questions of the shipped run."""
METHODS = ("local", "walk")
"""The methods: `local` looks up passages, `walk` follows the graph."""
SHOWN_WORST = 20
"""One of this number of worst cases is shown."""
LIVE_CASES = (("q29", "walk"), ("q29", "local"), ("q28", "local"))
"""The cases of the live part: a right answer, one with a wrong number, and a refusal."""
ORIGIN = (
    "A ferry company's documents, questions on one fact and on several, answered in two ways: `local` looks up "
    "passages, `walk` follows a graph. Documents and answers are invented. The embedded model judged the answers "
    "beforehand; its verdicts are shown as it gave them. The labels that it is checked by were written by the "
    "authors of the demo."
)
NEXT = """\
Now with a file of your own (CSV, JSON lines, Excel):
  greval data FILE                                      what its columns are read as
  greval evaluate FILE -m correctness --judge local     or openai:MODEL, or any other provider
  greval compare RUN                                    which method is better
  greval report RUN --worst 5                           the worst cases with the reasons"""


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="the run folder")] = Path("runs/demo"),
    judge: JudgeName = "local",
    fetch: Annotated[bool, typer.Option("--fetch", help="fetch the embedded model first if it is missing")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="judge more cases, and compare two searches of the documents")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="with --full: judge the first N cases; 6, and 12 with --judge local"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="only write the example documents and questions to DIR, to try greval with"),
    ] = None,
) -> None:
    """Show what greval finds in a run, then judge three cases.

    The run is shipped with greval, with the verdicts of the embedded model; no model is needed for it.
    """
    from greval.cli.full_demo import run_full_demo, write_examples

    if write:
        write_examples(write)
        return
    if full:
        run_full_demo(out, judge, limit)
        return
    console = create_console()
    copy_shipped_run(out)
    show_run(out, console)
    cases = {(case.id, case.method): case for case in read_demo_cases()}
    try:
        from greval.cli.live_judging import judge_live

        judge_live([cases[key] for key in LIVE_CASES], METRICS, judge, console, fetch=fetch)
    except KeyboardInterrupt:
        console.print()
        raise typer.Exit(STOPPED) from None
    except GrevalError as error:
        print_line(console, f"The live part is left out: {error}", "yellow")
    console.print()
    print_lines(console, NEXT.splitlines())


def read_demo_cases() -> Iterator[Case]:
    """Yield the cases of the shipped run."""
    for name in ("cases.jsonl", "multi_hop.jsonl"):
        for row in read_cases(DATA / name):
            if isinstance(row, Case) and row.tags[QUERY_TYPE] in QUERY_TYPES:
                yield row


def copy_shipped_run(folder: Path) -> None:
    """Copy the shipped run into a folder, unless a run is there."""
    if not is_begun(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path in SHIPPED_RUN.iterdir():
            shutil.copyfile(path, folder / path.name)


def show_run(folder: Path, console: Console) -> None:
    """Print what greval finds in the run, each part after the command that prints it, and write its page."""
    from greval.analysis.comparison.api import compare
    from greval.analysis.diagnosis.api import diagnose_run, read_newest_cases
    from greval.analysis.summary import build_report
    from greval.cli.report_output import write_shared_file
    from greval.report.agreement import format_verdict
    from greval.report.comparison import print_findings
    from greval.report.console import list_case_fields
    from greval.report.diagnosis import print_cases, render
    from greval.report.html.page import PageContent, build_report_page
    from greval.report.walk import format_walk_tree
    from greval.trust.agreement.api import agreement

    run, metric = quote(str(folder)), METRICS[0]
    print_line(console, ORIGIN)
    _print_step(console, f"compare {run} --metric {metric} --by {QUERY_TYPE}")
    print_findings(compare(folder, metrics=[metric], by=QUERY_TYPE), console)
    with Store.open(folder) as store:
        report = build_report(store, worst=SHOWN_WORST, metrics=[metric])
        diagnoses = tabulate(diagnose_run(store))
        cases = {(case.id, case.method): case for case in read_newest_cases(store)}
        page = build_report_page(store, report, PageContent(made=datetime.now(UTC), command="greval demo"))
    causes = {(row.sample_id, row.method): row for row in diagnoses.rows}
    # An answer that lacks evidence, to a question that the walk answers.
    worst = next(
        case
        for case in report.worst[0].cases
        if causes[case.sample_id, case.method].cause in LOSSES
        and causes[case.sample_id, METHODS[1]].cause == "answered rightly"
    )
    _print_step(console, f"report {run} --worst 5")
    print_line(console, f"{worst.sample_id} {worst.method}")
    console.print(build_fields(list_case_fields(worst)))
    row = causes[worst.sample_id, worst.method]
    _print_step(console, f"diagnose {run} --show '{row.cause}'")
    print_cases(row.cause, tabulate([row]), console)
    render(diagnoses, console, title="why answers are wrong")
    walked = cases[worst.sample_id, METHODS[1]]
    _print_step(console, f"diagnose {run} --svg {run}/walks")
    print_line(console, f"{METHODS[1]} answers {worst.sample_id}: {walked.answer}")
    if walked.traversal:
        print_lines(console, format_walk_tree(walked.traversal, walked.gold).splitlines())
    for name in METRICS:
        _print_step(console, f"agreement {run} -m {name}")
        print_line(console, format_verdict(agreement(folder, name)))
    _print_step(console, f"report {run} --html {run}/report.html")
    write_shared_file(folder / "report.html", page)


def _print_step(console: Console, command: str) -> None:
    """Print the command that shows what follows, and more of it."""
    console.print()
    print_line(console, f"$ greval {command}", "bold")
