"""Agreement of two sides that choose categories: confusion matrix, precision, recall, F1, kappa, AC1."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any, NamedTuple

import numpy as np

from greval.errors import MissingExtraError
from greval.stats.bootstrap import BootstrapSample, Floats, Integers, ValueBasis, bootstrap_values, build_sparse
from greval.stats.interval import Measured

KAPPAS = {"kappa": None, "kappa linear": "linear", "kappa quadratic": "quadratic"}
PARTS = ("precision", "recall", "f1")


class Choices(NamedTuple):
    """The choices of two sides as category indices, with the weight, item and question of each pair.

    `truth` is the reference side. `size` is the number of categories of the scale, and `ordered` is whether their order
    counts.
    """

    truth: Integers
    given: Integers
    weights: Floats
    things: Integers
    questions: Integers
    size: int
    ordered: bool


def confusion_matrix(choices: Choices) -> Floats:
    """Return scikit-learn's confusion matrix, with a row for each true category; shape (size, size)."""
    metrics, labels, choices = _load_sklearn_metrics(), [*range(choices.size)], _merge_equal(choices)
    matrix: Floats = metrics.confusion_matrix(
        choices.truth, choices.given, labels=labels, sample_weight=choices.weights
    )
    return matrix


def compare_choices(choices: Choices, *, level: float) -> dict[str, Measured]:
    """Compute every agreement figure of two sides with its intervals.

    The values are scikit-learn's, except for AC1; the intervals come from the same formulas applied to the
    confusion matrices of all resamples at once. The names are "accuracy", "kappa", "kappa linear" and
    "kappa quadratic" (of ordered scales with more than two categories), "ac1", "macro" or "weighted"
    before "precision", "recall" and "f1", and these three before the index of each category.
    """
    n, size = len(choices.truth), choices.size
    cells = choices.truth * size + choices.given
    rows = build_sparse((np.arange(n, dtype=np.int32), cells.astype(np.int32)), choices.weights, (n, size * size))
    several = choices.ordered and size > 2  # noqa: PLR2004 - with two categories all kappas agree

    def statistic(sums: Floats) -> dict[str, Floats]:
        return compute_resampled_figures(sums.reshape(-1, size, size), ordered=several)

    sample = BootstrapSample(rows, choices.things, choices.questions)
    return bootstrap_values(sample, statistic, _build_basis(choices), values=compute_figures(choices), level=level)


def compute_figures(choices: Choices) -> dict[str, float]:
    """Compute the agreement figures of the sample itself, with scikit-learn; NaN if undefined.

    Macro and weighted averages leave out the categories for which the figure is undefined.
    """
    metrics, choices = _load_sklearn_metrics(), _merge_equal(choices)
    sides, size = (choices.truth, choices.given), choices.size
    how = {"labels": [*range(size)], "sample_weight": choices.weights}
    single = len(np.union1d(*sides)) < 2  # noqa: PLR2004 - kappa is 0 / 0 then
    kappas = [name for name, weights in KAPPAS.items() if weights is None or (choices.ordered and size > 2)]  # noqa: PLR2004
    figures = {"accuracy": float(metrics.accuracy_score(*sides, sample_weight=choices.weights))}
    for name in kappas:
        figures[name] = nan if single else float(metrics.cohen_kappa_score(*sides, weights=KAPPAS[name], **how))
    figures["ac1"] = float(gwet_ac1(confusion_matrix(choices)[None])[0])
    for average in ("macro", "weighted"):
        scores = metrics.precision_recall_fscore_support(*sides, average=average, zero_division=np.nan, **how)
        figures |= {f"{average} {part}": float(score) for part, score in zip(PARTS, scores[:3], strict=True)}
    scores = metrics.precision_recall_fscore_support(*sides, average=None, zero_division=np.nan, **how)
    for part, each in zip(PARTS, scores[:3], strict=True):
        figures |= {f"{part} {category}": float(score) for category, score in enumerate(each)}
    return figures


