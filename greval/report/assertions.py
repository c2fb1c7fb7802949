"""Assertions on single cases as text: why one failed, and what a test run judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from greval._util.wording import format_count
from greval.analysis.bounds import BoundCheck, Bounds
from greval.judging.model.failures import format_failure_hint
from greval.judging.model.prices import Prices
from greval.records.case import Case, format_history
from greval.records.result import FailureKind, Result, Usage
from greval.records.scale import Scale
from greval.report.console import describe_weighting, format_mean
from greval.report.tables import format_cost
from greval.runs.judge_session import JudgedRow, merge_rows
from greval.stats.summary import ResultTallies, Summary

MAX_TEXT = 1_000
"""The maximum number of characters of a question or an answer in a message."""
MAX_JUDGEMENTS = 5
INDENT = " " * 12


def format_missed_bounds(case: Case, result: Result, bounds: Bounds, check: BoundCheck) -> str:
    """Format why a result is not within its bounds: value, question, answers, reasons and judge.

    Example:
        >>> from greval.records.result import Judgement, Scored
        >>> case = Case(question="Who?", expected_answer="Ada", answer="Bob")
        >>> judgement = Judgement(value=0, reason="Another person.")
        >>> outcome = Scored(judgements=(judgement,))
        >>> result = Result(metric="correctness", fingerprint="f", judge="local", tier="schema", outcome=outcome)
        >>> check = BoundCheck(holds=False, value="0", shown=(judgement,))
        >>> print(format_missed_bounds(case, result, Bounds(at_least=1), check))
        correctness is 0, expected at least 1
          question: Who?
          expected: Ada
          answer:   Bob
          reason:   Another person.
          judge:    local
    """
    judgements = check.shown[:MAX_JUDGEMENTS]
    name = " ".join(filter(None, (case.id, case.method and f"({case.method})")))
    fields = [
        ("case", name),
        ("history", format_history(case.history)),
        ("question", case.question),
        ("expected", case.expected_answer or ""),
        ("answer", "(none)" if case.answer is None else case.answer or "(empty)"),
        *(
            ("reason" if not judgement.item else f"{judgement.item} {judgement.value!r}", judgement.reason)
            for judgement in judgements
        ),
        ("", f"and {len(check.shown) - len(judgements)} more" if len(check.shown) > len(judgements) else ""),
        ("judge", result.judge),
    ]
    lines = [f"{result.metric} is {check.value}, expected {bounds}"]
    lines += [f"  {f'{label}:' if label else '':<9} {_format_text(text)}" for label, text in fields if text]
    return "\n".join(lines)


def format_session(
    rows: Iterable[JudgedRow], scales: Mapping[str, Scale], stopped: Mapping[str, int], prices: Prices
) -> list[str]:
    """Return the lines of what a test run judged: counts, cost, means by metric, the judge's noise, and failures."""
    merged = merge_rows(rows)
    summaries = _summarise(merged, scales)
    return [
        *_format_judges(merged, prices),
        *_format_means(summaries),
        *_format_noise(merged),
        *_format_failures(summaries, merged),
        *(f"not judged: {format_count(count, 'assertion')}: {reason}" for reason, count in stopped.items()),
    ]


def _summarise(rows: Iterable[JudgedRow], scales: Mapping[str, Scale]) -> tuple[Summary, ...]:
    tallies = ResultTallies(scales)
    for row in rows:
        tallies.add(row.metric, "", row.outline, row.costs)
    return tallies.build_summaries(grouped=False)


def _format_judges(rows: Sequence[JudgedRow], prices: Prices) -> Iterator[str]:
    """Yield a line for each judge, with its calls, tokens and cost."""
    for judge in dict.fromkeys(row.judge for row in rows):
        judge_rows = [row for row in rows if row.judge == judge]
        results = format_count(len(judge_rows), "result")
        if not judge:
            yield f"computed: {results}"
            continue
        usage = sum((Usage(**dict(zip(Usage.model_fields, row.costs, strict=True))) for row in judge_rows), Usage())
        tokens = f"{usage.input_tokens or 0:,} input tokens, {usage.output_tokens or 0:,} output tokens"
        amount = 0.0 if not usage.calls else prices.cost(judge, usage)
        cost = "cost not known" if amount is None else format_cost(amount)
        cached = format_count(usage.hits, "reused answer")
        yield f"judge {judge}: {results}, {format_count(usage.calls, 'call')}, {cached}, {tokens}, {cost}"


def _format_means(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield the table of means with their intervals."""
    names = ("metric", "scored", "skipped", "failed", "mean [95 % interval]")
    cells = [names, *((s.metric, str(s.scored), str(s.skipped), str(s.failed), format_mean(s)) for s in summaries)]
    width = max(len(row[0]) for row in cells)
    for metric, scored, skipped, failed, mean in cells if summaries else ():
        yield f"{metric:<{width}}  {scored:>6}  {skipped:>7}  {failed:>6}  {mean}"
    yield from describe_weighting(summaries)


def _format_noise(rows: Sequence[JudgedRow]) -> Iterator[str]:
    """Yield how often repeats of the same judgement differed."""
    if repeated := sum(row.repeated for row in rows):
        unsteady, flips = sum(row.unsteady for row in rows), sum(row.flips for row in rows)
        judged = format_count(repeated, "repeated judgement")
        yield f"noise of the judge: {unsteady:,} of {judged} not unanimous, flip rate {flips / repeated:.2f}"


def _format_failures(summaries: Sequence[Summary], rows: Sequence[JudgedRow]) -> Iterator[str]:
    """Yield each kind of failed judgements, with what to do."""
    judge = next((row.judge for row in rows if row.judge), "")
    kinds: Counter[FailureKind] = Counter()
    for summary in summaries:
        kinds.update(summary.failures)  # type: ignore[arg-type]
    for kind, count in kinds.items():
        yield f"failed: {format_count(count, 'judgement')}, {kind}: {format_failure_hint(kind, judge)}"


def _format_text(text: str) -> str:
    """Return a text in the column of the messages, shortened, and without control characters."""
    cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."
    lines = (line if line.isprintable() else ascii(line)[1:-1] for line in cut.replace("\t", " ").splitlines())
    return f"\n{INDENT}".join(lines)
