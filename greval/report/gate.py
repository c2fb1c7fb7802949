"""The checks of a gate for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from greval.analysis.gate_check import CheckStatus, GateCheck
from greval.report.tables import print_line

LABELS: dict[CheckStatus, str] = {"passed": "passed", "failed": "FAILED", "undecided": "UNDECIDED"}
STYLES: dict[CheckStatus, str] = {"passed": "green", "failed": "red", "undecided": "red"}


def print_gate(gate: Iterable[GateCheck], console: Console) -> None:
    """Print a line for each condition."""
    for check in gate:
        print_line(console, format_check(check), STYLES[check.status])


def format_check(check: GateCheck) -> str:
    """Format a gate condition with its figures as a line."""
    return f"{LABELS[check.status]}: {'; '.join((check.condition, *check.told))}"
