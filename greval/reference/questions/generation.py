"""Generation of questions with gold from an index: draw them, word and check them with models, and write samples.

Models are optional. Their replies are kept beside the file, so that the same command repeats no call.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack, cast

from pydantic import ValidationError

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval._util.files import write_atomically
from greval._util.wording import format_names
from greval.errors import DataError, MethodError, StoppedError, StoreError
from greval.judging.model.budget import ASSUMED_OUTPUT_TOKENS, RunGuard, RunSpending
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.prices import Prices
from greval.judging.model.reply_cache import ReplyCache
from greval.judging.model.tokens import estimate_tokens
from greval.records.result import Usage
from greval.reference.index import ReferenceIndex
from greval.reference.questions.counts import COUNT_PATTERNS, is_counted
from greval.reference.questions.drawing import QuestionDraw, build_draw
from greval.reference.questions.model_checks import QuestionModel, check_with_judge, word_question
from greval.reference.questions.prompts import (
    build_agreement_messages,
    build_answers_messages,
    build_recall_messages,
    build_wording_messages,
)
from greval.reference.questions.records import (
    QUESTION_TYPES,
    CallForecast,
    CountPattern,
    DraftQuestion,
    QuestionReport,
    QuestionType,
)
from greval.reference.questions.sources import FindChunks, open_question_source
from greval.runs.evaluation import stop_on_request
from greval.runs.judges import (
    JudgeGroup,
    JudgeModel,
    RunJudges,
    build_judge_guard,
    build_run_guard,
    is_same_judge,
)
from greval.runs.options import get_concurrency

BATCH = 16
"""The number of questions that models work on at a time. It is fixed, so that the same command draws the same ones."""
REPLIES_SUFFIX, SPENT_SUFFIX = ".replies.sqlite", ".spent.json"
"""The ends of the names of the files with the replies of models, and with what all commands spent."""


class QuestionOptions(TypedDict, total=False):
    """Options of a generation of questions; see `generate_questions`."""

    types: Collection[str] | Mapping[str, float]
    seed: int
    write: bool
    model: JudgeModel | None
    judge: JudgeModel | None
    concurrency: int | None
    max_calls: int | None
    max_cost: float | None
    deadline: float | None
    prices: Prices | None


def generate_questions(
    index: str | Path | ReferenceIndex,
    out: str | Path,
    count: int = 50,
    **options: Unpack[QuestionOptions],
) -> QuestionReport:
    """Draw questions with gold from an index, and write them as samples that `read_cases` reads.

    A question is made of sentences that are clear by themselves. Its gold documents, edges, nodes and answer are those
    of the sentences. A question that fails a check is left out and counted; the file of drafts has it with the reason.

    Args:
        index: The folder of an index of greval, Microsoft GraphRAG or LightRAG, or an open one of greval. With
            `?document=title` after a folder of GraphRAG, or `?document=path` after one of LightRAG, documents are
            identified by these.
        out: The file of questions, `.jsonl`. The drafts are written beside it, and with models also their replies.
        count: The number of questions; fewer are written if the texts do not hold as many.
        **options: `types`: the types of questions, and of an index with a schema also patterns of counts
            (`CountPattern`), which get equally many as long as there are any, or their shares if it is a mapping; all
            types by default.
            `seed` (0): the random seed. The same index, seed and replies give the same questions. `write` (true): if
            false, no file is written and no call is made; with models, the report has a forecast of the calls. `model`:
            the model that words the drawn questions, as settings of a judge or a chat model; without it they have the
            words of templates. `judge`: the model that checks them, by default `model`. `concurrency`: the maximum
            number of concurrent calls. `max_calls`, `max_cost` (US dollars): the budget, counted over all commands for
            this file, at which generation stops cleanly. `deadline`: a timeout in seconds. `prices`: the price table.

    Raises:
        DataError: If the folder holds no index or the index lacks what questions need, a type is unknown, or the output
            is no `.jsonl` file.
        JudgeError: If a model cannot be used at all, or there is a cap on the cost but no price.
        MissingExtraError: If a package of the extra `reference` is missing.
        StoreError: If the replies cannot be stored.
        TypeError: If an option does not exist.

    Example:
        >>> import tempfile
        >>> from greval.reference.building import build_index
        >>> from greval.reference.records import Document
        >>> from greval.reference.settings import IndexSettings
        >>> ferry = Document(id="ferry", text="Old Tansy is owned by Team Petrel. At night Old Tansy stays in port.")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = build_index([ferry], f"{folder}/index", IndexSettings(embedding="tfidf"))
        ...     report = generate_questions(f"{folder}/index", f"{folder}/q.jsonl", types=["single_fact"])
        >>> report.accepted
        {'single_fact': 1}
    """
    return run_sync(generate_questions_async(index, out, count, **options))


async def generate_questions_async(
    index: str | Path | ReferenceIndex,
    out: str | Path,
    count: int = 50,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[QuestionOptions],
) -> QuestionReport:
    """Generate questions as `generate_questions` does; when `stop` is set, finish the calls in flight and stop."""
    check_options(options, QuestionOptions, "generate_questions")
    began = time.monotonic()
    path, write = Path(out), options.get("write", True)
    shares = _read_shares(path, count, options.get("types", QUESTION_TYPES))
    model = options.get("model")
    judge = options.get("judge") or model
    with ExitStack() as opened:
        source = opened.enter_context(open_question_source(index))
        draw = build_draw(source, shares, count, options.get("seed", 0), has_model=model is not None)
        find_chunks = source.find_chunks
        if judge is None or not write:
            await draw.draw(_accept_all, batch=1)
            forecast = _forecast_calls(draw, find_chunks, model, judge, options) if judge is not None else None
            figures: dict[str, Any] = {"forecast": forecast}
        else:
            figures = await _check_drawn(path, draw, find_chunks, model, judge, stop=stop, options=options)
    if write:
        _write_questions(path, draw)
    labels = {name: JudgeClient(spec).label for name, spec in (("model", model), ("judge", judge)) if spec is not None}
    return _build_report(path, draw, {**labels, **figures, "seconds": time.monotonic() - began})


def _read_shares(
    path: Path, count: int, types: Collection[str] | Mapping[str, float]
) -> dict[QuestionType | CountPattern, float]:
    """Return the share of each type or pattern of questions.

    Raises:
        DataError: If one is unknown, none is given, a share or the count is not positive, or the output is no `.jsonl`.
    """
    shares = dict(types) if isinstance(types, Mapping) else dict.fromkeys(types, 1.0)
    if unknown := [kind for kind in shares if kind not in QUESTION_TYPES and kind not in COUNT_PATTERNS]:
        known = f"the types are {', '.join(QUESTION_TYPES)}, and the patterns of counts {', '.join(COUNT_PATTERNS)}"
        raise DataError(f"types: {format_names(unknown)} unknown; {known}")
    if not shares or count < 1:
        raise DataError(f"count, types: expected at least one of each, got {count} and {len(shares)}")
    if refused := [f"{kind}={share:g}" for kind, share in shares.items() if not 0 < share < float("inf")]:
        raise DataError(f"types: {format_names(refused)}: expected a share above 0")
    if path.suffix != ".jsonl" or path.is_dir():
        raise DataError(f"{path}: expected a file that ends in .jsonl for the questions; name another with -o")
    return cast("dict[QuestionType | CountPattern, float]", shares)


async def _accept_all(drafts: Sequence[DraftQuestion]) -> Sequence[DraftQuestion]:
    return drafts


class _Models(NamedTuple):
    """The models of a generation with their common guard."""

    writer: QuestionModel | None
    judge: QuestionModel
    guard: RunGuard


def _sum_spending(guard: RunGuard) -> RunSpending:
    """Return what all commands spent on calls that have ended."""
    spent = guard.total_spending
    return spent.model_copy(update={"calls": spent.calls - guard.flying})


def _read_spending(path: Path) -> RunSpending:
    """Return what earlier commands spent; nothing if there is no file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return RunSpending.model_validate_json(path.read_bytes()) if path.exists() else RunSpending()
    except (OSError, ValidationError) as error:
        raise StoreError(
            f"{path}: expected what earlier commands spent, found what cannot be read; take the file away, or name "
            "another file of questions"
        ) from error


