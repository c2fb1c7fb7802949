"""`greval demo --full`: judge the shipped cases, then compare two searches of the shipped documents without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from greval._util.files import write_atomically
from greval._util.wording import format_count
from greval.analysis.summary import build_report
from greval.apps import import_by_name
from greval.cli import FAILED, STOPPED, print_note
from greval.cli.collect import print_method_errors
from greval.cli.evaluate import judge_plan
from greval.cli.judge_options import JudgeOptions
from greval.cli.options import create_console
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import get_sample_fields
from greval.errors import GrevalError, MissingExtraError
from greval.judging.model.judge import check_judge
from greval.judging.model.judge_names import LOCAL
from greval.metrics.library import load_metric
from greval.records.case import Case, Sample
from greval.report.console import render
from greval.runs.config.judge_config import JudgeConfig
from greval.runs.config.model import RunConfig
from greval.runs.store import Store

if TYPE_CHECKING:
    from greval.methods.protocol import Method
    from greval.runs.evaluation import Run

JUDGED_METRICS = ("correctness", "chunk_evaluation", "triple_evaluation")
LOCAL_METRICS = ("correctness", "triple_evaluation")
CASE_COUNT, LOCAL_CASE_COUNT, SHOWN_VERDICTS = 6, 12, 12
LOCAL_NOTE = """\
chunk_evaluation is left out: the default embedded model misses nearly half of the relevant chunks, and half of those
that it calls relevant are not. Name another judge to see it: greval demo --full --judge openai:MODEL"""
"""The note that is printed if an embedded model judges; the figures are those of `benchmarks/chunks.py`."""
SEARCHES = ("basic", "hybrid")
SEARCH_METRICS = ("recall@5", "edge_recall-undirected-unlabelled")
"""Rules name a relation by the words of the text, so edges are compared without labels and directions."""
DATA = files("greval") / "demo"
CASES, DOCUMENTS = Path(str(DATA / "cases.jsonl")), Path(str(DATA / "documents.jsonl"))


def run_full_demo(out: Path, judge: str | None, limit: int | None) -> None:
    """Judge the first shipped cases, and compare two searches. The second part needs no judge."""
    fault: Exception | None = None
    try:
        _judge_shipped_cases(out, judge, limit)
    # Raised again below, because the other part needs no judge.
    except Exception as error:
        # Ctrl-C ends both parts.
        if isinstance(error, typer.Exit) and error.exit_code == STOPPED:
            raise
        fault = error
    else:
        typer.echo()
    run = _compare_searches(out.with_name(f"{out.name}-searches"))
    if isinstance(fault, MissingExtraError) and fault.extra == LOCAL:
        raise GrevalError(
            f"{fault} and run greval local fetch, or name another judge: greval demo --full --judge openai:MODEL"
        )
    if fault:
        raise fault
    if run and run.progress.failed:
        raise typer.Exit(FAILED)


def write_examples(folder: Path) -> None:
    """Write the shipped documents and questions to a folder."""
    documents, questions = folder / "documents.jsonl", folder / "questions.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(documents, DOCUMENTS.read_text(encoding="utf-8"))
    samples = _read_questions()
    rows = (sample.model_dump_json(exclude_none=True, exclude_defaults=True) for sample in samples)
    write_atomically(questions, "".join(f"{row}\n" for row in rows))
    typer.echo(f"{documents} and {questions}: {format_count(len(samples), 'question')}")


def _judge_shipped_cases(out: Path, name: str | None, limit: int | None) -> None:
    """Judge the shipped cases and print the report. The embedded model judges more cases, by fewer metrics."""
    from greval.runs.config.plan import prepare_run

    judge = JudgeOptions().create_judge(name)
    limit = limit or (LOCAL_CASE_COUNT if judge.local else CASE_COUNT)
    config = RunConfig(
        data=str(CASES),
        metrics=LOCAL_METRICS if judge.local else JUDGED_METRICS,
        judge=JudgeConfig(model=(judge.model,), settings=judge),
        out=str(out),
        limit=limit,
        show=SHOWN_VERDICTS,
    )
    check_judge(judge)
    if judge.local:
        typer.echo(LOCAL_NOTE)
    judge_plan(prepare_run(config, report=print_note))


def _compare_searches(folder: Path) -> Run | None:
    """Index the shipped documents, search them for the shipped questions, and print how much each search found.

    Returns:
        The run with the metrics of both searches; None if a package is missing, which is printed.
    """
    try:
        methods = _index_documents(folder / "index")
    except MissingExtraError as error:
        typer.echo(f"the comparison of searches is left out: {error}")
        return None
    samples = _read_questions()
    run = asyncio.run(_search_documents(samples, methods, folder))
    typer.echo(f"{format_count(len(samples), 'question')} by {' and '.join(SEARCHES)}, against gold:")
    with Store.open(run.folder) as store:
        render(build_report(store, by=("method",)), create_console())
    run_folder = quote(str(run.folder))
    commands = f"greval compare {run_folder}; greval index ask {quote(str(folder / 'index'))} QUESTION"
    typer.echo(f"searches: {run_folder}   ({commands})")
    return run


def _index_documents(folder: Path) -> dict[str, Method]:
    """Index the shipped documents and return the searches.

    Raises:
        MissingExtraError: If a package of the extra `reference` is not installed.
    """
    from greval.methods.loading import load_method

    report = import_by_name("greval.reference.building").build_index(DOCUMENTS, folder)
    typer.echo(f"{report.describe()}; by rules, without a model")
    return {name: load_method(f"reference:{folder}?search={name}&k=5") for name in SEARCHES}


def _read_questions() -> list[Sample]:
    """Read the shipped questions, each once."""
    cases = [row for row in read_cases(CASES) if isinstance(row, Case)]
    return [*{case.id: Sample(**get_sample_fields(case)) for case in cases}.values()]


async def _search_documents(samples: list[Sample], methods: Mapping[str, Method], folder: Path) -> Run:
    """Search for the questions by every method, and compute the metrics."""
    from greval.methods.collecting.api import collect_async
    from greval.runs.evaluation import evaluate_async

    collected = await collect_async(samples, methods, out=folder / "responses.jsonl")
    print_method_errors(collected)
    metrics = [load_metric(name) for name in SEARCH_METRICS]
    return await evaluate_async(collected.cases(), metrics, out=folder / "run")
