"""Forecast of a run: the calls, tokens and cost it would need, computed without calling the judge."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from os.path import commonprefix
from pathlib import Path
from typing import Unpack

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.datasets.case_records import CaseRecords, dump_case, get_sample_fields, read_case, read_records
from greval.datasets.row_faults import RowFault, build_unreadable_error
from greval.errors import DataError
from greval.judging.judge_check import ANSWER_TOKEN_WORK, measure_token_seconds
from greval.judging.metric_judge import MetricJudge
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.budget import RunSpending
from greval.judging.model.call_context import NO_RUN
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.judging.model.tokens import TokenCounter, create_token_counter
from greval.metrics.dependencies import list_dependency_names
from greval.metrics.sources import MetricLike, resolve_metrics
from greval.records.case import CLAIM_PREFIXES, Case, Chunk, ClaimField, Sample
from greval.records.formula_metric import FormulaMetric
from greval.records.metric import FunctionMetric, JudgedMetric, is_preference, set_reason_depth
from greval.records.metric_input import compute_keys, explain_missing_needs, fill_claims, find_method_error
from greval.records.record import Record
from greval.records.result import CLAIM_SOURCES, Failed, Result, Usage
from greval.runs.judges import JudgeLike, choose_judges
from greval.runs.manifest import read_spending, refuse_probe
from greval.runs.options import EvaluateOptions, get_asked_names, get_prices, get_shard, get_source
from greval.runs.run_folder import choose_folder
from greval.runs.runnable import compile_metrics
from greval.runs.store import Store, is_begun
from greval.runs.worker import PlannedJudgement, list_read_metrics, plan_judgement, select_remaining, select_verdicts

OUTPUT_TOKENS_PER_VERDICT = 60
"""The assumed output tokens of a verdict with a brief reason."""
OUTPUT_TOKENS_PER_LOCAL_VERDICT = 30
"""The same for the embedded model, whose reasons are short."""
OUTPUT_TOKENS_PER_DETAILED_REASON = 100
"""The assumed additional output tokens of a detailed reason."""
OUTPUT_TOKENS_PER_FINDING = 30
"""The assumed output tokens of the finding of one step."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
"""Where a text is split into the sentences for each of which a claim is assumed."""


class MetricForecast(Record):
    """The forecast of one metric: calls and tokens for what is not judged yet. `cost` is None if no price is known.

    `judge` is the label of its judge, None if it is computed. `repeated_tokens` estimates the input tokens
    with which prompts begin like an earlier prompt of the run; a provider with a prompt cache may charge less for them.
    """

    metric: str
    judge: str | None = None
    judged: int = 0
    kept: int = 0
    skipped: int = 0
    calls: int = 0
    input_tokens: int = 0
    repeated_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


class Forecast(Record):
    """The forecast of a run, with one entry for each metric.

    `judge` is the label of the judge, or of all judges with commas between them. `how` describes the token counter;
    `exact` is true if it is the model's own. `spent` is what earlier commands spent on the folder, which `max_calls`
    and `max_cost` count too.
    """

    judge: str | None
    expected: tuple[MetricForecast, ...]
    how: str
    exact: bool
    unread: int = 0
    spent: RunSpending = RunSpending()
    max_calls: int | None = None
    max_cost: float | None = None

    @property
    def cost(self) -> float | None:
        """The cost of all metrics in US dollars, or None if the price of a judge that would be asked is not known."""
        if any(part.calls and part.cost is None for part in self.expected):
            return None
        costs = [part.cost for part in self.expected if part.cost is not None]
        return sum(costs) if costs else None

    @property
    def calls(self) -> int:
        """The number of calls of all metrics."""
        return sum(part.calls for part in self.expected)


def forecast(
    cases: CaseRecords,
    metrics: Sequence[MetricLike],
    judge: JudgeLike | None = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[EvaluateOptions],
) -> Forecast:
    """Count the calls, tokens and cost that `evaluate` with the same arguments would need, without any call.

    Only first calls are counted: retries and repairs of unusable replies are not included. A metric that builds on
    metrics without results so far is counted as if they did not narrow the case, which is the upper bound. So is a
    metric that a formula may need: what computed metrics decide is known, and what the judge decides is not.

    Returns:
        Calls, tokens and cost by metric, without what the run folder already holds.

    Raises:
        DataError: If the cases are a single string or record, or the shard is invalid.
        JudgeError: If the judge cannot be used at all.
        StoreError: If the folder holds a probe.
    """
    check_options(options, EvaluateOptions, "forecast")
    reading = read_records(cases, columns=options.get("columns"))
    folder = choose_folder(reading.name, get_source(reading, options)) if out is None else Path(out)
    return run_sync(_forecast_async(reading, metrics, judge, folder, options))


