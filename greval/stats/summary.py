"""Summaries of results: counts of planned, scored, skipped and failed cases, distributions, and intervals of means."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isclose
from typing import assert_never

from greval._util.arguments import require_iterable
from greval._util.wording import SUCH_AS, UNMET
from greval.errors import DefinitionError
from greval.records.metric import Metric
from greval.records.record import Record
from greval.records.result import Outline, Result, Usage, format_outline, read_outline
from greval.records.scale import CategoricalScale, MeasureScale, NumberRange, Scale, ValueScale, find_number_range
from greval.stats.interval import Interval, mean_interval

METHOD = "method"
NO_VALUE = "(none)"
"""The placeholder for a method without a name, and for a tag that a case does not have."""
MAX_OUTLINES = 4096
"""The number of different outlines that are buffered; a run of verdicts has a few dozen."""
OUTPUT_FIELD, COST_FIELD = map([*Usage.model_fields].index, ("output_tokens", "cost"))
NumberReader = Callable[[str], float | None]
"""A function from a value as text to the number that it reads as, None if it has none."""


class Summary(Record):
    """One metric over a group of cases.

    Each of the `planned` cases is `scored` (some of its items may have failed), `skipped` or
    `failed`. `items` is the number of judgements, `items_failed` the number of single items that
    failed. `distribution` counts the values; it is empty if the scale has no upper end, such as that
    of a latency.

    `counted` is the number of judgements that read as a number. `mean`, `median`, `standard_deviation`
    (of a sample, n - 1), `minimum` and `maximum` are those of these numbers; each is missing (None) without numbers,
    `standard_deviation` also for a single one. `p95` is the 95th percentile, for scales without an upper end.
    `interval` is that of the mean, within the scale; it is missing (None) if nothing bounds the mean.

    `plain_mean` is given if the numbers are weighted by the probabilities of the values, as those of the embedded
    judge: the mean of what the values themselves read as, which the counts of `distribution` give. Else it is None.
    """

    metric: str
    group: str = ""
    planned: int
    scored: int
    skipped: int
    failed: int
    items: int
    items_failed: int
    distribution: dict[str, int]
    counted: int
    mean: float | None
    plain_mean: float | None = None
    median: float | None = None
    standard_deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    p95: float | None = None
    interval: Interval | None
    usage: Usage
    failures: dict[str, int]
    skips: dict[str, int]


class ChanceEstimate(Record):
    """A mean beside what it is by chance.

    `mean` is that of the `n` cases that have a value. In each of the `rounds`, every question gets what was retrieved
    for another one; `by_chance` is the mean over the rounds, and 95 % of them are from `low` to `high`. `p` is the
    probability of a mean at least as good by chance, by permutation; None if neither side of the scale is better.
    """

    metric: str
    method: str
    n: int
    mean: float
    by_chance: float
    low: float
    high: float
    rounds: int
    p: float | None


class Grouping:
    """The names of groups: by `method` or tags; by default by method if there are several.

    Example:
        >>> grouping = Grouping(["kind", "method"])
        >>> grouping.name_group("walk", {"kind": "hard"}), grouping.name_group("walk", {})
        ('hard · walk', '(none) · walk')
    """

    def __init__(self, by: str | Sequence[str] = ()) -> None:
        self._wanted = (by,) if isinstance(by, str) else tuple(by)
        self._methods: set[str] = set()

    def name_group(self, method: str, tags: Mapping[str, str]) -> str:
        """Return the name of a result's group."""
        self._methods.add(method)
        names = self._wanted or (METHOD,)
        return " · ".join((method if name == METHOD else tags.get(name)) or NO_VALUE for name in names)

    @property
    def group_fields(self) -> tuple[str, ...]:
        """The fields that the results so far are grouped by; empty for a single group."""
        return self._wanted or ((METHOD,) if len(self._methods) > 1 else ())


