"""JUnit XML: valid for the readers of CI servers, with counts that are right, for texts of any kind."""

from xml.etree import ElementTree as ET

import pytest
from ci_formats import HOSTILE, gated_report, list_of
from hypothesis import given
from hypothesis import strategies as st

from greval.report.check_list import NOT_XML, format_junit, list_report_checks

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
    "system-err": set(),
}
"""The usual attributes of each element, all of which are there."""


def parse(text):
    """Parse a document and check its elements, attributes and counts."""
    root = ET.fromstring(text.encode("ascii"))  # noqa: S314 - our own output
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
    cases = root.findall("testsuite/testcase")
    assert len(cases) == len([*root.iter("testcase")])
    counts = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for level in (root, root[0]):
        for name, element in counts.items():
            assert int(level.get(name)) == len([*root.iter(element)])
    for case in cases:
        assert [child.tag for child in case] in (["failure"], ["error"], ["skipped"], ["system-out"])
    return root


def test_a_report_is_a_suite_of_its_figures_and_conditions(tmp_path):
    """A missed condition is a failure with its reason, an undecided one an error, a metric without values skipped."""
    found = list_report_checks(gated_report(tmp_path / "run"))
    root = parse(format_junit(found))
    children = {case.get("name"): case[0] for case in root.iter("testcase")}
    assert {name: child.tag for name, child in children.items()} == {
        "right": "system-out",
        "latency": "system-out",
        "depth": "skipped",
        "latency > 9": "system-out",
        "right@x < 0.7": "failure",
        "depth < 3": "error",
    }
    assert children["right@x < 0.7"].get("message") == "0.6667 < 0.7 (n = 3)"
    assert "no case has a value" in children["depth < 3"].text
    assert "timeout 1" in root.find("testsuite/system-err").text
    assert root[0].get("name") == str(tmp_path / "run")


@pytest.mark.parametrize("text", [HOSTILE, "", "\r\n\t", "\x00"])
def test_hostile_texts_stay_texts(text):
    """Markup in a name or a reason is text; characters that XML cannot hold are replaced."""
    check_texts(text)


@given(st.text())
def test_every_text_is_kept(text):
    """Attributes hold every text as it is, but for the characters that XML cannot hold."""
    check_texts(text)


def check_texts(text):
    """Check that a text comes back from each place."""
    root = parse(format_junit(list_of(text)))
    clean = NOT_XML.sub("\ufffd", text)
    assert {case.get("name") for case in root.iter("testcase")} == {clean}
    assert root.find("testsuite/testcase/failure").get("message") == clean
