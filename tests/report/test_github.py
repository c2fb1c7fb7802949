"""Annotations of GitHub Actions: one command a line, which no text can end."""

import re

from ci_formats import HOSTILE, gated_report, list_of
from hypothesis import given
from hypothesis import strategies as st

from greval.report.check_list import format_github, format_workflow_command, list_report_checks

COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def read(line):
    """Read a command as GitHub's runner does: level, title and text."""
    level, title, text = COMMAND.fullmatch(line).groups()
    return level, *(unescape(one) for one in (title, text))


def unescape(text):
    """Undo the escapes in the order of GitHub's runner."""
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def test_a_report_is_annotated(tmp_path):
    """Conditions that are not passed are errors, troubles of the report warnings, and the result a notice."""
    folder = tmp_path / "run"
    commands = [read(line) for line in format_github(list_report_checks(gated_report(folder))).split("\n")]
    assert commands[0] == ("error", "greval: failed", "right@x < 0.7; 0.6667 < 0.7 (n = 3)")
    assert commands[1][:2] == ("error", "greval: undecided")
    assert {level for level, *_ in commands[2:-1]} == {"warning"}
    assert commands[-1] == ("notice", "greval", f"{folder}: 1 of 3 conditions failed, 1 of 3 conditions undecided")


def test_a_text_is_one_line():
    """Line breaks, percent signs and other commands in a text stay in it."""
    assert len(format_github(list_of(HOSTILE)).split("\n")) == 4
    assert format_workflow_command("error", "a", "50%\r\n::error::b") == "::error title=a::50%25%0D%0A::error::b"


@given(st.text(), st.text())
def test_every_text_is_kept(title, text):
    """The runner reads what was written; a text with an escaped colon of its own is not changed by it."""
    level, *found = read(format_workflow_command("warning", title, text))
    assert level == "warning"
    if "%" not in title + text:
        assert found == [title, text]
