"""What an agreement means for the use of its judge, as one paragraph."""

from __future__ import annotations

from collections.abc import Iterator

from greval._util.wording import format_count
from greval.report.tables import format_measured, format_number
from greval.stats.measured import MeasuredValue
from greval.trust.agreement.records import Agreement, AgreementVerdict


def format_verdict(agreement: Agreement) -> str:
    """Format what the figures mean, by the rules of docs/agreement.md."""
    return " ".join(["What this means:", *_list_sentences(agreement)])


def _list_sentences(agreement: Agreement) -> Iterator[str]:
    verdict, whole = agreement.verdict, agreement.groups[0]
    if verdict.why:
        remedy = " Use the weighted figures, and greval estimate." if whole.enriched else ""
        yield f"the rules do not apply, because {verdict.why}.{remedy}"
        return
    yield _describe_baselines(verdict, whole.things)
    yield _describe_people(verdict)
    yield from _describe_use(verdict)


def _describe_baselines(verdict: AgreementVerdict, items: int) -> str:
    """Describe how the judge stands against the baselines: the worst news, or that it is better than all known."""
    if worse := [name for name, standing in verdict.baselines.items() if standing == "not better"]:
        return f"the judge is no better than a baseline ({', '.join(worse)})."
    if level := [name for name, standing in verdict.baselines.items() if standing == "not shown"]:
        overlap = f"the intervals overlap on {format_count(items, 'item')}"
        return f"the judge cannot be told from a baseline ({', '.join(level)}): {overlap}."
    better = [name for name, standing in verdict.baselines.items() if standing == "better"]
    if len(better) == len(verdict.baselines) > 1:
        return "the judge is better than both baselines; the intervals do not overlap."
    return (
        f"the judge is better than a baseline ({', '.join(better)}); the other one could not be computed."
        if better
        else ("no baseline could be computed to compare the judge with.")
    )


def _describe_people(verdict: AgreementVerdict) -> str:
    difference = format_measured(verdict.difference, _format_difference)
    match verdict.people:
        case "as good":
            return f"It agrees with people as well as they agree with each other ({difference})."
        case "worse":
            return f"It agrees with people less than they agree with each other ({difference})."
        case "not shown":
            return f"Whether it agrees with people as well as they do with each other is undecided ({difference})."
        case "not known":
            return "How well people agree with each other is unknown."


def _describe_use(verdict: AgreementVerdict) -> Iterator[str]:
    same = f"It gives people's value on {format_measured(verdict.same)} of the items"
    match verdict.use:
        case "single cases":
            yield f"{same}: use single verdicts, and means of {verdict.mean_of} or more items."
        case "means" if verdict.mean_of is not None:
            yield f"{same}: use means of {verdict.mean_of} or more items, not single cases."
        case "means":
            yield f"{same}: how many items a mean needs is unknown; do not use single cases."
        case "nothing yet":
            yield "Do not rely on it yet: label more items."
        case "nothing":
            yield "Do not use it for this metric."
    if verdict.use in {"single cases", "means"}:
        yield from _describe_bias(verdict)


def _describe_bias(verdict: AgreementVerdict) -> Iterator[str]:
    """Describe a bias that is more than chance; no number of items removes it."""
    bias = verdict.bias
    if not isinstance(bias, MeasuredValue) or bias.interval is None or bias.interval.low <= 0 <= bias.interval.high:
        return
    side, low, high = "above", bias.interval.low, bias.interval.high
    if bias.value < 0:
        side, low, high = "below", -high, -low
    size = f"{format_number(abs(bias.value))} [{format_number(low)}, {format_number(high)}]"
    yield f"Its means are {size} of the scale's width {side} people's: greval estimate corrects them."


def _format_difference(number: float) -> str:
    return format_number(number, sign=True)
