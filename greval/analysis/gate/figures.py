"""What gate conditions are checked against: the figures of a run or of a comparison, by metric, group and method."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic_core import from_json

from greval.analysis.comparison.records import Comparison
from greval.analysis.history.records import RunHistory
from greval.records.case import sort_methods
from greval.records.scale_values import parse_on_scale
from greval.runs.run_reader import read_metric, read_metrics
from greval.runs.run_summary import OUTLINE_COLUMNS, is_passed
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.plans import count_planned
from greval.stats.interval import Measured, MeasuredValue, Undefined, build_measured
from greval.stats.summary import NO_VALUE, ResultTallies, Summary

FigureName = Literal["mean", "low", "high", "n", "failed", "passed"]
BASELINE, HISTORY = "baseline", "history"
"""The names of means that a limit may be computed from."""
IN_HISTORY = "use greval history FOLDER --fail-if"
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


GateFigure = tuple[Measured, str]
"""A figure, undefined with its reason and what to do, and what is printed beside it."""
GateReference = tuple[float, float, str] | str
"""A mean, the one that it is compared with over the same questions, and a remark; or why one of them is missing."""


class ComparisonFigures:
    """The means of the methods of a comparison, and their contrasts with the baseline.

    Conditions are checked for the methods that are compared with the baseline; for all methods if it has none.
    """

    kind = "comparison"
    names: tuple[FigureName, ...] = ("mean", "n")
    remedies: Mapping[str, str] = {BASELINE: "name one with --baseline or --against", HISTORY: IN_HISTORY}

    def __init__(self, comparison: Comparison) -> None:
        self._tag = " · ".join(comparison.by) or ALL
        self._levels = {(self._place(level.metric, level.group), level.method): level for level in comparison.levels}
        self.folder, self.against = Path(comparison.folder), comparison.against
        self._contrasts = {
            (self._place(contrast.metric, contrast.group), contrast.method): contrast
            for contrast in comparison.contrasts
        }
        has_baseline = comparison.baseline is not None or comparison.against is not None
        self.references: Collection[str] = {BASELINE} if has_baseline else ()
        compared = comparison.methods if has_baseline else (level.method for level in comparison.levels)
        self.methods = tuple(dict.fromkeys(compared))
        self.places = tuple(dict.fromkeys(metric_group for metric_group, _ in self._levels))

    def _place(self, metric: str, group: str) -> GatePlace:
        return GatePlace(metric, self._tag, group) if group else GatePlace(metric)

    def list_methods(self, metric_group: GatePlace) -> tuple[str, ...]:  # noqa: ARG002 - the same methods for each place
        """List the methods that are compared."""
        return self.methods

    def get_figure(self, metric_group: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return the mean or the number of questions of a method."""
        level = self._levels[metric_group, method]
        if name == "n":
            return MeasuredValue(value=level.n, n=level.n), ""
        return level.mean_value, f"n = {level.n}"

    def get_reference(self, metric_group: GatePlace, method: str) -> GateReference:
        """Return the means of a method and of its baseline."""
        contrast = self._contrasts[metric_group, method]
        if contrast.method_mean is None or contrast.baseline_mean is None or contrast.test is None:
            return f"no question has a figure of both it and {contrast.baseline}"
        if not contrast.judged_alike:
            return f"judged by another definition or judge than {contrast.baseline}"
        remark = f"n = {contrast.n}, corrected p = {contrast.test.corrected:.2g}"
        return contrast.method_mean, contrast.baseline_mean, remark

    def list_sides(self, metric_group: GatePlace, method: str, *, with_baseline: bool) -> list[tuple[Path, str]]:
        """List the run and the method of the figure, and of the baseline if it is asked for."""
        baseline = self._contrasts[metric_group, method].baseline if with_baseline else ""
        other = (Path(self.against), method) if self.against else (self.folder, baseline)
        return [(self.folder, method), *([other] if with_baseline else [])]

    def get_incomplete(self, metric_group: GatePlace) -> str:  # noqa: ARG002 - warnings of the comparison name what is missing
        """Return an empty text: warnings of the comparison name the questions that have no figure."""
        return ""

    def format_method(self, method: str) -> str:
        """Return the name of a method and a colon."""
        return f"{method}: "


