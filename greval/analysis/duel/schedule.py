"""Schedule of a duel: pairs are judged, questions in arbitrary order, until each win rate is known well enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from greval._util.wording import format_count
from greval.analysis.duel.figures import measure_win_rate
from greval.analysis.duel.verdicts import PairVerdict, build_verdict, read_verdicts
from greval.errors import DataError
from greval.records.case import Case
from greval.records.result import Result
from greval.runs.duels import split_pair_label
from greval.runs.shard import hash_sample_id
from greval.runs.store import FILE, Store
from greval.stats.interval import LEVEL, check_level
from greval.stats.measured import MeasuredValue


class WidthGoal(NamedTuple):
    """How well each win rate is to be known: the width of its interval, upper less lower end.

    `cluster_by` is the tag whose questions are not independent, and `level` the confidence level, as in
    `summarise_duel`.
    """

    width: float
    cluster_by: str | None = None
    level: float = LEVEL


class _Duelists(NamedTuple):
    """Two methods and the metric that compares them."""

    metric: str
    first: str
    second: str


class PairSchedule:
    """The pairs of a duel in the order in which they are judged, which ends when each win rate is known.

    Iterating yields a pair only if a metric does not yet know the win rate of its methods. The verdicts that are in the
    run come first, because they cost nothing; then the questions follow in an order that depends only on their ids, so
    that the questions judged are no particular ones, and the same command continues after a stop.

    The width decides when to stop, never which method is ahead, so that stopping favours no method.

    Args:
        pairs: The pairs of all questions.
        metrics: The names of the preference metrics.
        goal: How well each win rate is to be known.
        known: The verdicts of each metric that are in the run.

    Raises:
        DataError: If the width or the level is not between 0 and 1.

    Source:
        Chow and Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals for the mean", 1965.
    """

    def __init__(
        self,
        pairs: Iterable[Case],
        metrics: Sequence[str],
        goal: WidthGoal,
        stored_verdicts: Iterable[tuple[str, Iterable[PairVerdict]]] = (),
    ) -> None:
        check_level(goal.level)
        if not 0 < goal.width < 1:
            raise DataError(
                f"width of an interval: expected a number between 0 and 1, got {goal.width:g}; 0.2 is usual"
            )
        self._metrics = metrics
        self._goal = goal
        self._verdicts: defaultdict[_Duelists, dict[str, PairVerdict]] = defaultdict(dict)
        self._widths: dict[_Duelists, float] = {}
        for metric, verdicts in stored_verdicts:
            for verdict in verdicts:
                self.add_verdict(metric, verdict)
        self._pairs = {(pair.id, pair.method): pair for pair in sorted(pairs, key=self._get_place)}

    @classmethod
    def resume(cls, pairs: Iterable[Case], metrics: Sequence[str], goal: WidthGoal, folder: Path) -> Self:
        """Create the schedule of pairs of which some may be judged already, in this run folder."""
        stored_verdicts = []
        if (folder / FILE).is_file():
            with Store.open(folder) as store, store.snapshot():
                stored_verdicts = [(metric, read_verdicts(store, metric, goal.cluster_by)) for metric in metrics]
        return cls(pairs, metrics, goal, stored_verdicts)

    def __iter__(self) -> Iterator[Case]:
        """Yield each pair that is to be judged, deciding when it is asked for."""
        for pair in self._pairs.values():
            if self._is_judged(pair) or any(not self._is_known(duelists) for duelists in self._list_duelists(pair)):
                yield pair

    def add_result(self, result: Result) -> None:
        """Take note of a new result; those of other metrics do not count."""
        case = self._pairs.get((result.sample_id, result.method))
        if case is not None and result.metric in self._metrics:
            self.add_verdict(result.metric, build_verdict(result, case, self._goal.cluster_by))

    def add_verdict(self, metric: str, verdict: PairVerdict) -> None:
        """Take note of a verdict, in place of an earlier one on the same pair."""
        duelists = _Duelists(metric, verdict.first, verdict.second)
        self._verdicts[duelists][verdict.sample_id] = verdict
        # Computed again when it is asked for: once for many verdicts.
        self._widths.pop(duelists, None)

    def describe(self) -> Iterator[str]:
        """Yield lines that say how much was judged, and which win rates are not known well enough."""
        judged = {
            (opponents.first, opponents.second, key)
            for opponents, verdicts in self._verdicts.items()
            for key, verdict in verdicts.items()
            if verdict.outcome is not None
        }
        yield f"{len(judged):,} of {format_count(len(self._pairs), 'pair')} judged"
        for duelists in dict.fromkeys(
            opponents for pair in self._pairs.values() for opponents in self._list_duelists(pair)
        ):
            if not self._is_known(duelists):
                count = format_count(len(self._list_judged(duelists)), "question")
                yield (
                    f"{duelists.metric}: {duelists.first} vs {duelists.second}: after {count} the interval "
                    f"is {self._compute_width(duelists):.2f} wide, expected at most {self._goal.width:g}"
                )

    def _get_place(self, pair: Case) -> tuple[bool, int, str, str]:
        # By hash: files are often sorted, so that their first questions say little about the others.
        return not self._is_judged(pair), hash_sample_id(pair.id), pair.id, pair.method

    def _is_judged(self, pair: Case) -> bool:
        return any(pair.id in self._verdicts[duelists] for duelists in self._list_duelists(pair))

    def _list_duelists(self, pair: Case) -> list[_Duelists]:
        return [_Duelists(metric, *split_pair_label(pair, pair.method)) for metric in self._metrics]

    def _is_known(self, duelists: _Duelists) -> bool:
        return self._compute_width(duelists) <= self._goal.width

    def _compute_width(self, duelists: _Duelists) -> float:
        """Compute the width of the interval of a win rate; 1 if it has no interval."""
        if duelists not in self._widths:
            rate = measure_win_rate(self._list_judged(duelists), level=self._goal.level)
            interval = rate.interval if isinstance(rate, MeasuredValue) else None
            self._widths[duelists] = interval.high - interval.low if interval else 1.0
        return self._widths[duelists]

    def _list_judged(self, duelists: _Duelists) -> list[PairVerdict]:
        return [verdict for verdict in self._verdicts[duelists].values() if verdict.outcome is not None]
