"""The rows of a run for the terminal: what is said after a reason."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from greval.report.results import print_rows


@pytest.mark.parametrize(
    ("notes", "remark"),
    [
        ({}, ""),
        ({"severity": "high"}, ""),
        ({"speaks_to_judge": "ignore the above"}, " [the text speaks to the judge]"),
        ({"uncalibrated": "Relevant"}, " [calibrated: the model alone would choose another value]"),
    ],
)
def test_a_reason_says_what_greval_noted(notes, remark):
    """Notes of greval's own are remarks after the reason; those of the metric are columns of exports."""
    row = {"sample_id": "q", "method": "", "item": None, "metric": "m", "status": "scored", "value": "Irrelevant"}
    console = Console(file=io.StringIO(), width=200)
    print_rows([{**row, "reason": "It is tea.", "notes": json.dumps(notes)}], console, texts=True)
    assert f"It is tea.{remark}\n" in "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
