"""`greval argilla push` and `pull`: exchange judged items and annotations with an Argilla server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.wording import format_count

if TYPE_CHECKING:
    from greval.trust.argilla.pull import PullResult
    from greval.trust.argilla.push import PushResult

app = typer.Typer(
    help="Exchange judged items and annotations with Argilla. ARGILLA_API_KEY holds the key.", no_args_is_help=True
)

Run = Annotated[Path, typer.Argument(help="a run folder")]
DatasetName = Annotated[str, typer.Option("--dataset", metavar="NAME", help="the dataset in Argilla")]
Workspace = Annotated[
    str | None, typer.Option("--workspace", metavar="NAME", help="its workspace; not needed if there is only one")
]
Url = Annotated[
    str | None, typer.Option("--url", envvar="ARGILLA_API_URL", metavar="URL", help="the address of the Argilla server")
]


@app.command("push")
def push(  # noqa: PLR0913 - the options of a command
    run: Run,
    *,
    metrics: Annotated[
        list[str],
        typer.Option("--metric", "-m", metavar="METRIC", help="a judged metric of the run; repeat for several"),
    ],
    dataset: DatasetName,
    workspace: Workspace = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:N",
            help="random:N; stratified:N, evenly by verdict; uncertain:N, doubtful ones more often; all by default",
        ),
    ] = None,
    suggestions: Annotated[
        bool, typer.Option("--with-suggestions/--blind", help="whether people see the judge's verdicts as suggestions")
    ] = False,
    min_submitted: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="the number of people who judge each item; 2 by default")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="the random seed of the sample")] = 0,
    url: Url = None,
) -> None:
    """Push judged items to Argilla for annotation. Pushing again adds new items and changes nothing else."""
    from greval.trust.argilla.push import push_to_argilla as pushed

    done = pushed(
        run,
        metrics,
        dataset=dataset,
        workspace=workspace,
        sample=sample,
        suggestions=suggestions,
        min_submitted=min_submitted,
        seed=seed,
        url=url,
    )
    for line in describe_push(done):
        typer.echo(line)


@app.command("pull")
def pull(
    run: Run,
    *,
    dataset: DatasetName,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", metavar="METRIC", help="a judged metric; by default all that questions are named after"
        ),
    ] = None,
    workspace: Workspace = None,
    url: Url = None,
) -> None:
    """Pull annotations into annotations.jsonl of the run. Only submitted answers count as judgements."""
    from greval.trust.argilla.pull import pull_from_argilla as pulled

    for line in describe_pull(pulled(run, dataset=dataset, metrics=metrics, workspace=workspace, url=url)):
        typer.echo(line)


def describe_push(done: PushResult) -> Iterator[str]:
    """Yield the lines that describe a push."""
    drawn = f"{done.drawn:,} of {done.judged:,} drawn ({done.sample})" if done.sample else f"all {done.judged:,}"
    yield f"{done.dataset} in workspace {done.workspace}: items judged by {', '.join(done.metrics)}, {drawn}"
    yield f"{done.added:,} records added, {done.known:,} existed"
    if done.changed:
        yield f"{done.changed:,} of them changed since they were pushed: the old records stay with their answers"
    if done.suggested:
        yield f"{done.suggested:,} of those that existed were given suggestions"
    if done.suggestions:
        yield "people see the judge's verdicts, which biases their answers: not a fair measure of the judge"
    yield f"people answer at {done.page}"


def describe_pull(done: PullResult) -> Iterator[str]:
    """Yield the lines that describe a pull."""
    submitted = sum(counts.submitted for counts in done.annotators)
    answered = done.records - done.unanswered
    answers, records = format_count(submitted, "submitted answer"), format_count(done.records, "record")
    yield f"{done.path}: {answers} on {answered:,} of {records}"
    for counts in done.annotators:
        parts = counts.model_dump(include={"submitted", "draft", "discarded", "pending"})
        yield f"  {counts.annotator}: {', '.join(f'{count:,} {status}' for status, count in parts.items())}"
    if done.edited:
        yield (
            f"{format_count(done.edited, 'record')} edited in Argilla, so that people saw another text than the judge; "
            "agreement leaves these answers out"
        )
    if done.outdated:
        answers = format_count(done.outdated, "answer")
        yield f"{answers} on texts that have changed in the run since: left in {done.outdated_path}"
    if done.unknown:
        yield f"{format_count(done.unknown, 'record')} not pushed by greval, and of no item of the run: left out"
    for name, count in done.gone.items():
        answers = format_count(count, "answer")
        yield f"{answers} of {name} no longer there (an account deleted?): moved to {done.gone_path}"
