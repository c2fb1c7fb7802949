"""Figures as they are told in a cell: the name, the value with its interval, and the interval by question."""

from __future__ import annotations

from greval.stats.interval import Interval
from greval.stats.measured import Figure, Measured

NAMES = {
    "kappa": "Cohen's kappa",
    "kappa linear": "kappa, linear weights",
    "kappa quadratic": "kappa, quadratic weights",
    "ac1": "Gwet's AC1",
    "alpha": "Krippendorff's alpha",
    "mae": "mean absolute error",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall's tau-b",
}


def named(name: str) -> str:
    """Give the name of a figure as it is told.

    Example:
        >>> named("kappa"), named("macro f1")
        ("Cohen's kappa", 'macro F1')
    """
    return NAMES.get(name, name.replace("f1", "F1"))


def told(figure: Measured | None) -> str:
    """Give a figure with its interval; a dash where it is not defined.

    Example:
        >>> from greval.stats.measured import Undefined
        >>> told(Figure(value=0.5, n=10)), told(Undefined(n=0, reason="nothing")), told(None)
        ('0.50', '-', '')
    """
    if figure is None:
        return ""
    return f"{number(figure.value)}{ends(figure.interval)}" if isinstance(figure, Figure) else "-"


def by_question(figure: Measured) -> str:
    """Give the interval that draws whole questions; nothing where each question has one thing."""
    return ends(figure.clustered).strip() if isinstance(figure, Figure) else "-"


def ends(interval: Interval | None) -> str:
    """Give the ends of an interval, to stand behind a value."""
    return "" if interval is None else f" [{number(interval.low)}, {number(interval.high)}]"


def number(value: float | None) -> str:
    """Give a figure with two digits after the point, fewer where it is large; never -0.00; a dash for none.

    Example:
        >>> number(-0.001), number(12345.6), number(None)
        ('0.00', '12,346', '-')
    """
    if value is None:
        return "-"
    decimals = next((places for limit, places in ((1000, 0), (100, 1)) if abs(value) >= limit), 2)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
