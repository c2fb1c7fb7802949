"""Runs through a provider's batch endpoint: a file of requests goes out, and what came back is judged as ever.

A batch run is an ordinary run whose judge is a desk: what is asked there for the first time is written
into a file; when the batch is done its answers lie in the run's journal, and the same run finds them.
What then is still open (a metric that builds on others, a verdict that could not be read) goes out
with the next file.
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
"""What a batch costs of the price of single calls; OpenAI, Anthropic and Google ask for half."""
WIDTH = 64
"""Judgements looked at side by side; nothing is waited for."""


class Plan(Record):
    """What a batch run is made of, kept in its folder: so that it can be gone on with by its name alone."""

    judge: Judge
    metrics: tuple[str, ...]
    definitions: tuple[dict[str, JsonValue], ...]
    repeats: int = 1
    sent: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()


class Batched(Record):
    """What was sent: the batch's name, None where nothing was left to ask, and how many requests.

    `unread` tells of each row that is no case.
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
    """Send what a run would ask as a batch; what the run folder holds is not asked.

    Args:
        cases: What is judged; kept in the run folder until the batch is done.
        metrics: Definitions; those that they build on are added.
        judge: A judge of an OpenAI-compatible provider that has a batch endpoint.
        out: The run folder.
        repeats: How often each case is judged.
        reason_depth: How much the judge writes for each verdict, in place of what the metrics say.

    Raises:
        JudgeError: Where the judge cannot be asked in batches, or a batch of this run is still out.
        JudgeUnavailableError: Where the provider does not take it.
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
    """Give how far the batches of a run are that were not collected yet, by their names."""
    plan = _plan(Path(out) / FOLDER)
    files = await _files(plan)
    return {batch: await files.status(batch) for batch in plan.sent if batch not in plan.collected}


async def collect(out: str | Path, **options: Unpack[Options]) -> Run:
    """Fetch what came back, and judge by it: the run as far as it is answered.

    Args:
        out: The run folder.
        **options: As those of `evaluate_async`: `on_progress`, `on_result`, `prices`.

    Returns:
        The run; `submit` sends what is still open.

    Raises:
        JudgeError: Where the batch is not done yet, or nothing was sent.
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
    """Write the requests down, send them, and keep the name of the batch as soon as there is one."""
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
    """Write the cases down, and give what is wrong with each row that is none: it stops no other."""
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
    """Read the cases of a batch run again."""
    with (folder / CASES).open(encoding="utf-8") as lines:
        for line in lines:
            yield Case.model_validate_json(line)


async def _run(plan: Plan, folder: Path, out: Path, desk: Desk, options: Options) -> Run:
    """Run as ever, with a desk in place of the judge's model."""
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
    """Give what answers from a batch: answers lie in the journal, failed requests here; the rest is open."""

    async def answer(key: str, line: Line, question: Question, messages: list[BaseMessage]) -> Reply:  # noqa: ARG001
        if key not in failed:
            raise StoppedError(OPEN)
        return failed[key]

    return answer


async def _fetch(plan: Plan, batch: str, out: Path) -> dict[str, Reply]:
    """Put the answers of a batch into the run's journal, and give the requests that failed."""
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
    """Read what a batch run is made of.

    Raises:
        JudgeError: Where nothing was sent from this folder.
    """
    try:
        return Plan.model_validate_json((folder / PLAN).read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        message = (
            f"{folder.parent}: no batch was sent from here; greval batch submit CASES -m METRIC -o {folder.parent}"
        )
        raise JudgeError(message) from error


def _keep(folder: Path, plan: Plan) -> None:
    """Write the plan down, whole or not at all."""
    new = folder / f"{PLAN}.new"
    new.write_text(plan.model_dump_json(indent=2), encoding="utf-8")
    new.replace(folder / PLAN)
