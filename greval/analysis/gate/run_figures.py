"""The figures of one run that gate conditions can name: those that its report prints, by method and value of a tag."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

from greval.analysis.comparison.records import Contrast
from greval.analysis.gate.conditions import FIGURES
from greval.analysis.gate.figures import FigureName, GateFigure, GatePlace
from greval.records.method_order import sort_methods
from greval.runs.run_reader import read_metrics
from greval.runs.run_summary import OUTLINE_COLUMNS, is_passed
from greval.runs.store import Store
from greval.runs.store.plans import count_planned
from greval.stats.measured import MeasuredValue, build_measured
from greval.stats.summary import NO_VALUE, ResultTallies, Summary

MAX_CACHED_TAGS = 1_024


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
        return "its values read as no numbers; give the categories scores, or use .n or .failed"
    counts = f"{found.failed} failed, {found.skipped} skipped"
    return f"no case has a value ({counts}); greval report RUN shows why"


def _explain_no_interval(found: Summary) -> str:
    return (
        f"no interval is defined for these values (n = {found.counted}); judge more cases, or leave .low or .high out"
    )
