"""The lines of a gate on the terminal."""

import pytest
from report_page import print_page

from greval.analysis.summary import GateCheck
from greval.report.console import print_gate


@pytest.mark.parametrize(
    ("met", "undecided", "label"), [(False, False, "passed"), (True, False, "FAILED"), (True, True, "UNDECIDED")]
)
def test_a_line_has_result_condition_and_figures(met, undecided, label):
    """Each condition is one line, whose texts are no markup."""
    check = GateCheck(condition="[red]x < 1", met=met, undecided=undecided, told=("a: 1", "b: 2"))
    assert print_page(print_gate, [check]) == f"{label}: [red]x < 1; a: 1; b: 2\n"