class ResultTally:
    """The totals of the results of one metric and group; `add` takes each result by its outline and its cost.

    Every number is kept, 8 bytes each, so that median and quantiles are exact; so are the sum and the
    number of judgements of each result, 16 bytes. The counts of values are kept unless the
    scale has no upper end, because all its values may differ.
    """

    def __init__(self, numbers: NumberRange | None = None, read_number: NumberReader | None = None) -> None:
        self.statuses: Counter[str] = Counter()
        self.distribution: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.items = 0
        self.items_failed = 0
        self._range = numbers
        self._read_number = read_number
        self._plain_total = 0.0
        self._is_weighted = False
        self._numbers = array("d")
        self._kinds: dict[str, int] = {}
        self._is_cost_partial = False
        self._costs: list[float | None] = [0 if field.default == 0 else None for field in Usage.model_fields.values()]
        self._sums = array("d")
        self._sizes = array("q")

    @property
    def is_open(self) -> bool:
        """True if the scale has no upper end."""
        return self._range is not None and self._range.high is None

    def add(self, text: str, costs: Sequence[float | None]) -> None:
        """Add a result by its outline and the fields of its `Usage`, in their order."""
        kinds = self._kinds
        kinds[text] = kinds.get(text, 0) + 1
        totals = self._costs
        # Tokens without a price: the sum of the other costs would be too low.
        if costs and costs[COST_FIELD] is None and costs[OUTPUT_FIELD] is not None:
            self._is_cost_partial = True
        for field, cost in enumerate(costs):
            if cost:
                totals[field] = (totals[field] or 0) + cost
            elif cost is not None and totals[field] is None:
                totals[field] = 0
        if len(kinds) >= MAX_OUTLINES:
            self.count_pending()

    def count_pending(self) -> None:
        """Count the buffered outlines; the totals are complete only after this."""
        for text, times in self._kinds.items():
            self._count_outline(read_outline(text), times)
        self._kinds = {}

    def _count_outline(self, outline: Outline, times: int) -> None:
        self.statuses[outline.status] += times
        self.items_failed += outline.items_failed * times
        self.items += len(outline.values) * times
        if outline.numbers:
            self._numbers.extend(outline.numbers * times)
            self._sums.extend((outline.total,) * times)
            self._sizes.extend((len(outline.numbers),) * times)
            self._add_plain_numbers(outline, times)
        # All values of a scale without an upper end may differ, so that counting them would keep each.
        if not self.is_open:
            for value in outline.values:
                self.distribution[value] += times
        for kind in outline.kinds:
            self.failures[kind] += times
        if outline.skip is not None:
            self.skips[outline.skip] += times

    def _add_plain_numbers(self, outline: Outline, times: int) -> None:
        """Add what the values of a result read as, if the scale is known, and whether its numbers are others."""
        if self._read_number is None:
            return
        plain = [number for value in outline.values if (number := self._read_number(value)) is not None]
        # These are numbers of another scale than the known one.
        if len(plain) != len(outline.numbers):
            self._read_number = None
            return
        self._plain_total += fsum(plain) * times
        if not self._is_weighted:
            pairs = zip(plain, outline.numbers, strict=True)
            self._is_weighted = any(not isclose(*pair, abs_tol=1e-9) for pair in pairs)

    @property
    def usage(self) -> Usage:
        """The total usage of all results."""
        totals = dict(zip(Usage.model_fields, self._costs, strict=True))
        return Usage.model_validate(totals | ({"cost": None} if self._is_cost_partial else {}))

    @property
    def number_count(self) -> int:
        """The number of judgements that read as a number."""
        return sum(self._sizes)

    @property
    def mean(self) -> float | None:
        """The mean of these numbers, or None without numbers."""
        return fsum(self._sums) / self.number_count if self._sums else None

    @property
    def plain_mean(self) -> float | None:
        """The mean of what the values read as, or None if it is the mean, or not known."""
        is_other = self._read_number is not None and self._is_weighted
        return self._plain_total / self.number_count if is_other else None

    def compute_spread(self) -> dict[str, float | None]:
        """Compute the fields of a `Summary` that describe the distribution of the numbers; empty without numbers.

        Their order does not matter. Quantiles are linearly interpolated.
        """
        if not self._numbers:
            return {}
        import numpy as np

        ranked = np.sort(np.asarray(self._numbers))
        lowest, highest = float(ranked[0]), float(ranked[-1])
        median, p95 = (float(number) for number in np.quantile(ranked, (0.5, 0.95)))
        # The deviation of equal numbers can be off from 0 by rounding.
        sd = 0.0 if lowest == highest else float(ranked.std(ddof=1))
        spread = {"median": median, "minimum": lowest, "maximum": highest, "p95": p95 if self.is_open else None}
        return {**spread, "standard_deviation": sd if len(ranked) > 1 else None}

    def compute_interval(self) -> Interval | None:
        """Return the 95 % interval of the mean by the scale, see `greval.stats.interval`.

        None without numbers, if the scale has no numbers or is not known, or if a number is outside its ends, so that
        it is not the scale of these numbers.
        """
        if not self._numbers or self._range is None:
            return None
        import numpy as np

        numbers = np.asarray(self._numbers)
        if not self._range.contains(float(numbers.min()), float(numbers.max())):
            return None
        return mean_interval(self._sums, self._sizes, self._range)


