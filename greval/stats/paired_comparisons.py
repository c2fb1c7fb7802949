"""Strengths of methods from paired comparisons with ties: the models of Bradley and Terry and of Davidson."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats, Integers
from greval.stats.interval import Measured, MeasuredValue, Undefined
from greval.stats.likelihood import (
    MIN_CLUSTERS,
    LikelihoodPoint,
    cluster_covariance,
    maximise_likelihood,
    wald_interval,
)

WIN, TIE, LOSS = 1.0, 0.5, 0.0
UNBOUNDED = "some methods never lost to the others, so that their strength has no upper bound"


class PairedComparisons(NamedTuple):
    """Comparisons of two methods each, given by their numbers.

    `outcomes` are 1 if the first was better, 0.5 for a tie, 0 if the second was better. `clusters` are the numbers of
    the questions, from 0: comparisons on one question are not independent. `size` is the number of methods.
    """

    first: Integers
    second: Integers
    outcomes: Floats
    clusters: Integers
    size: int


def estimate_strengths(comparisons: PairedComparisons, *, level: float) -> tuple[Measured, ...]:
    """Estimate the strength of each method with its interval.

    With strengths s that sum to 0 and a parameter t for ties, the first of two methods is better with a probability
    proportional to exp(s1), the second to exp(s2), and neither to exp(t + (s1 + s2) / 2). This is Davidson's model;
    without any tie it is that of Bradley and Terry, where the difference of two strengths is the log odds of a win.
    Intervals are Wald's, with the covariance over questions. They are left out below 5 questions.

    Returns:
        The strength of each method by its number. All are undefined if the likelihood has no maximum: there is no
        comparison, every outcome is a tie, or the methods fall into two groups of which one never lost to the other.
        With ties this also holds if a group only tied.

    Source:
        Bradley and Terry, "Rank analysis of incomplete block designs", Biometrika 1952; Davidson, "On extending the
        Bradley-Terry model to accommodate ties in paired comparison experiments", JASA 1970; the condition: Ford,
        "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 1957.
    """
    if reason := _explain_undefined(comparisons):
        return (Undefined(n=len(comparisons.outcomes), reason=reason),) * comparisons.size
    model = _DavidsonModel(comparisons)
    parameters = maximise_likelihood(model.evaluate, model.size)
    if parameters is None:
        return (Undefined(n=len(comparisons.outcomes), reason=UNBOUNDED),) * comparisons.size
    strengths = parameters[: comparisons.size] - parameters[: comparisons.size].mean()
    errors = model.compute_errors(parameters)
    count = int(comparisons.clusters.max()) + 1
    played = np.bincount(np.concatenate([comparisons.first, comparisons.second]), minlength=comparisons.size)
    return tuple(
        MeasuredValue(
            value=float(strength),
            n=int(n),
            interval=None if errors is None else wald_interval(float(strength), float(error), count, level=level),
        )
        for strength, error, n in zip(strengths, strengths if errors is None else errors, played, strict=True)
    )


def _explain_undefined(comparisons: PairedComparisons) -> str:
    """Explain why strengths cannot be estimated, empty if they can."""
    if not len(comparisons.outcomes):
        return "no comparison"
    if bool((comparisons.outcomes == TIE).all()):
        return "every verdict is a tie"
    if _count_groups(comparisons) > 1:
        return UNBOUNDED
    return ""


def _count_groups(comparisons: PairedComparisons) -> int:
    """Count the groups of methods within which each is better than each other one, directly or over others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    better, worse = comparisons.outcomes > LOSS, comparisons.outcomes < WIN
    rows = np.concatenate([comparisons.first[better], comparisons.second[worse]])
    columns = np.concatenate([comparisons.second[better], comparisons.first[worse]])
    edges = coo_array((np.ones(len(rows)), (rows, columns)), shape=(comparisons.size, comparisons.size))
    return int(connected_components(edges, connection="strong")[0])


class _DavidsonModel:
    """The likelihood of Davidson's model as a multinomial logit whose exponents are linear in the parameters."""

    def __init__(self, comparisons: PairedComparisons) -> None:
        has_ties = bool((comparisons.outcomes == TIE).any())
        self.methods, self.size, self.clusters = comparisons.size, comparisons.size + has_ties, comparisons.clusters
        rows = np.arange(len(comparisons.outcomes))
        self._design = np.zeros((len(rows), 2 + has_ties, self.size))
        self._design[rows, 0, comparisons.first] = 1.0
        self._design[rows, 1, comparisons.second] = 1.0
        if has_ties:
            self._design[rows, 2, comparisons.first] = 0.5
            self._design[rows, 2, comparisons.second] = 0.5
            self._design[rows, 2, -1] = 1.0
        self._chosen = np.select([comparisons.outcomes == WIN, comparisons.outcomes == LOSS], [0, 1], 2)

    def evaluate(self, parameters: Floats) -> LikelihoodPoint:
        """Return the log likelihood at given parameters."""
        design, logs = self._design, self._compute_logs(parameters)
        chances = np.exp(logs)
        means = np.einsum("nk,nkp->np", chances, design)
        spread = np.einsum("nk,nkp,nkq->pq", chances, design, design) - means.T @ means
        value = float(logs[np.arange(len(logs)), self._chosen].sum())
        return LikelihoodPoint(value, self._compute_scores(parameters).sum(axis=0), -spread)

    def compute_errors(self, parameters: Floats) -> Floats | None:
        """Return the standard errors of the strengths around their mean, None for too few questions."""
        if int(self.clusters.max()) + 1 < MIN_CLUSTERS:
            return None
        covariance = cluster_covariance(
            self.evaluate(parameters).hessian, self._compute_scores(parameters), self.clusters
        )[: self.methods, : self.methods]
        # Only differences of strengths are determined, so that each error is that of a difference from the mean.
        centre = np.eye(self.methods) - 1 / self.methods
        errors: Floats = np.sqrt(np.clip(np.diag(centre @ covariance @ centre), 0.0, None))
        return errors

    def _compute_logs(self, parameters: Floats) -> Floats:
        exponents: Floats = self._design @ parameters
        return exponents - np.logaddexp.reduce(exponents, axis=1, keepdims=True)

    def _compute_scores(self, parameters: Floats) -> Floats:
        rows = np.arange(len(self._chosen))
        means = np.einsum("nk,nkp->np", np.exp(self._compute_logs(parameters)), self._design)
        scores: Floats = self._design[rows, self._chosen] - means
        return scores
