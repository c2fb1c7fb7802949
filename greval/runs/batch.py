"""Runs through a provider's batch endpoint: submit a file of requests, then judge with the replies.

A batch run uses the normal runner and replaces only the model call. A request that has no reply so far is written to
a file. When the batch is done, its replies are stored in the run's journal, and the same run uses them. Requests
that are still open after that (a metric that builds on others, a verdict that could not be parsed) go into the next
file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Unpack, cast

from pydantic import JsonValue, ValidationError

from greval.datasets import RowFault
from greval.datasets.case_records import GivenCases, read_given
from greval.datasets.file_identity import identify_file
from greval.datasets.row_faults import none_readable
from greval.errors import DataError, JudgeError, StoppedError
from greval.judging.model.answer_format import Question, native
from greval.judging.model.client import Desk, JudgeClient, Line, reply_of
from greval.judging.model.hints import LOCAL
from greval.judging.model.judge import Judge
from greval.judging.model.openai_batch import BatchFiles, BatchState, read_line, request_line
from greval.judging.model.prices import FREE, Prices
from greval.judging.model.reply import Reply
from greval.judging.model.reply_cache import Replies
from greval.metrics.library import load, with_dependencies
from greval.records.case import Case
from greval.records.metric import JudgedMetric, Metric, ReasonDepth, define, set_reason_depth
from greval.records.record import Record
from greval.records.result import Failure, Usage
from greval.runs.evaluation import JOURNAL, Run, evaluate_async
from greval.runs.options import Options, prices_of
from greval.runs.worker import read_case, written

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_openai import ChatOpenAI

FOLDER = "batch"
CASES = "cases.jsonl"
REQUESTS = "requests.jsonl"
PLAN = "plan.json"
PLACED = "its question is in the next batch"
OPEN = "its answer has not come yet"
DISCOUNT = 0.5
"""The price of a batch relative to single calls. OpenAI, Anthropic and Google charge half."""
WIDTH = 64
"""The number of judgements processed concurrently. None of them waits for a model."""


class Plan(Record):
    """The settings of a batch run, stored in its folder so that the folder name is enough to resume it."""

    judge: Judge
    metrics: tuple[str, ...]
    definitions: tuple[dict[str, JsonValue], ...]
    repeats: int = 1
    sent: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()


class Batched(Record):
    """A submitted batch: its id, or None if no request was left to send, and the number of requests.

    `unread` has a message for each row that is not a case.
    """

    batch: str | None
    requests: int
    unread: tuple[str, ...] = ()


async def submit(
    cases: GivenCases,
    metrics: Sequence[Metric],
    judge: Judge,
    *,
    out: str | Path,
    repeats: int = 1,
    reason_depth: ReasonDepth | None = None,
) -> Batched:
    """Submit the requests of a run as a batch, without those whose results the run folder already holds.

    Args:
        cases: The cases to judge. They are stored in the run folder until the batch is done.
        metrics: Metric definitions. The metrics that they build on are added.
        judge: A judge of an OpenAI-compatible provider that has a batch endpoint.
        out: The run folder.
        repeats: How often each case is judged.
        reason_depth: How much the judge writes for each verdict, which overrides the metrics.

    Raises:
        JudgeError: If the judge does not support batches, or an earlier batch of this run is not collected yet.
        JudgeUnavailableError: If the provider does not accept the batch.
    """
    if judge.local or not judge.model.startswith("openai:"):
        raise JudgeError(f"{judge.label}: only openai:MODEL can be asked in batches")
    folder = Path(out) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    whole = set_reason_depth(with_dependencies(metrics), reason_depth)
    plan = Plan(
        judge=judge,
        metrics=tuple(metric.name for metric in whole),
        definitions=tuple(metric.model_dump(mode="json") for metric in whole if isinstance(metric, JudgedMetric)),
        repeats=repeats,
    )
    if (folder / PLAN).is_file():
        known = _plan(folder)
        if waiting := [batch for batch in known.sent if batch not in known.collected]:
            raise JudgeError(f"{out}: {', '.join(waiting)} is out; greval batch collect {out} comes first")
        plan = plan.model_copy(update={"sent": known.sent, "collected": known.collected})
    unread = _kept(cases, folder / CASES)
    sent = await _send(plan, Path(out))
    return sent.model_copy(update={"unread": tuple(unread)})


async def status(out: str | Path) -> dict[str, BatchState]:
    """Return the state of each batch of a run that was not collected yet, by batch id."""
    plan = _plan(Path(out) / FOLDER)
    files = await _files(plan)
    return {batch: await files.status(batch) for batch in plan.sent if batch not in plan.collected}


async def collect(out: str | Path, **options: Unpack[Options]) -> Run:
    """Fetch the replies of the submitted batches and judge with them.

    Args:
        out: The run folder.
        **options: Options of `evaluate_async`, such as `on_progress`, `on_result` and `prices`.

    Returns:
        The run, as far as replies are available. `submit` sends the requests that are still open.

    Raises:
        JudgeError: If a batch is not done yet, or no batch was submitted.
    """
    folder = Path(out) / FOLDER
    plan = _plan(folder)
    failed: dict[str, Reply] = {}
    waiting = [batch for batch in plan.sent if batch not in plan.collected]
    for batch in waiting:
        failed |= await _fetch(plan, batch, Path(out))
    run = await _run(plan, folder, Path(out), _answering(failed), options)
    _keep(folder, plan.model_copy(update={"collected": plan.sent}))
    return run


async def _send(plan: Plan, out: Path) -> Batched:
    """Write the requests to a file, submit them, and store the batch id as soon as it is known."""
    folder = out / FOLDER
    asked: set[str] = set()
    with (folder / REQUESTS).open("w", encoding="utf-8") as file:

        async def place(key: str, line: Line, question: Question, messages: list[BaseMessage]) -> NoReturn:
            if key not in asked:
                asked.add(key)
                model = cast("ChatOpenAI", line.model)
                file.write(request_line(key, model, messages, native(model, question)) + "\n")
            raise StoppedError(PLACED)

        await _run(plan, folder, out, place, {})
    if not asked:
        return Batched(batch=None, requests=0)
    with (folder / REQUESTS).open(encoding="utf-8") as lines:
        files = await _files(plan)
        batch = await files.submit(line.rstrip("\n") for line in lines)
    _keep(folder, plan.model_copy(update={"sent": (*plan.sent, batch)}))
    return Batched(batch=batch, requests=len(asked))


def _kept(cases: GivenCases, path: Path) -> list[str]:
    """Write the cases to a file, and return a message for each row that is not a case. Such rows are skipped."""
    unread: list[str] = []
    number = 0
    with path.open("w", encoding="utf-8") as file:
        for number, given in enumerate(read_given(cases), 1):
            try:
                file.write(written(read_case(given)) + "\n")
            except DataError as error:
                unread.append(str(error) if isinstance(given, RowFault) else f"cases, row {number}: {error}")
    if unread and len(unread) == number:
        raise none_readable(unread, number)
    return unread


def _cases(folder: Path) -> Iterator[Case]:
    """Yield the stored cases of a batch run."""
    with (folder / CASES).open(encoding="utf-8") as lines:
        for line in lines:
            yield Case.model_validate_json(line)


async def _run(plan: Plan, folder: Path, out: Path, desk: Desk, options: Options) -> Run:
    """Run the normal evaluation, with a source of stored replies instead of the judge's model."""
    own = {definition["name"]: define(definition) for definition in plan.definitions}
    metrics: list[Metric] = [own.get(name) or load(name) for name in plan.metrics]
    price = prices_of(options).of(plan.judge.label)
    table = {plan.judge.label: price.times(DISCOUNT)} if price else {}
    prices = Prices(models=table or {LOCAL: FREE}, as_of="the batch", source="half of the listed price")
    source = identify_file(folder / CASES)
    given: Options = {
        "repeats": plan.repeats,
        "concurrency": WIDTH,
        "origin": source,
        **options,
        "desk": desk,
        "prices": prices,
    }
    return await evaluate_async(_cases(folder), metrics, plan.judge, out=out, **given)


