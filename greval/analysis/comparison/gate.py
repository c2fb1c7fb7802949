"""The quality gate: failure conditions on a comparison, such as `edge_recall@multi_hop < baseline - 0.02`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.analysis.comparison.records import Comparison, Contrast, GateCheck, MethodMean
from greval.errors import DataError
from greval.stats.measured import Undefined

TOLERANCE = 1e-9
"""The tolerance for equal figures: in floating point 0.7 - 0.02 is not exactly 0.68."""
CONDITION_PATTERN = re.compile(
    r"""
    \s* (?P<left>.+?) \s* (?P<sign><=|>=|<|>) \s*
    (?: (?P<number>[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)
      | baseline (?: \s* (?P<change>[-+*]) \s* (?P<by>\d*\.?\d+(?:[eE][-+]?\d+)?) )?
    ) \s*
    """,
    re.VERBOSE,
)
GRAMMAR = (
    "write [METHOD:]METRIC[@GROUP] < LIMIT, with < <= > or >= and a limit such as 0.7, baseline, "
    "baseline - 0.02 or baseline * 1.2"
)
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right - TOLERANCE,
    "<=": lambda left, right: left <= right + TOLERANCE,
    ">": lambda left, right: left > right + TOLERANCE,
    ">=": lambda left, right: left >= right - TOLERANCE,
}
CHANGES: dict[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class GateLimit(NamedTuple):
    """The limit of a condition: a number, or the baseline's figure changed by a number."""

    sign: str
    number: float | None
    change: str = "+"
    by: float = 0.0

    def compute_limit(self, baseline: float) -> float:
        """Return the limit as a number."""
        return CHANGES[self.change](baseline, self.by) if self.number is None else self.number

    def is_met(self, figure: float, baseline: float) -> bool:
        """Return whether a figure meets the condition."""
        return SIGNS[self.sign](figure, self.compute_limit(baseline))


class GateCondition(NamedTuple):
    """A parsed condition: its text, metric, group, method (None for each method) and limit."""

    text: str
    metric: str
    group: str
    method: str | None
    limit: GateLimit


def check_gate(comparison: Comparison, conditions: Iterable[str]) -> tuple[GateCheck, ...]:
    """Check failure conditions for each method that is compared.

    A limit with `baseline` is compared with the baseline's mean over the questions that both have, a number with the
    method's mean over all its questions. A condition is also met, so that the gate fails, if its figure is missing or
    the two sides were judged by different definitions or judges: a gate never passes without data.

    Args:
        comparison: The comparison.
        conditions: Texts such as `correctness < 0.7` or `walk: latency > baseline * 1.2`.

    Raises:
        DataError: If a condition cannot be parsed, or names something that does not exist.
    """
    parsed = [parse_condition(text, comparison) for text in conditions]
    return tuple(_check_condition(comparison, condition) for condition in parsed)


def parse_condition(text: str, comparison: Comparison) -> GateCondition:
    """Parse a condition by the names in the comparison.

    Because metrics and groups may both contain `@`, the longest matching metric is used: `ndcg@10` rather than group
    10 of `ndcg`.

    Raises:
        DataError: With the grammar, or with the nearest names.
    """
    found = CONDITION_PATTERN.fullmatch(text)
    if not found:
        raise DataError(f"--fail-if {text!r}: cannot be read; {GRAMMAR}")
    if found["number"] is None and comparison.baseline is None and comparison.against is None:
        raise DataError(f"--fail-if {text!r}: there is no baseline; name one with --baseline or --against")
    number = float(found["number"]) if found["number"] else None
    limit = GateLimit(found["sign"], number, found["change"] or "+", float(found["by"] or 0))
    method, what = _split_method(found["left"], comparison)
    metric, group = _resolve_metric(what, comparison, text)
    return GateCondition(text.strip(), metric, group, method, limit)


def _split_method(left: str, comparison: Comparison) -> tuple[str | None, str]:
    """Split the name of a method off the left side, if it begins with one."""
    for method in sorted(_list_methods(comparison), key=len, reverse=True):
        if left.startswith(f"{method}:"):
            return method, left[len(method) + 1 :].strip()
    return None, left


def _resolve_metric(what: str, comparison: Comparison, text: str) -> tuple[str, str]:
    """Return the metric and the group that a name denotes.

    Raises:
        DataError: With the nearest names, if it denotes none.
    """
    known = dict.fromkeys((level.metric, level.group) for level in comparison.levels)
    metrics = sorted({metric for metric, _ in known}, key=len, reverse=True)
    if what in metrics:
        return what, ""
    for metric in metrics:
        group = what[len(metric) + 1 :].strip()
        if what.startswith(f"{metric}@") and group and (metric, group) in known:
            return metric, group
    where = f"--fail-if {text!r}"
    if ":" in what and not any(what.startswith(metric) for metric in metrics):
        raise build_unknown_name_error("method", what.partition(":")[0], _list_methods(comparison), where)
    names = (f"{metric}@{group}" if group else metric for metric, group in known)
    raise build_unknown_name_error("metric or METRIC@GROUP", what, names, where)


def _list_methods(comparison: Comparison) -> tuple[str, ...]:
    """List the methods for which a condition is checked: all of them if there is no baseline."""
    if comparison.baseline is None and comparison.against is None:
        return tuple(dict.fromkeys(level.method for level in comparison.levels))
    return comparison.methods


def _check_condition(comparison: Comparison, condition: GateCondition) -> GateCheck:
    """Check one condition for each of its methods: by their own means, or by the baseline's."""
    methods = _list_methods(comparison) if condition.method is None else (condition.method,)
    limit, checks = condition.limit, []
    for method in methods:
        at = (condition.metric, condition.group, method)
        if limit.number is not None:
            mean = next(one for one in comparison.levels if (one.metric, one.group, one.method) == at)
            checks.append(_check_mean(mean, limit))
        else:
            contrast = next(one for one in comparison.contrasts if (one.metric, one.group, one.method) == at)
            checks.append(_check_contrast(contrast, limit))
    met, texts = zip(*checks, strict=True)
    return GateCheck(condition=condition.text, met=any(met), told=texts)


def _check_mean(one: MethodMean, limit: GateLimit) -> tuple[bool, str]:
    """Compare a method's own mean with a number."""
    mean = one.mean_value
    if isinstance(mean, Undefined):
        return True, f"{one.method}: {mean.reason}"
    met = limit.is_met(mean.value, 0.0)
    relation = f"{mean.value:.4g} {_format_relation(limit, met=met)} {limit.compute_limit(0.0):.4g}"
    return met, f"{one.method}: {relation} (n = {one.n})"


def _check_contrast(one: Contrast, limit: GateLimit) -> tuple[bool, str]:
    """Compare a method's mean with the baseline's, over the same questions."""
    if one.method_mean is None or one.baseline_mean is None or one.test is None:
        return True, f"{one.method}: no question has a figure of both it and {one.baseline}"
    if not one.judged_alike:
        return True, f"{one.method}: judged by another definition or judge than {one.baseline}"
    met = limit.is_met(one.method_mean, one.baseline_mean)
    changed = f" {limit.change} {limit.by:g} = {limit.compute_limit(one.baseline_mean):.4g}" if limit.by else ""
    return met, (
        f"{one.method}: {one.method_mean:.4g} {_format_relation(limit, met=met)} {one.baseline_mean:.4g}{changed} "
        f"(n = {one.n}, corrected p = {one.test.corrected:.2g})"
    )


def _format_relation(limit: GateLimit, *, met: bool) -> str:
    return limit.sign if met else f"not {limit.sign}"
