"""The command line app with its commands and command groups."""

from __future__ import annotations

from typing import Annotated

import typer

import greval
from greval.cli import (
    agreement,
    align,
    argilla,
    audit,
    batch,
    cache,
    collect,
    compare,
    diagnose,
    estimate,
    evaluate,
    gold,
    judge,
    keys,
    local,
    metrics,
    panel,
    probe,
    serve,
)
from greval.cli import eval as evaluation
from greval.cli import report as run

app = typer.Typer(
    name="greval",
    help="Write down what good means for RAG and GraphRAG, have it judged, and know how sure each figure is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(metrics.app, name="metrics")
app.add_typer(judge.app, name="judge")
app.add_typer(local.app, name="local")
app.add_typer(batch.app, name="batch")
app.add_typer(cache.app, name="cache")
app.add_typer(argilla.app, name="argilla")
app.add_typer(gold.app, name="gold")
app.add_typer(keys.app, name="keys")
app.command("collect")(collect.collect)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(run.report)
app.command("results")(run.results)
app.command("compare")(compare.compare)
app.command("agreement")(agreement.agreement)
app.command("estimate")(estimate.estimate)
app.command("align")(align.align)
app.command("probe")(probe.probe)
app.command("panel")(panel.panel)
app.command("diagnose")(diagnose.diagnose)
app.command("audit")(audit.audit)
app.command("eval")(evaluation.evaluation)
app.command("merge")(run.merge)
app.command("demo")(evaluate.demo)
app.command("serve")(serve.serve)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        typer.echo(f"greval {greval.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Write down what good means for RAG and GraphRAG, have it judged, and know how sure each figure is."""
