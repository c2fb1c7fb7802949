"""Runs through a provider's batch endpoint: submit a file of requests, then judge with the replies.

A batch run uses the normal runner and replaces only the model call. A request that has no reply so far is written to
a file. When the batch is done, its replies are stored in the run's journal, and the same run uses them. Requests
that are still open after that (a metric that builds on others, a verdict that could not be parsed) go into the next
file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Unpack, cast

from langchain_core.language_models import BaseChatModel
from pydantic import JsonValue, ValidationError

from greval._util.files import write_atomically
from greval.datasets.case_records import CaseRecords, dump_case, read_case, read_records
from greval.datasets.file_identity import identify_file
from greval.datasets.row_faults import RowFault, build_unreadable_error
from greval.errors import DataError, JudgeError, StoppedError
from greval.judging.model.answer_format import AnswerFormat, build_schema_arguments
from greval.judging.model.client import Connection, JudgeClient, ReplySource, read_reply
from greval.judging.model.judge import Judge
from greval.judging.model.judge_names import LOCAL
from greval.judging.model.openai_batch import BatchFiles, BatchState, format_batch_request, parse_batch_answer
from greval.judging.model.prices import FREE, Prices
from greval.judging.model.reply_cache import Reply, ReplyCache
from greval.metrics.library import find_metric
from greval.metrics.sources import resolve_metrics
from greval.records.case import Case
from greval.records.formula_metric import FileMetric, build_file_metric
from greval.records.metric import Metric, ReasonDepth, set_reason_depth
from greval.records.record import Record
from greval.records.result import Failure, Usage
from greval.runs.evaluation import JOURNAL, Run, evaluate_async
from greval.runs.judges import JudgeModel, choose_judges
from greval.runs.manifest import format_judges
from greval.runs.options import EvaluateOptions, get_asked_names, get_prices

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_openai import ChatOpenAI

BATCH_FOLDER = "batch"
CASES_FILE = "cases.jsonl"
REQUESTS_FILE = "requests.jsonl"
PLAN_FILE = "plan.json"
QUEUED = "its request is in the next batch"
UNANSWERED = "its reply is not available yet"
DISCOUNT = 0.5
"""The price of a batch relative to single calls. OpenAI, Anthropic and Google charge half."""
CONCURRENCY = 64
"""The number of judgements processed concurrently. None of them waits for a model."""


class BatchPlan(Record):
    """The settings of a batch run, stored in its folder so that the folder name is enough to resume it."""

    judge: Judge
    metrics: tuple[str, ...]
    definitions: tuple[dict[str, JsonValue], ...]
    asked: tuple[str, ...] | None = None
    repeats: int = 1
    sent: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()


class SubmittedBatch(Record):
    """A submitted batch: its id, or None if no request was left to send, and the number of requests.

    `skipped` is the number of results that need no request because the case lacks an input. `unread` has a message for
    each row that is not a case.
    """

    batch: str | None
    requests: int
    skipped: int = 0
    unread: tuple[str, ...] = ()


async def submit(  # noqa: PLR0913 - what a run is made of
    cases: CaseRecords,
    metrics: Sequence[Metric],
    judge: Judge | None,
    *,
    out: str | Path,
    judges: Mapping[str, Judge | BaseChatModel] | None = None,
    repeats: int = 1,
    reason_depth: ReasonDepth | None = None,
    asked: Collection[str] | None = None,
) -> SubmittedBatch:
    """Submit the requests of a run as a batch, without those whose results the run folder already holds.

    The arguments are those of `evaluate`. All metrics must have the same judge, of an OpenAI-compatible provider that
    has a batch endpoint. The cases are stored in the run folder until the batch is done.
    """
    loaded = resolve_metrics(metrics)
    all_metrics = set_reason_depth(loaded.metrics, reason_depth)
    chosen = choose_judges(all_metrics, judge, judges)
    if len(chosen.groups) != 1:
        labels = {name: [group.label] for group in chosen.groups for name in group.metrics}
        raise JudgeError(
            f"a batch has one judge, and these metrics have {format_judges(labels) or 'none'}; "
            "submit the metrics of each judge to a run folder of their own"
        )
    (group,) = chosen.groups
    judge = _require_batch_endpoint(group.judge)
    folder = Path(out) / BATCH_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    plan = BatchPlan(
        judge=judge,
        metrics=tuple(metric.name for metric in all_metrics),
        definitions=tuple(
            # The judge of the plan is that of all metrics; a name in a definition would choose another one.
            {key: part for key, part in metric.model_dump(mode="json").items() if key != "judge"}
            for metric in all_metrics
            if isinstance(metric, FileMetric)
        ),
        asked=tuple(sorted(get_asked_names(loaded.asked, {"asked": asked}))),
        repeats=repeats,
    )
    if (folder / PLAN_FILE).is_file():
        earlier_plan = _read_plan(folder)
        if waiting := [batch for batch in earlier_plan.sent if batch not in earlier_plan.collected]:
            raise JudgeError(f"{out}: {', '.join(waiting)} is not collected yet; run greval batch collect {out} first")
        plan = plan.model_copy(update={"sent": earlier_plan.sent, "collected": earlier_plan.collected})
    unread = _write_cases(cases, folder / CASES_FILE)
    sent = await _submit_requests(plan, Path(out))
    return sent.model_copy(update={"unread": tuple(unread)})


def _require_batch_endpoint(judge: JudgeModel) -> Judge:
    """Return the judge if its provider may have a batch endpoint."""
    if not isinstance(judge, Judge) or judge.local or not judge.model.startswith("openai:"):
        label = judge.label if isinstance(judge, Judge) else type(judge).__name__
        raise JudgeError(
            f"{label}: expected openai:MODEL, because only OpenAI-compatible servers have a batch endpoint"
        )
    return judge


async def read_status(out: str | Path) -> dict[str, BatchState]:
    """Return the state of each batch of a run that was not collected yet, by batch id."""
    plan = _read_plan(Path(out) / BATCH_FOLDER)
    files = await _open_batch_files(plan)
    return {batch: await files.status(batch) for batch in plan.sent if batch not in plan.collected}


async def collect(out: str | Path, **options: Unpack[EvaluateOptions]) -> Run:
    """Fetch the replies of the submitted batches and judge with them.

    Args:
        out: The run folder.
        **options: Options of `evaluate_async`, such as `on_progress`, `on_result` and `prices`.

    Returns:
        The run, as far as replies are available. `submit` sends the requests that are still open.

    Raises:
        JudgeError: If a batch is not done yet, or no batch was submitted.
    """
    folder = Path(out) / BATCH_FOLDER
    plan = _read_plan(folder)
    failed: dict[str, Reply] = {}
    waiting = [batch for batch in plan.sent if batch not in plan.collected]
    for batch in waiting:
        failed |= await _fetch_replies(plan, batch, Path(out))
    run = await _evaluate(plan, folder, Path(out), _build_reply_source(failed), options)
    # Last, so that a batch whose collection failed can be collected again.
    _write_plan(folder, plan.model_copy(update={"collected": plan.sent}))
    return run


async def _submit_requests(plan: BatchPlan, out: Path) -> SubmittedBatch:
    """Write the requests to a file, submit them, and store the batch id as soon as it is known."""
    folder = out / BATCH_FOLDER
    submitted: set[str] = set()
    with (folder / REQUESTS_FILE).open("w", encoding="utf-8") as file:

        async def queue_request(
            key: str, line: Connection, question: AnswerFormat, messages: list[BaseMessage]
        ) -> NoReturn:
            if key not in submitted:
                submitted.add(key)
                model = cast("ChatOpenAI", await line.load_model())
                file.write(format_batch_request(key, model, messages, build_schema_arguments(model, question)) + "\n")
            # The judgement ends here without a result, so that `collect` finds it open.
            raise StoppedError(QUEUED)

        run = await _evaluate(plan, folder, out, queue_request, {})
    if not submitted:
        return SubmittedBatch(batch=None, requests=0, skipped=run.progress.skipped)
    # The requests are read from the file, which may hold more than fits in memory.
    with (folder / REQUESTS_FILE).open(encoding="utf-8") as lines:
        files = await _open_batch_files(plan)
        batch = await files.submit(line.rstrip("\n") for line in lines)
    _write_plan(folder, plan.model_copy(update={"sent": (*plan.sent, batch)}))
    return SubmittedBatch(batch=batch, requests=len(submitted), skipped=run.progress.skipped)


def _write_cases(cases: CaseRecords, path: Path) -> list[str]:
    """Write the cases to a file, and return a message for each row that is not a case. Such rows are skipped."""
    unread: list[str] = []
    number = 0
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(read_records(cases), 1):
            try:
                file.write(dump_case(read_case(record)) + "\n")
            except DataError as error:
                unread.append(str(error) if isinstance(record, RowFault) else f"cases, row {number}: {error}")
    if unread and len(unread) == number:
        raise build_unreadable_error(unread, number)
    return unread


def _read_cases(folder: Path) -> Iterator[Case]:
    with (folder / CASES_FILE).open(encoding="utf-8") as lines:
        for line in lines:
            yield Case.model_validate_json(line)


async def _evaluate(
    plan: BatchPlan, folder: Path, out: Path, reply_source: ReplySource, options: EvaluateOptions
) -> Run:
    """Run the normal evaluation, with a source of stored replies instead of the judge's model."""
    file_metrics = {definition["name"]: build_file_metric(definition) for definition in plan.definitions}
    metrics: list[Metric] = [file_metrics.get(name) or find_metric(name) for name in plan.metrics]
    price = get_prices(options).of(plan.judge.label)
    table = {plan.judge.label: price.multiply_by(DISCOUNT)} if price else {}
    # A table of prices must not be empty.
    prices = Prices(models=table or {LOCAL: FREE}, as_of="the batch", source="half of the listed price")
    source = identify_file(folder / CASES_FILE)
    # A caller may change the keys before the options, and must not change those after them.
    evaluate_options: EvaluateOptions = {
        "repeats": plan.repeats,
        "asked": plan.asked,
        "concurrency": CONCURRENCY,
        "origin": source,
        **options,
        "reply_source": reply_source,
        "prices": prices,
    }
    return await evaluate_async(_read_cases(folder), metrics, plan.judge, out=out, **evaluate_options)


