"""Gate conditions, such as `edge_recall@multi_hop < baseline - 0.02` (a table in docs/gates.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.analysis.gate.figures import BASELINE, FIGURES, HISTORY, IN_HISTORY, FigureName, GateFigures, GatePlace
from greval.errors import DataError
from greval.records.formula import Limit, split_comparison
from greval.stats.judge_noise import ERROR_RATE

EVEN = 0.5
GRAMMAR = (
    "write [METHOD:]METRIC[@GROUP][.FIGURE] < LIMIT, with .low .high .n .failed or .passed for another figure than the "
    "mean, with < <= > or >=, and a limit such as 0.7, baseline, baseline - 0.02 or history * 1.2; after it, within "
    "noise, within noise at 1 % or within noise of runs/probe"
)
_NOISE = re.compile(
    r"(?P<condition>.*\S)\s+within\s+noise(?:\s+at\s+(?P<percent>\d+(?:\.\d+)?)\s*%)?(?:\s+of\s+(?P<folder>\S.*))?"
)


class GateCondition(NamedTuple):
    """A parsed condition: its text, place, figure, method (None for each method) and limit.

    `error_rate` is the probability that noise of the judge alone meets it, None if no margin is left for noise; `probe`
    is the folder of the probe that measured the noise, empty for repeats of the run.
    """

    text: str
    place: GatePlace
    figure: FigureName
    method: str | None
    limit: Limit
    error_rate: float | None = None
    probe: str = ""


def parse_condition(text: str, figures: GateFigures) -> GateCondition:
    """Parse a condition by the names of the figures.

    The longest matching metric is used: `ndcg@10` rather than group 10 of `ndcg`. A group named `v1.low` precedes the
    figure `low` of group `v1`.
    """
    left_side, limit = split_condition(text)
    where = format_place_of_error(text)
    error_rate, probe = _read_noise(text)
    for name in limit.bound.names:
        if name not in figures.references:
            raise DataError(f"{where}: there is no {name}; {figures.remedies[name]}")
    if error_rate and figures.kind == "history":
        raise DataError(
            f"{where}: the noise of a history is not measured; leave 'within noise' out, or compare the newest run "
            "with one before it: greval compare RUN --against RUN"
        )
    method, what = _split_method(left_side, figures)
    place, figure = _resolve_name(what, figures, where)
    if figure not in figures.names:
        raise DataError(
            f"{where}: a {figures.kind} has no .{figure} of one method, only {' and '.join(figures.names)}; "
            "greval report RUN --fail-if has it"
        )
    if limit.bound.names and figure != "mean":
        name = next(iter(limit.bound.names))
        raise DataError(f"{where}: {name} is a mean, so .{figure} needs a number as its limit, such as 0.7")
    if error_rate and figure != "mean":
        raise DataError(f"{where}: noise moves means, so .{figure} has none; leave 'within noise' out")
    return GateCondition(text.strip(), place, figure, method, limit, error_rate, probe)


def _read_noise(text: str) -> tuple[float | None, str]:
    """Return the error rate of the margin that a condition states at its end, and the folder of a probe."""
    match = _NOISE.fullmatch(text.strip())
    if match is None:
        return None, ""
    rate = float(match["percent"]) / 100 if match["percent"] else ERROR_RATE
    if not 0 < rate < EVEN:
        raise DataError(
            f"{format_place_of_error(text)}: within noise at: expected a share from 0 to 50 %, got {rate:.2%}"
        )
    return rate, match["folder"] or ""


def split_condition(text: str) -> tuple[str, Limit]:
    """Split a condition into the name on its left side and its limit."""
    where = format_place_of_error(text)
    try:
        match = _NOISE.fullmatch(text.strip())
        name, limit = split_comparison(match["condition"] if match else text, [BASELINE, HISTORY])
    except ValueError as error:
        raise DataError(f"{where}: {error}; {GRAMMAR}") from error
    if not name:
        raise DataError(f"{where}: has no metric before its sign; {GRAMMAR}")
    return name, limit


def check_conditions(conditions: Iterable[str], metrics: Iterable[str]) -> None:
    """Raise `DataError` for a condition that cannot be read, needs more than a run, or begins with no metric of it."""
    metric_names = [*metrics]
    for text in conditions:
        left_side, limit = split_condition(text)
        where = format_place_of_error(text)
        for name in limit.bound.names:
            remedy = IN_HISTORY if name == HISTORY else "use greval compare RUN --baseline METHOD"
            raise DataError(f"{where}: a single run has no {name}; {remedy}")
        # A method may hold colons, so that the metric may begin after any of them.
        names = [
            left_side,
            *(left_side[colon.end() :].strip() for colon in re.finditer(":", left_side)),
        ]
        if not any(re.match(rf"{re.escape(metric)}(?:[@.]|$)", name) for metric in metric_names for name in names):
            raise build_unknown_name_error("metric", re.split("[@.]", names[-1])[0], metric_names, where)


def format_place_of_error(text: str) -> str:
    """Format the beginning of a message on a condition."""
    return f"--fail-if {text!r}"


def _split_method(left_side: str, figures: GateFigures) -> tuple[str | None, str]:
    """Split the name of a method off the left side, if it begins with one."""
    # The longest first: the name of one method and a colon may begin that of another.
    for method in sorted(figures.methods, key=len, reverse=True):
        if method and left_side.startswith(f"{method}:"):
            return method, left_side[len(method) + 1 :].strip()
    return None, left_side


def _resolve_name(what: str, figures: GateFigures, where: str) -> tuple[GatePlace, FigureName]:
    """Return the place and the figure that a name denotes."""
    spellings: dict[str, list[GatePlace]] = {}
    for metric_group in figures.places:
        for spelling in dict.fromkeys(metric_group.spellings):
            spellings.setdefault(spelling, []).append(metric_group)
    figure = next((name for name in FIGURES if what.endswith(f".{name}")), None)
    # The whole name first: values of tags contain dots, so that a group may be called `v1.low`.
    names: list[tuple[str, FigureName]] = [(what, "mean")]
    if figure:
        names.append((what.removesuffix(f".{figure}"), figure))
    for name, figure_name in names:
        matches = _choose_places(spellings.get(name) or spellings.get(_join_group(name, figures), []))
        if len(matches) > 1:
            several = " or ".join(metric_group.spellings[-1] for metric_group in matches)
            raise DataError(f"{where}: {name!r} is a value of several tags; write {several}")
        if matches:
            return matches[0], figure_name
    metrics = {metric_group.metric for metric_group in figures.places}
    if ":" in what and not any(what.startswith(metric) for metric in metrics):
        raise build_unknown_name_error("method", what.partition(":")[0], filter(None, figures.methods), where)
    raise build_unknown_name_error("metric or METRIC@GROUP", names[-1][0], spellings, where)


def _join_group(name: str, figures: GateFigures) -> str:
    """Return a name without spaces between the `@` after its metric and the group."""
    for metric in sorted({metric_group.metric for metric_group in figures.places}, key=len, reverse=True):
        if name.startswith(f"{metric}@"):
            return f"{metric}@{name[len(metric) + 1 :].strip()}"
    return name


def _choose_places(places: list[GatePlace]) -> list[GatePlace]:
    """Return the places of the longest metric: a metric itself precedes the group of a shorter one."""
    # Metrics and groups may both contain `@`.
    longest = max((len(metric_group.metric) for metric_group in places), default=0)
    return [metric_group for metric_group in places if len(metric_group.metric) == longest]
