"""Agreement of two sides that choose categories: confusion matrix, precision, recall, F1, kappa, AC1."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import BootstrapSample, Floats, Integers, ValueBasis, bootstrap_values, build_sparse
from greval.stats.interval import Measured

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
    """Return the confusion matrix, with a row for each true category; shape (size, size)."""
    size = choices.size
    cells = np.bincount(choices.truth * size + choices.given, weights=choices.weights, minlength=size * size)
    return cells.astype(np.float64).reshape(size, size)


def compare_choices(choices: Choices, *, level: float) -> dict[str, Measured]:
    """Compute every agreement figure of two sides with its intervals.

    The names are "accuracy", "kappa", "kappa linear" and "kappa quadratic" (of ordered scales with more than two
    categories), "ac1", "macro" or "weighted" before "precision", "recall" and "f1", and these three before the index of
    each category.
    """
    n, size = len(choices.truth), choices.size
    cells = choices.truth * size + choices.given
    rows = build_sparse((np.arange(n, dtype=np.int32), cells.astype(np.int32)), choices.weights, (n, size * size))

    def statistic(sums: Floats) -> dict[str, Floats]:
        return compute_resampled_figures(sums.reshape(-1, size, size), ordered=_has_distances(choices))

    sample = BootstrapSample(rows, choices.things, choices.questions)
    return bootstrap_values(sample, statistic, _build_basis(choices), values=compute_figures(choices), level=level)


def compare_kappas(choices: Choices, rival: Integers, *, level: float) -> Measured:
    """Compute how much higher Cohen's kappa of one side with the truth is than that of another, on the same items.

    Each resample draws the items of both sides together, so that an item that is hard for both widens no interval.

    Args:
        choices: The truth, and the side whose kappa comes first.
        rival: The categories of the other side.
        level: The confidence level.
    """
    n, size = len(choices.truth), choices.size
    sides = (choices.given, rival)
    # two columns say which side agrees, and three blocks of columns count the categories of the truth and the sides
    places = [np.full(n, 0), np.full(n, 1), *(2 + size * k + side for k, side in enumerate((choices.truth, *sides)))]
    addends = [*(np.where(side == choices.truth, 1.0, 0.0) for side in sides), *[np.ones(n)] * 3]
    values = (np.stack(addends, axis=1) * choices.weights[:, None]).ravel()
    rows = build_sparse(
        (np.repeat(np.arange(n), len(places)), np.stack(places, axis=1).ravel()), values, (n, 2 + 3 * size)
    )

    def compute_difference(sums: Floats) -> dict[str, Floats]:
        agreed, counts = sums[:, :2], sums[:, 2:].reshape(-1, 3, size)
        total = counts[:, 0].sum(axis=1)
        kappas = []
        for number in range(2):
            chance = _divide((counts[:, 0] * counts[:, 1 + number]).sum(axis=1), total**2)
            kappas.append(_divide(_divide(agreed[:, number], total) - chance, 1 - chance))
        return {"difference": kappas[0] - kappas[1]}

    sample = BootstrapSample(rows, choices.things, choices.questions)
    basis = ValueBasis(n=n, why="both sides use one and the same category only")
    value = float(compute_difference(rows.sum(axis=0).reshape(1, -1))["difference"][0])
    measured = bootstrap_values(sample, compute_difference, lambda _: basis, values={"difference": value}, level=level)
    return measured["difference"]


def compute_figures(choices: Choices) -> dict[str, float]:
    """Compute the agreement figures of the sample itself; NaN if undefined."""
    figures = compute_resampled_figures(confusion_matrix(choices)[None], ordered=_has_distances(choices))
    return {name: float(values[0]) for name, values in figures.items()}


def _has_distances(choices: Choices) -> bool:
    """Return whether weighted kappas differ from the plain one, which they do not for two categories."""
    return choices.ordered and choices.size > 2  # noqa: PLR2004


def compute_resampled_figures(tables: Floats, *, ordered: bool) -> dict[str, Floats]:
    """Compute the agreement figures of many confusion matrices at once; NaN if undefined.

    Averages leave out the categories for which a figure is undefined. The shape of `tables` is (resamples, size, size),
    that of each figure (resamples,). `ordered` adds weighted kappas.
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
    figures |= {f"macro {part}": _average_defined(scores, np.ones_like(scores)) for part, scores in each.items()}
    figures |= {f"weighted {part}": _average_defined(scores, true) for part, scores in each.items()}
    for part, scores in each.items():
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
