"""Formatting of figures for table cells: the name, the value with its interval, and the interval by question."""

from __future__ import annotations

from greval.stats.interval import Interval
from greval.stats.measured import Measured, MeasuredValue

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


def format_name(name: str) -> str:
    """Return the printed name of a figure.

    Example:
        >>> format_name("kappa"), format_name("macro f1")
        ("Cohen's kappa", 'macro F1')
    """
    return NAMES.get(name, name.replace("f1", "F1"))


def format_measured(figure: Measured | None) -> str:
    """Format a figure with its interval; a dash if it is undefined.

    Example:
        >>> from greval.stats.measured import Undefined
        >>> undefined = Undefined(n=0, reason="nothing")
        >>> format_measured(MeasuredValue(value=0.5, n=10)), format_measured(undefined), format_measured(None)
        ('0.50', '-', '')
    """
    if figure is None:
        return ""
    return (
        f"{format_number(figure.value)}{format_interval(figure.interval)}" if isinstance(figure, MeasuredValue) else "-"
    )


def format_by_question(figure: Measured) -> str:
    """Format the interval that resamples whole questions; empty if each question has one item."""
    return format_interval(figure.clustered).strip() if isinstance(figure, MeasuredValue) else "-"


def format_interval(interval: Interval | None) -> str:
    """Format the ends of an interval, to follow a value."""
    return "" if interval is None else f" [{format_number(interval.low)}, {format_number(interval.high)}]"


def format_number(value: float | None) -> str:
    """Format a figure with two decimals, fewer if it is large; never as -0.00, and None as a dash.

    Example:
        >>> format_number(-0.001), format_number(12345.6), format_number(None)
        ('0.00', '12,346', '-')
    """
    if value is None:
        return "-"
    decimals = next((places for limit, places in ((1000, 0), (100, 1)) if abs(value) >= limit), 2)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