def _answering(failed: Mapping[str, Reply]) -> Desk:
    """Build the reply source for a collected batch.

    Replies are in the journal and failed requests are in `failed`; any other request is still open.
    """

    async def answer(key: str, line: Line, question: Question, messages: list[BaseMessage]) -> Reply:  # noqa: ARG001
        if key not in failed:
            raise StoppedError(OPEN)
        return failed[key]

    return answer


async def _fetch(plan: Plan, batch: str, out: Path) -> dict[str, Reply]:
    """Store the replies of a batch in the run's journal, and return the failed requests by key."""
    line = await JudgeClient(plan.judge).ready()
    model = cast("ChatOpenAI", line.model)
    failed: dict[str, Reply] = {}
    with Replies(out / JOURNAL, paid=True) as journal:
        async for text in (await _files(plan)).collect(batch):
            key, found = read_line(text, model)
            reply = Reply("", Usage(calls=1), found, key=key) if isinstance(found, Failure) else reply_of(found)
            if reply.failure:
                failed[key] = reply
            else:
                journal.put(replace(reply, key=key))
    return failed


async def _files(plan: Plan) -> BatchFiles:
    line = await JudgeClient(plan.judge).ready()
    return BatchFiles(cast("ChatOpenAI", line.model).root_async_client)


def _plan(folder: Path) -> Plan:
    """Read the settings of a batch run.

    Raises:
        JudgeError: If no batch was submitted from this folder.
    """
    try:
        return Plan.model_validate_json((folder / PLAN).read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        message = (
            f"{folder.parent}: no batch was sent from here; greval batch submit CASES -m METRIC -o {folder.parent}"
        )
        raise JudgeError(message) from error


def _keep(folder: Path, plan: Plan) -> None:
    """Write the settings of a batch run atomically."""
    new = folder / f"{PLAN}.new"
    new.write_text(plan.model_dump_json(indent=2), encoding="utf-8")
    new.replace(folder / PLAN)
