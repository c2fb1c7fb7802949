"""What gate conditions are checked against: the figures of a run or of a comparison, by metric, group and method."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol, get_args

from greval.analysis.comparison.records import Comparison, Contrast
from greval.records.case import sort_methods
from greval.runs.run_reader import read_metrics
from greval.runs.run_summary import OUTLINE_COLUMNS, is_passed
from greval.runs.store import Store
from greval.runs.store.plans import count_planned
from greval.stats.measured import Measured, MeasuredValue, build_measured
from greval.stats.summary import NO_VALUE, ResultTallies, Summary

FigureName = Literal["mean", "low", "high", "n", "failed", "passed"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)
ALL = "group"
"""The name of the tag of groups of a comparison that is not grouped by any tag."""
MAX_CACHED_TAGS = 1_024


class GatePlace(NamedTuple):
    """A metric over all questions, or over those with one value of a tag."""

    metric: str
    tag: str = ""
    value: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The ways to write the place in a condition."""
        if not self.tag:
            return (self.metric,)
        return f"{self.metric}@{self.value}", f"{self.metric}@{self.tag}={self.value}"


class GateFigure(NamedTuple):
    """A figure, and what is printed beside it; an undefined figure has its reason and what to do."""

    measured: Measured
    note: str = ""


class GateFigures(Protocol):
    """The figures that conditions can name.

    `methods` are the methods that a condition can name, `places` the metrics and groups, `names` the figures of each.
    `has_baseline` is true if a limit can be relative to a baseline, otherwise `remedy` is what to do.
    """

    @property
    def methods(self) -> Collection[str]:
        """The methods that a condition can name."""
        ...

    @property
    def places(self) -> Collection[GatePlace]:
        """The metrics and groups that a condition can name."""
        ...

    @property
    def names(self) -> Collection[FigureName]:
        """The figures of a place."""
        ...

    @property
    def has_baseline(self) -> bool:
        """True if a limit can be relative to a baseline."""
        ...

    @property
    def remedy(self) -> str:
        """The advice if there is no baseline."""
        ...

    def read(self, places: Collection[GatePlace]) -> None:
        """Read the figures of these places."""
        ...

    def list_methods(self, place: GatePlace) -> tuple[str, ...]:
        """List the methods that a condition without a method is checked for."""
        ...

    def get_figure(self, place: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return a figure of a method."""
        ...

    def get_contrast(self, place: GatePlace, method: str) -> Contrast:
        """Return the contrast of a method with its baseline."""
        ...

    def get_incomplete(self, place: GatePlace) -> str:
        """Return why the figures of a place are not complete, and what to do; empty if they are."""
        ...

    def format_method(self, method: str) -> str:
        """Return the beginning of the line on a method."""
        ...


class ComparisonFigures:
    """The means of the methods of a comparison, and their contrasts with the baseline.

    Conditions are checked for the methods that are compared with the baseline; for all methods if it has none.
    """

    names: tuple[FigureName, ...] = ("mean", "n")
    remedy = "name one with --baseline or --against"

    def __init__(self, comparison: Comparison) -> None:
        self._tag = " · ".join(comparison.by) or ALL
        self._levels = {(self._place(one.metric, one.group), one.method): one for one in comparison.levels}
        self._contrasts = {(self._place(one.metric, one.group), one.method): one for one in comparison.contrasts}
        self.has_baseline = comparison.baseline is not None or comparison.against is not None
        compared = comparison.methods if self.has_baseline else (one.method for one in comparison.levels)
        self.methods = tuple(dict.fromkeys(compared))
        self.places = tuple(dict.fromkeys(place for place, _ in self._levels))

    def _place(self, metric: str, group: str) -> GatePlace:
        return GatePlace(metric, self._tag, group) if group else GatePlace(metric)

    def read(self, places: Collection[GatePlace]) -> None:
        """Do nothing: a comparison holds all its figures."""

    def list_methods(self, place: GatePlace) -> tuple[str, ...]:  # noqa: ARG002 - the same methods for each place
        """List the methods that are compared."""
        return self.methods

    def get_figure(self, place: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return the mean or the number of questions of a method."""
        level = self._levels[place, method]
        if name == "n":
            return GateFigure(MeasuredValue(value=level.n, n=level.n))
        return GateFigure(level.mean_value, f"n = {level.n}")

    def get_contrast(self, place: GatePlace, method: str) -> Contrast:
        """Return the contrast of a method with its baseline."""
        return self._contrasts[place, method]

    def get_incomplete(self, place: GatePlace) -> str:  # noqa: ARG002 - warnings of the comparison name what is missing
        """Return an empty text: warnings of the comparison name the questions that have no figure."""
        return ""

    def format_method(self, method: str) -> str:
        """Return the name of a method and a colon."""
        return f"{method}: "


class GateRunFigures:
    """The figures of one run, each read once: names first, then the figures of the places that conditions name."""

    names = FIGURES
    has_baseline = False
    remedy = "a single run has none; use greval compare RUN --baseline METHOD, or --against RUN"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._scales = {name: metric.scale for name, metric in read_metrics(store).items()}
        self._methods: dict[GatePlace, dict[str, None]] = {GatePlace(metric): {} for metric in self._scales}
        self._conditions = {name: metric.pass_if for name, metric in read_metrics(store).items()}
        self._summaries: dict[tuple[GatePlace, str], Summary] = {}
        self._passes: dict[tuple[GatePlace, str], list[bool]] = {}
        judged: Counter[str] = Counter()
        for metric, method, tags in store.select(("metric", "method", "tags")):
            judged[metric] += 1
            values = _parse_tags(tags).items()
            for place in (GatePlace(metric), *(GatePlace(metric, tag, value) for tag, value in values)):
                self._methods.setdefault(place, {})[method] = None
        self._pending = {metric: count - judged[metric] for metric, count in count_planned(store.plans()).items()}
        self.places: Collection[GatePlace] = self._methods.keys()
        self.methods = sort_methods(method for found in self._methods.values() for method in found)

    def read(self, places: Collection[GatePlace]) -> None:
        """Read the figures of these places, in one pass over the results."""
        tallies = {place: ResultTallies(self._scales) for place in places}
        wanted: dict[str, list[GatePlace]] = {}
        for place in places:
            wanted.setdefault(place.metric, []).append(place)
        for metric, method, tags, outline, *costs in self._store.select(OUTLINE_COLUMNS):
            for place in wanted.get(metric, ()):
                if not place.tag or _parse_tags(tags).get(place.tag) == place.value:
                    tallies[place].add(metric, method, outline, costs)
                    passed = is_passed(outline, condition) if (condition := self._conditions.get(metric)) else None
                    if passed is not None:
                        self._passes.setdefault((place, method), []).append(passed)
        self._summaries = {
            (place, summary.group): summary for place, found in tallies.items() for summary in found.build_summaries()
        }

    def list_methods(self, place: GatePlace) -> tuple[str, ...]:
        """List the methods with results of a place."""
        return sort_methods(self._methods[place])

    def get_figure(self, place: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return a figure of a method, as the report prints it."""
        found = self._summaries.get((place, method))
        if found is None:
            return GateFigure(build_measured(None, 0, "no result is there; run the same command again, or judge it"))
        n = found.counted
        match name:
            case "mean":
                # the mean is weighted by probability if there is another one of the values themselves
                plain = "" if found.plain_mean is None else f", plain {found.plain_mean:.4g}"
                return GateFigure(build_measured(found.mean, n, _explain_no_mean(found)), f"n = {n}{plain}")
            case "low" | "high":
                end = getattr(found.interval, name, None)
                why = _explain_no_mean(found) if found.mean is None else _explain_no_interval(found)
                return GateFigure(build_measured(end, n, why), f"mean {found.mean or 0:.4g}, n = {n}")
            case "n":
                return GateFigure(MeasuredValue(value=n, n=n))
            case "passed":
                passes = self._passes.get((place, method), [])
                share = sum(passes) / len(passes) if passes else None
                condition = self._conditions.get(place.metric)
                why = _explain_no_mean(found) if condition else "its metric does not define pass; add pass: '>= 0.7'"
                return GateFigure(build_measured(share, len(passes), why), f"{sum(passes)} of {len(passes)} pass")
            case "failed":
                return GateFigure(MeasuredValue(value=found.failed, n=found.planned), f"of {found.planned}")

    def get_contrast(self, place: GatePlace, method: str) -> Contrast:
        """Raise: a single run has no baseline, and a condition with one is not parsed.

        Raises:
            KeyError: Always.
        """
        raise KeyError(place, method)

    def get_incomplete(self, place: GatePlace) -> str:
        """Return how many cases are not judged yet, and what to do; empty if all are."""
        pending = self._pending.get(place.metric, 0)
        return f"{pending:,} not judged yet; run the same command again to judge them" if pending > 0 else ""

    def format_method(self, method: str) -> str:
        """Return the name of a method and a colon; empty if the run has no named method."""
        return "" if self.methods in {(), ("",)} else f"{method or NO_VALUE}: "


@lru_cache(maxsize=MAX_CACHED_TAGS)  # rows share few combinations of tags
def _parse_tags(tags: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(tags)
    return found


def _explain_no_mean(found: Summary) -> str:
    """Explain why there is no mean, with what to do."""
    if found.scored:
        return "its values are not numbers; give the categories scores, or use .n or .failed"
    counts = f"{found.failed} failed, {found.skipped} skipped"
    return f"no case has a value ({counts}); greval report RUN shows why"


def _explain_no_interval(found: Summary) -> str:
    return (
        f"no interval is defined for these values (n = {found.counted}); judge more cases, or leave .low or .high out"
    )