def forecast_seconds(expected: Forecast, judge: Judge) -> float | None:
    """Forecast how long a judge takes for its calls one after the other, by one call that is measured.

    What prompts repeat is not evaluated again. None if the judge would not be asked, or cannot be measured.
    """
    parts = [part for part in expected.expected if part.judge == judge.label]
    prompts = sum(part.input_tokens - part.repeated_tokens for part in parts)
    work = prompts + ANSWER_TOKEN_WORK * sum(part.output_tokens for part in parts)
    token_seconds = run_sync(measure_token_seconds(judge)) if work else None
    return None if token_seconds is None else work * token_seconds


def fill_missing_responses(
    samples: Iterable[Sample], methods: Iterable[str], collected: Iterable[Case]
) -> tuple[list[Case], dict[str, int]]:
    """Return a case for each sample and method, and the number of missing responses of each method.

    A missing response is replaced by the expected answer without context: the number of calls is then exact, but the
    input tokens are underestimated.
    """
    cases = [*collected]
    names = [*methods]
    answered = {(case.id, case.method) for case in cases}
    missing = dict.fromkeys(names, 0)
    for sample in samples:
        for method in names:
            if (sample.id, method) not in answered:
                missing[method] += 1
                # Equal cases would share one call.
                answer = f"{method}: {sample.expected_answer or ''}"
                chunks = (Chunk(id="none", text=method),)
                cases.append(Case(**get_sample_fields(sample), method=method, answer=answer, chunks=chunks))
    return cases, missing


async def _forecast_async(
    cases: Iterable[Case | RowFault],
    metrics: Sequence[MetricLike],
    judge: JudgeLike | None,
    folder: Path,
    options: EvaluateOptions,
) -> Forecast:
    shard = get_shard(options)
    loaded = resolve_metrics(metrics)
    all_metrics = set_reason_depth(loaded.metrics, options.get("reason_depth"))
    judges = choose_judges(all_metrics, judge, options.get("judges"))
    clients = [JudgeClient(group.judge) for group in judges.groups]
    lines = [await client.ready() for client in clients]
    counters = [create_token_counter(await line.load_model()) for line in lines] or [TokenCounter()]
    compiled = compile_metrics(all_metrics, judges.assign(clients), repeats=options.get("repeats", 1))
    asked_names = get_asked_names(loaded.asked, options)
    parts = {
        name: _MetricCounter(runnable, counters[clients.index(runnable.client) if runnable.client else 0], options)
        for name, runnable in compiled.items()
    }
    # As in a run, results that the last plan does not count are found, too.
    store = Store.open(folder, all_rows=True) if options.get("resume", True) and is_begun(folder) else None
    prices = get_prices(options)
    unread: list[str] = []
    row_count, spent = 0, RunSpending()
    with store or nullcontext():
        if store and not options.get("probe"):
            refuse_probe(store)
        if store:
            spent = read_spending(store, prices)
        for row in cases:
            case = _read_case(row, unread)
            row_count += 1
            if case is None:
                continue
            if shard is None or shard.holds(case.id):
                await _forecast_case(case, _CaseMetrics(compiled, asked_names), parts, store)
    if row_count and row_count == len(unread):
        raise build_unreadable_error(unread, row_count)
    return Forecast(
        judge=", ".join(judges.labels) or None,
        expected=tuple(part.build_forecast(prices) for part in parts.values()),
        how="; ".join(dict.fromkeys(counter.how for counter in counters)),
        exact=all(counter.exact for counter in counters),
        unread=len(unread),
        spent=spent,
        max_calls=options.get("max_calls"),
        max_cost=options.get("max_cost"),
    )


