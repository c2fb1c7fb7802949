"""The verdicts of a run on pairs of responses: who won, in which order, and how long the answers are."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Literal, NamedTuple

import numpy as np

from greval.records.case import Case
from greval.records.result import Judgement, Result
from greval.records.scale import Value
from greval.runs.duels import split_pair_label
from greval.runs.run_reader import CaseFinder
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.stats.bootstrap import Integers
from greval.stats.paired_comparisons import LOSS, TIE, WIN

Cluster = tuple[Literal["tag", "id"], str]
"""What names a cluster of questions, a tag or the id of a question, with its text."""
_WINS = {"A": WIN, "Tie": TIE, "B": LOSS}


class PairVerdict(NamedTuple):
    """The verdict on one pair.

    `outcome` is 1 if the first method won, 0.5 for a tie, 0 if the second won; None if the judgement failed. `orders`
    has the outcome for the first method in each order, and `shown` that for the response that stood first.
    `length_ratio` is the logarithm of the ratio of both lengths, None if an answer is empty or not recorded. `cluster`
    is the value of the tag of the question, or else its id, each with its kind, so that equal texts differ.
    """

    sample_id: str
    cluster: Cluster
    first: str
    second: str
    judge: str
    outcome: float | None
    orders: tuple[float, ...] = ()
    shown: tuple[float, ...] = ()
    length_ratio: float | None = None

    @property
    def pair(self) -> tuple[str, str, str]:
        """The question and both methods."""
        return self.sample_id, self.first, self.second

    @property
    def is_flipped(self) -> bool:
        """True if the verdict is another one if the responses are exchanged."""
        return len(set(self.orders)) > 1


def read_verdicts(store: Store, metric: str, cluster_by: str | None = None) -> list[PairVerdict]:
    """Read the verdict of a metric on each pair of a run; pairs that were skipped are left out.

    The methods of each pair are in the order of their names. If a run holds the verdicts of `a vs b` and of `b vs a`
    on one question, the question counts once, by the one that is in this order unless it failed. `cluster_by` is the
    tag whose value names the cluster of a question; None if each question is its own.
    """
    finder = CaseFinder(store)
    verdicts: dict[tuple[str, str, str], PairVerdict] = {}
    mirrored: list[PairVerdict] = []
    for result in store.results(ResultFilter(metrics=(metric,))):
        if result.outcome.status == "skipped":
            continue
        verdict = build_verdict(result, finder.find_case(result), cluster_by)
        # The same two answers may have been judged as `a vs b` and as `b vs a`; the question counts once.
        if verdict.first > verdict.second:
            mirrored.append(mirror_verdict(verdict))
        else:
            verdicts[verdict.pair] = verdict
    for verdict in mirrored:
        if verdict.pair not in verdicts or verdicts[verdict.pair].outcome is None:
            verdicts[verdict.pair] = verdict
    return [*verdicts.values()]


def mirror_verdict(verdict: PairVerdict) -> PairVerdict:
    """Exchange the methods of a verdict."""
    return verdict._replace(
        first=verdict.second,
        second=verdict.first,
        outcome=None if verdict.outcome is None else WIN - verdict.outcome,
        orders=tuple(WIN - outcome for outcome in verdict.orders),
        # `shown` stays: what stood first was shown first all the same.
        length_ratio=None if verdict.length_ratio is None else -verdict.length_ratio,
    )


def build_verdict(result: Result, case: Case | None, cluster_by: str | None) -> PairVerdict:
    """Build the verdict of a result on a pair, whose case may be unknown."""
    first, second = split_pair_label(case, result.method)
    tag = result.tags.get(cluster_by, "") if cluster_by else ""
    verdict = PairVerdict(
        result.sample_id,
        # With its kind: the id of a question without the tag may be the value of the tag of others.
        ("tag", tag) if tag else ("id", result.sample_id),
        first,
        second,
        result.judge,
        None,
    )
    if not result.judgements:
        return verdict
    judgement = result.judgements[0]
    orders = tuple(read_outcome(order.value) for order in judgement.orders)
    shown_outcomes = tuple(
        outcome if order.shown_first == "A" else WIN - outcome
        for order, outcome in zip(judgement.orders, orders, strict=True)
    )
    return verdict._replace(
        outcome=_decide_outcome(judgement, orders),
        orders=orders,
        shown=shown_outcomes,
        length_ratio=None if case is None else compute_length_ratio(case),
    )


def read_outcome(value: Value) -> float:
    """Return the outcome for response A: 1, 0.5 or 0.

    Example:
        >>> read_outcome("A"), read_outcome("Tie"), read_outcome(-2)
        (1.0, 0.5, 0.0)
    """
    if isinstance(value, str):
        return _WINS[value]
    return WIN if value > 0 else LOSS if value < 0 else TIE


def _decide_outcome(judgement: Judgement, orders: Sequence[float]) -> float:
    """Return the outcome: that of both orders if they agree, else a tie; without orders that of the value."""
    if not orders:
        return read_outcome(judgement.value)
    # A verdict that holds in one order only is no win: half a win would count the position.
    return orders[0] if len(set(orders)) == 1 else TIE


def compute_length_ratio(case: Case) -> float | None:
    """Return the logarithm of the ratio of the lengths of both answers in characters.

    None if one of them is empty or not recorded.
    """
    length = len((case.answer or "").strip())
    other_length = len(((case.other_response and case.other_response.answer) or "").strip())
    return log(length / other_length) if length and other_length else None


def encode_clusters(verdicts: Sequence[PairVerdict]) -> Integers:
    """Return the number of the cluster of each verdict, from 0."""
    codes = {cluster: code for code, cluster in enumerate(dict.fromkeys(verdict.cluster for verdict in verdicts))}
    return np.asarray([codes[verdict.cluster] for verdict in verdicts], dtype=np.int64)