@asynccontextmanager
async def _open_models(
    path: Path, model: JudgeModel | None, judge: JudgeModel, options: QuestionOptions
) -> AsyncIterator[_Models]:
    """Open the replies of earlier commands, and connect to the models."""
    prices = options.get("prices") or Prices.load()
    writers = [] if model is None or is_same_judge(model, judge) else [JudgeGroup(model)]
    judges = RunJudges((JudgeGroup(judge), *writers))
    guard = build_run_guard(
        judges,
        prices,
        max_calls=options.get("max_calls"),
        max_cost=options.get("max_cost"),
        clock=asyncio.get_running_loop().time,
    )
    spent_file = path.with_name(f"{path.stem}{SPENT_SUFFIX}")
    guard.before = _read_spending(spent_file)

    def write_spending() -> None:
        # After the reply of a call was stored, so that a killed command repeats no stored call.
        if not guard.calls:
            return
        try:
            write_atomically(spent_file, _sum_spending(guard).model_dump_json())
        except OSError as error:
            raise StoreError(
                f"{spent_file}: what was spent cannot be written: {error.strerror or error}; free some space, then run "
                "the same command again"
            ) from error

    with ReplyCache(path.with_name(f"{path.stem}{REPLIES_SUFFIX}")) as replies:
        opened: list[QuestionModel] = []
        for group in judges.groups:
            gate = asyncio.Semaphore(get_concurrency(group.judge, {"concurrency": options.get("concurrency")}))
            client = JudgeClient(group.judge, gate=gate, cache=replies)
            await client.ready()
            context = CallContext(build_judge_guard(guard, group, judges, prices))
            opened.append(QuestionModel(client, context, write_spending))
        yield _Models(None if model is None else opened[-1], opened[0], guard)


