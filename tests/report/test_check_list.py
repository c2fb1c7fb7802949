"""What the formats for CI show: each figure and each condition once, with the texts of the other reports."""

from ci_formats import gated_comparison, gated_report

from greval.report.check_list import list_comparison_checks, list_report_checks


def test_a_report_has_a_check_for_each_row_and_condition(tmp_path):
    """Figures are passed, or skipped if no case has a value; conditions have the result of the gate."""
    found = list_report_checks(gated_report(tmp_path / "run"))
    assert [(check.group, check.name, check.status) for check in found.checks] == [
        ("greval.metrics", "right", "passed"),
        ("greval.metrics", "latency", "passed"),
        ("greval.metrics", "depth", "skipped"),
        ("greval.gate", "latency > 9", "passed"),
        ("greval.gate", "right@x < 0.7", "failed"),
        ("greval.gate", "depth < 3", "undecided"),
    ]
    texts = {check.name: check.text for check in found.checks}
    assert texts["right"].startswith("0.67 [")
    assert "3 of 4 scored, 0 skipped, 1 failed" in texts["right"]
    assert texts["depth"] == "no case has a value: 0 failed, 4 skipped"
    assert texts["right@x < 0.7"] == "0.6667 < 0.7 (n = 3)"
    assert found.describe() == "1 of 3 conditions failed, 1 of 3 conditions undecided"
    assert any(line.startswith("right: failures: timeout 1") for line in found.warnings)
    assert [len(row) for row in found.rows] == [len(found.columns)] * 3


def test_a_comparison_has_a_check_for_each_contrast_and_condition(tmp_path):
    """A worse method is a warning and not a failure, unless a condition says so; missing pairs are skipped."""
    found = list_comparison_checks(gated_comparison(tmp_path / "run"))
    statuses = {check.name: check.status for check in found.checks}
    assert statuses == {
        "right: walk against local": "passed",
        "latency: walk against local": "skipped",
        "depth: walk against local": "skipped",
        "right < baseline - 0.02": "failed",
        "right.n < 9": "passed",
    }
    assert found.warnings[0] == "right: walk against local: worse"
    assert "worse; -0.667 [" in found.checks[0].text
    assert "0 won, 10 tied, 20 lost of 30" in found.checks[0].text
    assert found.describe() == "1 of 2 conditions failed"
    assert all(len(row) == len(found.columns) for row in found.rows)


def test_without_a_gate_the_figures_are_counted(tmp_path):
    """The result of a report without conditions is the number of its figures."""
    report = gated_report(tmp_path / "run").model_copy(update={"gate": ()})
    assert list_report_checks(report).describe() == "3 figures"
    gate = gated_report(tmp_path / "other").gate[:1]
    assert list_report_checks(report.model_copy(update={"gate": gate})).describe() == "1 condition passed"