class ResultTallies:
    """Tallies of results by metric and group.

    Example:
        >>> from greval.records.scale import ValueScale
        >>> tallies = ResultTallies({"tone": ValueScale(range=(1, 5), levels={1: "Rude.", 5: "Polite."})})
        >>> tallies.add("tone", "", '["scored",[["4",4.0]],[],null]', (1, 10, 5, None, 0, None))
        >>> [(summary.metric, summary.mean) for summary in tallies.build_summaries()]
        [('tone', 4.0)]
    """

    def __init__(self, scales: Mapping[str, Scale]) -> None:
        self._ranges = {metric: find_number_range(scale) for metric, scale in scales.items()}
        self._readers = {metric: create_number_reader(scale) for metric, scale in scales.items()}
        self._tallies: dict[tuple[str, str], ResultTally] = {}

    def add(self, metric: str, group: str, outline: str, costs: Sequence[float | None]) -> None:
        """Add a result by its outline and the fields of its usage."""
        tally = self._tallies.get((metric, group))
        if tally is None:
            tally = self._tallies[metric, group] = ResultTally(self._ranges.get(metric), self._readers.get(metric))
        tally.add(outline, costs)

    def build_summaries(self, *, grouped: bool = True) -> tuple[Summary, ...]:
        """Return a summary for each metric, in the order of the scales, and for each of its groups, by name."""
        metrics = dict.fromkeys([*self._ranges, *(metric for metric, _ in self._tallies)])
        order = {metric: position for position, metric in enumerate(metrics)}
        keys = sorted(self._tallies, key=lambda key: (order[key[0]], key[1]))
        return tuple(_build_summary(self._tallies[key], key[0], key[1] if grouped else "") for key in keys)


def summarise(
    results: Iterable[Result],
    metrics: Iterable[Metric] = (),
    *,
    by: str | Sequence[str] | Callable[[Result], str] = (),
) -> tuple[Summary, ...]:
    """Summarise results as `Run.summary` and `greval report` do, for results that are not in a run folder.

    Args:
        results: The results; each judgement counts once.
        metrics: The definitions of their metrics, whose scales determine the intervals.
        by: `method` or names of tags; by default by method if there are several. Or a function that
            returns the name of a result's group.

    Returns:
        A summary for each metric, in the order of `metrics`, and for each of its groups, by name.

    Raises:
        DataError: If `results` is a run instead of its results.
        DefinitionError: If a result is of a metric whose definition is not in `metrics`.

    Example:
        >>> from greval.runs.runnable import compile_metric
        >>> from greval.metrics.computed import COMPUTED_METRICS
        >>> cases = [{"question": "?", "usage": {"latency": seconds}} for seconds in (1.0, 2.0)]
        >>> results = compile_metric(COMPUTED_METRICS["latency"]).batch(cases)
        >>> (summary,) = summarise(results, [COMPUTED_METRICS["latency"]])
        >>> summary.mean, summary.interval.low
        (1.5, 0.0)
    """
    example = "run.results() with the definitions of its metrics; run.summary() gives the same"
    require_iterable(results, "results", example)
    require_iterable(metrics, "metrics", "[load_metric('correctness')]")
    scales = {metric.name: metric.scale for metric in metrics}
    tallies = ResultTallies(scales)
    grouping = Grouping(() if callable(by) else by)
    for result in results:
        if result.metric not in scales:
            raise DefinitionError(
                f"metrics: a result is of {result.metric!r}, whose definition is not given; its scale decides the "
                f"interval. Give it too, such as [load_metric({result.metric!r})]; run.summary() knows those of its run"
            )
        group = by(result) if callable(by) else grouping.name_group(result.method, result.tags)
        costs = tuple(getattr(result.usage, name) for name in Usage.model_fields)
        tallies.add(result.metric, group, format_outline(result), costs)
    return tallies.build_summaries(grouped=callable(by) or bool(grouping.group_fields))


def create_number_reader(scale: Scale) -> NumberReader | None:
    """Return a function from the values of a scale to numbers; None for measures, whose values are their numbers."""
    match scale:
        case CategoricalScale():
            return {category.name: category.score for category in scale.categories}.get
        case ValueScale():
            return _read_level
        case MeasureScale():
            return None
        case _:
            assert_never(scale)


def _read_level(text: str) -> float | None:
    """Return a level as a number, None if it is not of a scale of levels."""
    try:
        return float(text)
    except ValueError:
        return None


def _build_summary(tally: ResultTally, metric: str, group: str) -> Summary:
    tally.count_pending()
    return Summary(
        metric=metric,
        group=group,
        planned=tally.statuses.total(),
        **{status: tally.statuses[status] for status in ("scored", "skipped", "failed")},
        items=tally.items,
        items_failed=tally.items_failed,
        distribution=dict(tally.distribution),
        counted=tally.number_count,
        mean=tally.mean,
        plain_mean=tally.plain_mean,
        **tally.compute_spread(),
        interval=tally.compute_interval(),
        usage=tally.usage,
        failures=dict(tally.failures),
        skips=_group_reasons(tally.skips),
    )


def _group_reasons(reasons: Mapping[str, int]) -> dict[str, int]:
    """Add up reasons that differ only in the ids that they give as an example; the first example stays.

    Example:
        >>> _group_reasons({f"{UNMET}: a case, such as 'd1'": 2, f"{UNMET}: a case, such as 'd2'": 1, "no gold": 1})
        {"ids do not meet: a case, such as 'd1'": 3, 'no gold': 1}
    """
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reason, count in reasons.items():
        start = reason.split(SUCH_AS)[0] if reason.startswith(UNMET) else reason
        counts[first.setdefault(start, reason)] += count
    return dict(counts)