def compute_resampled_figures(tables: Floats, *, ordered: bool) -> dict[str, Floats]:
    """Compute the agreement figures of many confusion matrices at once; NaN if undefined.

    The shape of `tables` is (resamples, size, size), that of each figure (resamples,). `ordered` adds weighted kappas.
    """
    size = tables.shape[-1]
    true, judged, right = tables.sum(axis=2), tables.sum(axis=1), np.einsum("bkk->bk", tables)
    total = true.sum(axis=1)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    figures = {
        "accuracy": _divide(right.sum(axis=1), total),
        "kappa": _compute_kappa(tables, (apart > 0).astype(float)),
    }
    if ordered:
        figures |= {"kappa linear": _compute_kappa(tables, apart), "kappa quadratic": _compute_kappa(tables, apart**2)}
    figures["ac1"] = gwet_ac1(tables)
    each = dict(
        zip(PARTS, (_divide(right, judged), _divide(right, true), _divide(2 * right, true + judged)), strict=True)
    )
    for part, scores in each.items():
        figures[f"macro {part}"] = _average_defined(scores, np.ones_like(scores))
        figures[f"weighted {part}"] = _average_defined(scores, true)
        figures |= {f"{part} {category}": scores[:, category] for category in range(size)}
    return figures


def gwet_ac1(tables: Floats) -> Floats:
    """Compute Gwet's AC1 of many tables of two raters: (p - e) / (1 - e), with e = sum_k q_k (1 - q_k) / (size - 1).

    p is the share of items on which both agree; q_k is the mean of both raters' shares of category k. NaN for an
    empty table.

    Source:
        Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement",
        British Journal of Mathematical and Statistical Psychology 2008.
    """
    total = tables.sum(axis=(1, 2))
    shares = _divide(tables.sum(axis=1) + tables.sum(axis=2), 2 * total[:, None])
    chance = (shares * (1 - shares)).sum(axis=1) / (tables.shape[-1] - 1)
    agreed = _divide(np.einsum("bkk->b", tables), total)
    return _divide(agreed - chance, 1 - chance)


def _compute_kappa(tables: Floats, apart: Floats) -> Floats:
    """Compute Cohen's weighted kappa: 1 - observed disagreement / disagreement expected by chance.

    Source:
        Cohen, "Weighted kappa", Psychological Bulletin 1968.
    """
    observed = np.einsum("bij,ij->b", tables, apart) * tables.sum(axis=(1, 2))
    return 1 - _divide(observed, np.einsum("bi,ij,bj->b", tables.sum(axis=2), apart, tables.sum(axis=1), optimize=True))


def _divide(above: Floats, below: Floats) -> Floats:
    """Divide element by element; NaN if the divisor is 0."""
    above, below = np.broadcast_arrays(above, below)
    quotients: Floats = np.divide(above, below, out=np.full(above.shape, nan), where=below > 0)
    return quotients


def _average_defined(scores: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over the categories for which the figure is defined."""
    defined = ~np.isnan(scores)
    weights = weights * defined
    # Without any weight scikit-learn averages the defined categories equally.
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, defined)
    return _divide(np.where(defined, scores * weights, 0.0).sum(axis=1), weights.sum(axis=1))


def _build_basis(choices: Choices) -> Callable[[str], ValueBasis]:
    """Return a function that returns the number of choices of a figure and why it may be undefined."""
    true = np.bincount(choices.truth, minlength=choices.size)
    judged = np.bincount(choices.given, minlength=choices.size)
    n = len(choices.truth)

    def describe_basis(name: str) -> ValueBasis:
        part, _, category = name.partition(" ")
        if not category.isdecimal():
            why = "both sides use one and the same category only" if name.startswith("kappa") else "nothing to count"
            return ValueBasis(n=n, why=why, share=name == "accuracy")
        at = int(category)
        match part:
            case "precision":
                return ValueBasis(n=int(judged[at]), why="the judge never chose it", share=True)
            case "recall":
                return ValueBasis(n=int(true[at]), why="people never chose it", share=True)
            case _:
                return ValueBasis(n=int(true[at]), why="neither side chose it")

    return describe_basis


def _merge_equal(choices: Choices) -> Choices:
    """Return one choice for each pair of categories that occurs, weighted by how often it does."""
    # Weighted choices stay as they are: sums of other weights than 1 would be rounded in another order.
    if not (choices.weights == 1).all():
        return choices
    cells, times = np.unique(choices.truth * choices.size + choices.given, return_counts=True)
    truth, judged = np.divmod(cells, choices.size)
    return Choices(truth, judged, times.astype(float), cells, cells, choices.size, choices.ordered)


def _load_sklearn_metrics() -> Any:  # noqa: ANN401 - scikit-learn is untyped
    """Import scikit-learn's metrics, or raise MissingExtraError."""
    try:
        from sklearn import metrics
    except ImportError as error:
        raise MissingExtraError("stats", "scikit-learn") from error
    return metrics