def _build_reply_source(failed: Mapping[str, Reply]) -> ReplySource:
    """Build the reply source for a collected batch.

    Replies are in the journal and failed requests are in `failed`; any other request is still open.
    """

    async def answer(key: str, line: Connection, question: AnswerFormat, messages: list[BaseMessage]) -> Reply:  # noqa: ARG001
        if key not in failed:
            raise StoppedError(UNANSWERED)
        return failed[key]

    return answer


async def _fetch_replies(plan: BatchPlan, batch: str, out: Path) -> dict[str, Reply]:
    """Store the replies of a batch in the run's journal, and return the failed requests by key."""
    model = cast("ChatOpenAI", await (await JudgeClient(plan.judge).ready()).load_model())
    failed: dict[str, Reply] = {}
    with ReplyCache(out / JOURNAL, paid=True) as journal:
        async for text in (await _open_batch_files(plan)).collect(batch):
            key, answer = parse_batch_answer(text, model)
            reply = Reply("", Usage(calls=1), answer, key=key) if isinstance(answer, Failure) else read_reply(answer)
            # The journal never holds a failure, so that the next `submit` asks again.
            if reply.failure:
                failed[key] = reply
            else:
                journal.put(reply._replace(key=key))
    return failed


async def _open_batch_files(plan: BatchPlan) -> BatchFiles:
    model = await (await JudgeClient(plan.judge).ready()).load_model()
    return BatchFiles(cast("ChatOpenAI", model).root_async_client)


def _read_plan(folder: Path) -> BatchPlan:
    """Read the settings of a batch run."""
    try:
        return BatchPlan.model_validate_json((folder / PLAN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        command = f"greval batch submit CASES -m METRIC -o {folder.parent}"
        raise JudgeError(f"{folder.parent}: no batch was submitted from this folder; run {command}") from error


def _write_plan(folder: Path, plan: BatchPlan) -> None:
    write_atomically(folder / PLAN_FILE, plan.model_dump_json(indent=2))