async def _check_drawn(  # noqa: PLR0913 - what a generation needs
    path: Path,
    draw: QuestionDraw,
    find_chunks: FindChunks,
    model: JudgeModel | None,
    judge: JudgeModel,
    *,
    stop: asyncio.Event | None,
    options: QuestionOptions,
) -> dict[str, Any]:
    """Draw questions, let the models word and check them, and return the figures about the calls."""
    async with AsyncExitStack() as opened:
        models = await opened.enter_async_context(_open_models(path, model, judge, options))
        await opened.enter_async_context(stop_on_request(models.guard, stop, options.get("deadline")))

        async def check(drafts: Sequence[DraftQuestion]) -> Sequence[DraftQuestion | None]:
            return await asyncio.gather(*(_word_and_check(draft, draw, find_chunks, models) for draft in drafts))

        await draw.draw(check, batch=BATCH)
        # One model may have both roles.
        usages = {id(each): each.usage for each in (models.writer, models.judge) if each}
        return {
            "usage": sum(usages.values(), Usage()).model_copy(update={"calls": models.guard.calls}),
            "cost": models.guard.spent if models.guard.calls else 0.0,
            "spent": _sum_spending(models.guard),
            "stopped": models.guard.why,
        }


async def _word_and_check(
    draft: DraftQuestion, draw: QuestionDraw, find_chunks: FindChunks, models: _Models
) -> DraftQuestion | None:
    """Return a drawn question as it was worded and checked, or with its failure; None if the command is to stop."""
    try:
        worded = draft if models.writer is None else await word_question(draft, draw.table, models.writer)
        if worded.rejected:
            return worded
        return await check_with_judge(worded, draw.table.text, find_chunks, models.judge)
    except MethodError as error:
        return draft.model_copy(update={"failure": str(error)})
    except StoppedError:
        return None


def _forecast_calls(
    draw: QuestionDraw,
    find_chunks: FindChunks,
    model: JudgeModel | None,
    judge: JudgeModel,
    options: QuestionOptions,
) -> CallForecast:
    """Return what the drawn questions would need if none is rejected and each answer has to be compared once."""
    prices = options.get("prices") or Prices.load()
    total, cost = Usage(), 0.0
    is_priced = True
    for draft in draw.accepted:
        chunks = [*dict.fromkeys(fact.chunk for fact in draft.evidence)]
        if draft.type == "unanswerable":
            chunks = [*dict.fromkeys((*chunks, *find_chunks(draft.question)))]
        calls = [] if is_counted(draft) else [(judge, build_answers_messages(draft.question, draw.table.text, chunks))]
        if draft.type != "unanswerable":
            calls += [
                (judge, build_agreement_messages(draft, draft.answer)),
                (judge, build_recall_messages(draft.question)),
            ]
        if model is not None:
            calls.append((model, build_wording_messages(draft)))
        for model_settings, messages in calls:
            tokens = sum(estimate_tokens(message.text) for message in messages)
            usage = Usage(calls=1, input_tokens=tokens, output_tokens=ASSUMED_OUTPUT_TOKENS)
            price = prices.cost(JudgeClient(model_settings).label, usage)
            is_priced = is_priced and price is not None
            total, cost = total + usage, cost + (price or 0.0)
    return CallForecast(
        calls=total.calls,
        input_tokens=total.input_tokens or 0,
        output_tokens=total.output_tokens or 0,
        cost=cost if is_priced else None,
    )


def _name_drafts_file(path: Path) -> Path:
    return path.with_name(f"{path.stem}.drafts.jsonl")


def _write_questions(path: Path, draw: QuestionDraw) -> None:
    """Write the accepted questions as samples, and all drawn questions with their evidence and rejection."""
    samples = (draft.to_sample().model_dump_json(exclude_none=True) for draft in draw.accepted)
    drafts = (draft.model_dump_json() for draft in (*draw.accepted, *draw.rejected, *draw.failed))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_name_drafts_file(path), _join_lines(drafts))
        write_atomically(path, _join_lines(samples))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}; name another file with -o") from error


def _join_lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _build_report(path: Path, draw: QuestionDraw, figures: dict[str, Any]) -> QuestionReport:
    """Build the report of what was drawn; `figures` are the other fields of the report, such as the duration."""
    documents, entities, relations = draw.count_coverage()
    return QuestionReport(
        path=str(path),
        drafts=str(_name_drafts_file(path)),
        asked=draw.count,
        drawn=draw.count_types([*draw.accepted, *draw.rejected, *draw.failed]),
        accepted=draw.count_types(draw.accepted),
        rejected=dict(Counter(draft.rejected for draft in draw.rejected if draft.rejected).most_common()),
        model_worded=sum(draft.wording == "model" for draft in draw.accepted),
        checked=sum(
            draft.wording == "model" or draft.judge_answers is not None for draft in (*draw.accepted, *draw.rejected)
        ),
        failed=len(draw.failed),
        failures=dict(Counter(draft.failure for draft in draw.failed if draft.failure).most_common()),
        documents=documents,
        entities=entities,
        relations=relations,
        notes=draw.notes,
        **figures,
    )