class _CaseMetrics:
    """The metrics that a case is judged by, in order: what is asked for, what that builds on, and what formulas read.

    `results` are those so far.
    """

    def __init__(self, compiled: Mapping[str, MetricRunnable], asked_names: Collection[str]) -> None:
        self.compiled = compiled
        self.results: dict[str, Result] = {}
        self._metrics = {name: runnable.metric for name, runnable in compiled.items()}
        self._asked = asked_names
        self._begun: dict[str, None] = {}
        formulas = [metric for metric in self._metrics.values() if isinstance(metric, FormulaMetric)]
        self.read_by_formulas = {name for metric in formulas for name in metric.dependency_places}

    def __iter__(self) -> Iterator[str]:
        for name in self._metrics:
            if name in self._asked:
                yield from self._begin(name)

    @property
    def unneeded(self) -> list[str]:
        """The metrics that no formula reads on this case."""
        return [name for name in self._metrics if name not in self._begun]

    def _begin(self, name: str) -> Iterator[str]:
        """Yield a metric after those that it needs, each once for the case."""
        if name in self._begun:
            return
        self._begun[name] = None
        metric = self._metrics[name]
        # Each result so far decides which metrics a formula reads next.
        while missing := [needed for needed in list_read_metrics(metric, self.results) if needed not in self._begun]:
            for dependency in missing:
                yield from self._begin(dependency)
        # A verdict that is not known yet may lead to any of the others.
        if (
            isinstance(metric, FormulaMetric)
            and not metric.find_read_metrics(select_verdicts(metric, self.results)).decided
        ):
            for dependency in list_dependency_names(metric):
                yield from self._begin(dependency)
        yield name


async def _forecast_case(
    case: Case, metrics: _CaseMetrics, counters: Mapping[str, _MetricCounter], store: Store | None
) -> None:
    starts: dict[str, str] = {}
    for name in metrics:
        result = counters[name].add(case, store, metrics.results, starts)
        if result is None and name in metrics.read_by_formulas:
            result = await _compute_result(metrics.compiled[name], case, metrics.results)
        if result is not None:
            metrics.results[name] = result
    for name in metrics.unneeded:
        counters[name].counts["skipped"] += 1


async def _compute_result(runnable: MetricRunnable, case: Case, results: Mapping[str, Result]) -> Result | None:
    """Compute a metric at no cost; None if it is judged, or if a result that it reads is not known."""
    metric = runnable.metric
    names = list_read_metrics(metric, results)
    if not isinstance(metric, FunctionMetric) or not all(name in results for name in names):
        return None
    judged = plan_judgement(case, runnable, {name: results[name] for name in names})
    if judged.broken:
        return runnable.row(case, Failed(error=judged.broken))
    return await runnable.judge_case(judged.seen, NO_RUN._replace(verdicts=judged.verdicts))


def _read_case(row: Case | RowFault, unread: list[str]) -> Case | None:
    """Return the case, or None if the row is not a case; the reason is appended to `unread`."""
    try:
        case = read_case(row)
        # A case that cannot be written is no case for a run either.
        dump_case(case)
    except DataError as error:
        unread.append(str(error))
        return None
    return case


def _assume_claims(case: Case, field: ClaimField) -> dict[str, str] | None:
    """Assume a claim for each sentence of the text that makes the claims of a field; None if there is no text."""
    text = getattr(case, CLAIM_SOURCES[field])
    if not text:
        return None
    sentences = filter(str.strip, SENTENCE_END.split(text))
    return {f"{CLAIM_PREFIXES[field]}{number}": sentence for number, sentence in enumerate(sentences, 1)}


def estimate_output_tokens(metric: JudgedMetric, *, local: bool = False) -> int:
    """Return the assumed output tokens of one verdict, by the depth of its reason."""
    more = {
        "brief": 0,
        "detailed": OUTPUT_TOKENS_PER_DETAILED_REASON,
        "steps": OUTPUT_TOKENS_PER_FINDING * len(metric.steps),
    }
    return (OUTPUT_TOKENS_PER_LOCAL_VERDICT if local else OUTPUT_TOKENS_PER_VERDICT) + more[metric.reason_depth]


