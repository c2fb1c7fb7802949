"""A list of checks as JUnit XML, which CI servers show as test results."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from greval.report.check_list import Check, CheckList

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even as references."""
REPLACEMENT = "\ufffd"
OUTCOMES = {"failed": "failure", "undecided": "error", "skipped": "skipped"}
"""The element of each status; a passed check has none."""
NO_TIME = "0"


def format_junit(found: CheckList) -> str:
    """Format checks as JUnit XML in ASCII: one suite, with a test case for each check.

    A missed condition is a failure, and a condition that cannot be decided is an error. Figures never fail: without a
    value they are skipped, otherwise they are passed, with the figure as their output.

    Example:
        >>> check = Check("tone < 0.7", "greval.gate", "failed", "0.6 < 0.7 (n = 9)")
        >>> print(format_junit(CheckList("runs/x", (check,), (), (), ())).splitlines()[-4])
              <failure message="0.6 &lt; 0.7 (n = 9)" type="failed">0.6 &lt; 0.7 (n = 9)</failure>
    """
    counts = {
        "tests": str(len(found.checks)),
        "failures": str(found.count("failed")),
        "errors": str(found.count("undecided")),
        "skipped": str(found.count("skipped")),
        "time": NO_TIME,
    }
    root = Element("testsuites", {"name": "greval", **counts})
    suite = SubElement(root, "testsuite", {"name": _clean(found.title), **counts})
    for check in found.checks:
        _add_check(suite, check)
    if found.warnings:
        SubElement(suite, "system-err").text = _clean("\n".join(found.warnings))
    indent(root)
    text: bytes = tostring(root, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii")


def _add_check(suite: Element, check: Check) -> None:
    """Add the test case of a check."""
    names = {"classname": _clean(check.group), "name": _clean(check.name), "time": NO_TIME}
    case, text = SubElement(suite, "testcase", names), _clean(check.text)
    outcome = OUTCOMES.get(check.status)
    if outcome == "skipped":
        SubElement(case, outcome, {"message": text})
    elif outcome:
        SubElement(case, outcome, {"message": text, "type": check.status}).text = text
    else:
        SubElement(case, "system-out").text = text


def _clean(text: str) -> str:
    """Return a text with a substitute for characters that XML cannot hold."""
    return NOT_XML.sub(REPLACEMENT, text)