class GateRunFigures:
    """The figures of one run, each read once: names first, then the figures of the places that conditions name."""

    kind = "run"
    names: tuple[FigureName, ...] = FIGURES
    references: Collection[str] = ()
    remedies: Mapping[str, str] = {
        BASELINE: "a single run has none; use greval compare RUN --baseline METHOD, or --against RUN",
        HISTORY: IN_HISTORY,
    }

    def __init__(self, store: Store) -> None:
        self._store, self.folder = store, store.folder
        self._scales = {name: metric.scale for name, metric in read_metrics(store).items()}
        self._methods: dict[GatePlace, dict[str, None]] = {GatePlace(metric): {} for metric in self._scales}
        self._conditions = {name: metric.pass_if for name, metric in read_metrics(store).items()}
        self._summaries: dict[tuple[GatePlace, str], Summary] = {}
        self._passes: dict[tuple[GatePlace, str], list[bool]] = {}
        judged: Counter[str] = Counter()
        for metric, method, tags in store.select(("metric", "method", "tags")):
            judged[metric] += 1
            values = _parse_tags(tags).items()
            for metric_group in (GatePlace(metric), *(GatePlace(metric, tag, value) for tag, value in values)):
                self._methods.setdefault(metric_group, {})[method] = None
        self._pending = {metric: count - judged[metric] for metric, count in count_planned(store.plans()).items()}
        self.places: Collection[GatePlace] = self._methods.keys()
        self.methods = sort_methods(method for methods in self._methods.values() for method in methods)

    def read(self, places: Collection[GatePlace]) -> None:
        """Read the figures of these places, in one pass over the results."""
        tallies = {metric_group: ResultTallies(self._scales) for metric_group in places}
        groups_by_metric: dict[str, list[GatePlace]] = {}
        for metric_group in places:
            groups_by_metric.setdefault(metric_group.metric, []).append(metric_group)
        for metric, method, tags, outline, *costs in self._store.select(OUTLINE_COLUMNS):
            for metric_group in groups_by_metric.get(metric, ()):
                if not metric_group.tag or _parse_tags(tags).get(metric_group.tag) == metric_group.value:
                    tallies[metric_group].add(metric, method, outline, costs)
                    passed = is_passed(outline, condition) if (condition := self._conditions.get(metric)) else None
                    if passed is not None:
                        self._passes.setdefault((metric_group, method), []).append(passed)
        self._summaries = {
            (metric_group, summary.group): summary
            for metric_group, tally in tallies.items()
            for summary in tally.build_summaries()
        }

    def list_methods(self, metric_group: GatePlace) -> tuple[str, ...]:
        """List the methods with results of a place."""
        return sort_methods(self._methods[metric_group])

    def get_figure(self, metric_group: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return a figure of a method, as the report prints it."""
        summary = self._summaries.get((metric_group, method))
        if summary is None:
            return build_measured(None, 0, "no result is there; run the same command again, or judge it"), ""
        n = summary.counted
        match name:
            case "mean":
                # the mean is weighted by probability if there is another one of the values themselves
                plain = "" if summary.plain_mean is None else f", plain {summary.plain_mean:.4g}"
                return build_measured(summary.mean, n, _explain_no_mean(summary)), f"n = {n}{plain}"
            case "low" | "high":
                end = getattr(summary.interval, name, None)
                why = _explain_no_mean(summary) if summary.mean is None else _explain_no_interval(summary)
                return build_measured(end, n, why), f"mean {summary.mean or 0:.4g}, n = {n}"
            case "n":
                return MeasuredValue(value=n, n=n), ""
            case "passed":
                passes = self._passes.get((metric_group, method), [])
                share = sum(passes) / len(passes) if passes else None
                condition = self._conditions.get(metric_group.metric)
                why = _explain_no_mean(summary) if condition else "its metric does not define pass; add pass: '>= 0.7'"
                return build_measured(share, len(passes), why), f"{sum(passes)} of {len(passes)} pass"
            case "failed":
                return MeasuredValue(value=summary.failed, n=summary.planned), f"of {summary.planned}"

    def list_sides(self, metric_group: GatePlace, method: str, *, with_baseline: bool) -> list[tuple[Path, str]]:  # noqa: ARG002 - as of a comparison
        """List the run and the method of the figure."""
        return [(self.folder, method)]

    def get_incomplete(self, metric_group: GatePlace) -> str:
        """Return how many cases are not judged yet, and what to do; empty if all are."""
        pending = self._pending.get(metric_group.metric, 0)
        return f"{pending:,} not judged yet; run the same command again to judge them" if pending > 0 else ""

    def format_method(self, method: str) -> str:
        """Return the name of a method and a colon; empty if the run has no named method."""
        return "" if self.methods in {(), ("",)} else f"{method or NO_VALUE}: "


def read_verdicts(folders: Iterable[Path], metric_group: GatePlace, method: str | None) -> dict[object, list[float]]:
    """Read the numbers of all repeats by item, those within runs and those in several folders, as a probe has them."""
    numbers: dict[object, list[float]] = {}
    for folder in folders:
        with Store.open(folder) as store, store.snapshot():
            scale = read_metric(store, metric_group.metric).scale
            chosen = ResultFilter(metrics=(metric_group.metric,), method=method)
            for sample_id, name, tags, line in store.select(("sample_id", "method", "tags", "row"), chosen):
                parts = (_parse_tags(tags).get(tag) or NO_VALUE for tag in metric_group.tag.split(" · "))
                if metric_group.tag and " · ".join(parts) != metric_group.value:
                    continue
                for judgement in from_json(line)["outcome"].get("judgements", ()):
                    votes = judgement.get("votes") or {}
                    values = [scale.number(parse_on_scale(scale, text)) for text in Counter(votes).elements()]
                    of_item = numbers.setdefault((sample_id, name, judgement["item"]), [])
                    of_item += [number for number in values or [judgement.get("number")] if number is not None]
    return numbers


class HistoryFigures:
    """The figures of the newest run of a history, and the means of the comparable runs before it."""

    kind = "history"
    names: tuple[FigureName, ...] = ("mean", "n")
    references: Collection[str] = (HISTORY,)
    remedies: Mapping[str, str] = {BASELINE: "use greval compare RUN --baseline METHOD"}

    def __init__(self, history: RunHistory) -> None:
        newest = len(history.runs) - 1
        self._points = {
            (GatePlace(line.metric), line.method): point
            for line in history.metrics
            for point in line.points
            if point.run == newest
        }
        self.places = tuple(dict.fromkeys(place for place, _ in self._points))
        self.methods = sort_methods(method for _, method in self._points)

    def list_methods(self, metric_group: GatePlace) -> tuple[str, ...]:
        """List the methods of which the newest run has a figure."""
        return tuple(method for method in self.methods if (metric_group, method) in self._points)

    def get_figure(self, metric_group: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return the mean or the number of questions of a method in the newest run."""
        point = self._points[metric_group, method]
        return MeasuredValue(value=point.n if name == "n" else point.mean, n=point.n), f"n = {point.n}"

    def get_reference(self, metric_group: GatePlace, method: str) -> GateReference:
        """Return the mean of the newest run, and that of the comparable runs before it."""
        point = self._points[metric_group, method]
        measured = point.difference_value
        if point.own_mean is None or point.earlier_mean is None or isinstance(measured, Undefined):
            return measured.reason if isinstance(measured, Undefined) else ""
        return point.own_mean, point.earlier_mean, f"n = {point.shared}"

    def get_incomplete(self, metric_group: GatePlace) -> str:  # noqa: ARG002 - as of a comparison
        """Return an empty text: what a run has not judged is in its report."""
        return ""

    def format_method(self, method: str) -> str:
        """Return the name of a method and a colon; empty if the run has no named method."""
        return f"{method}: " if method else ""


GateFigures = ComparisonFigures | GateRunFigures | HistoryFigures
"""The figures that conditions can name."""


# Rows share few combinations of tags.
@lru_cache(maxsize=MAX_CACHED_TAGS)
def _parse_tags(tags: str) -> dict[str, str]:
    parsed: dict[str, str] = json.loads(tags)
    return parsed


def _explain_no_mean(summary: Summary) -> str:
    """Explain why there is no mean, with what to do."""
    if summary.scored:
        return "its values are not numbers; give the categories scores, or use .n or .failed"
    counts = f"{summary.failed} failed, {summary.skipped} skipped"
    return f"no case has a value ({counts}); greval report RUN shows why"


def _explain_no_interval(summary: Summary) -> str:
    return (
        f"no interval is defined for these values (n = {summary.counted}); judge more cases, or leave .low or .high out"
    )