class _MetricCounter:
    """Counter of the calls and tokens of one metric."""

    def __init__(self, runnable: MetricRunnable, count: TokenCounter, options: EvaluateOptions) -> None:
        metric, client = runnable.metric, runnable.client
        self.counts: Counter[str] = Counter()
        self._runnable = runnable
        self._asking = MetricJudge(metric, client) if client and isinstance(metric, JudgedMetric) else None
        self._count = count
        self._times = options.get("repeats", 1) * (2 if is_preference(metric) else 1)
        self._retry_failed = options.get("retry_failed", True)
        self._start = sum(count(message.text) for message in self._asking.start) if self._asking else 0
        self._seen: set[str] = set()
        self._last_prompt = ""

    def add(
        self, case: Case, store: Store | None, results: Mapping[str, Result], starts: dict[str, str]
    ) -> Result | None:
        """Count one case and return its stored result, if any.

        `results` are those of the metrics before this one, and `starts` the last prompt of each of their groups.
        """
        metric = self._runnable.metric
        judged = self._plan_judgement(case, results)
        old = store.index.get(judged.key, (case.id, case.method, metric.name)) if store else None
        is_equal = judged.content in self._seen or (store and store.index.same(judged.content))
        if old and (old.finished or not self._retry_failed):
            self.counts["kept"] += 1
            return old
        if find_method_error(metric, judged.seen) is not None or explain_missing_needs(metric, judged.seen):
            self.counts["skipped"] += 1
            return None
        self.counts["judged"] += 1
        if self._asking and not judged.broken and not is_equal:
            self._seen.add(judged.content)
            remaining = select_remaining(judged.seen, metric, old)
            self.counts.update(self._estimate_calls(self._asking, remaining, starts))
        return None

    def _plan_judgement(self, case: Case, results: Mapping[str, Result]) -> PlannedJudgement:
        """Plan what the metric sees if all results that it reads are stored, else the whole case.

        Of claims that are not listed yet, one for each sentence is assumed.
        """
        metric = self._runnable.metric
        names = list_read_metrics(metric, results)
        read = {name: results[name] for name in names if name in results}
        judged = plan_judgement(case, self._runnable, read)
        if len(read) == len(names):
            return judged
        seen_case = fill_claims(case, {field: _assume_claims(case, field) for field in metric.claim_fields})
        keys = compute_keys(seen_case, metric, self._runnable.fingerprint, judged.verdicts)
        return PlannedJudgement(case, seen_case, *keys)

    def _estimate_calls(self, asking: MetricJudge, case: Case, starts: dict[str, str]) -> dict[str, int]:
        try:
            batches = asking.split_batches(case)
        except DataError:
            # The run makes a failed row of it without a call.
            return {}
        tokens = repeated = 0
        for batch in batches:
            messages = asking.build_messages(case, batch)
            prompt_tokens = self._start + self._count(messages[-1].text)
            tokens += prompt_tokens
            prompt = "\n".join(message.text for message in messages)
            repeated += int(prompt_tokens * self._compute_repeated_share(prompt, asking.prompt_group, starts))
        verdicts = sum(max(1, len(batch)) for batch in batches)
        tokens_per_verdict = estimate_output_tokens(asking.metric, local=asking.client.judge.local)
        # A list repeats what it is made of.
        listed = tokens - self._start * len(batches) if asking.metric.counts else 0
        return {
            "calls": len(batches) * self._times,
            "input_tokens": tokens * self._times,
            "repeated_tokens": repeated * self._times,
            "output_tokens": (verdicts * tokens_per_verdict + listed) * self._times,
        }

    def _compute_repeated_share(self, prompt: str, group: str, starts: dict[str, str]) -> float:
        """Compute the share of a prompt that begins like the last one of the metric, or of its group for the case."""
        earlier = (self._last_prompt, starts.get(group, ""))
        repeated = max(len(commonprefix([prompt, text])) for text in earlier)  # noqa: RUF071 - no paths
        self._last_prompt = prompt
        if group:
            starts[group] = prompt
        return repeated / len(prompt)

    def build_forecast(self, prices: Prices) -> MetricForecast:
        """Return the counts with their cost."""
        judge = self._asking and self._asking.client.label
        usage = Usage(**{name: self.counts[name] for name in ("calls", "input_tokens", "output_tokens")})
        cost = prices.cost(judge, usage) if judge else None
        return MetricForecast(metric=self._runnable.metric.name, judge=judge, cost=cost, **self.counts)
