"""A diagnosis for the terminal: counts of causes, and the cases behind them."""

from report_page import find_row, print_page

from greval.analysis.diagnosis.records import MEANINGS, Diagnosis, Evidence, tabulate
from greval.report.diagnosis import describe_causes, print_notes, render

ROWS = [
    Diagnosis(sample_id=f"q{n}", method=method, cause=cause, reason="Dropped: document d1.", tags={"kind": "chain"})
    for n, (method, cause) in enumerate([("walk", "dropped"), ("walk", "dropped"), ("local", "not used")])
]


def test_groups_and_their_sum_are_counted():
    """Each cause that occurs has a column; the last row adds up the groups."""
    page = print_page(render, tabulate(ROWS, by=["kind"]), title="[title]")
    assert page.splitlines()[0] == describe_causes(tabulate(ROWS))
    assert "[title]" in page.splitlines()[1]
    assert find_row(page, "walk") == ["walk", "chain", "2", "0", "2"]
    assert find_row(page, "local") == ["local", "chain", "0", "1", "1"]
    assert find_row(page, "all") == ["all", "2", "1", "3"]
    assert f"dropped: {MEANINGS['dropped']}" in page


def test_a_diagnosis_begins_with_a_plain_sentence():
    """How many answers are wrong, of which method, and the most frequent cause in words."""
    right = ROWS[0].model_copy(update={"cause": "answered rightly"})
    assert describe_causes(tabulate([*ROWS, right])) == (
        "3 of 4 answers wrong (walk 2 of 3, local 1 of 1). "
        f"The most frequent cause (2 of 3) is 'dropped': {MEANINGS['dropped']}."
    )
    assert describe_causes(tabulate([right])) == "None of 1 answer is known to be wrong."


def test_one_group_has_no_sum():
    """A table of one group is its own sum."""
    page = print_page(render, tabulate(ROWS[:2]), title="t")
    assert find_row(page, "walk") == ["walk", "2", "2"]
    assert "\nall" not in page


def test_cases_of_a_cause_are_listed_with_their_evidence():
    """Each part says at which step it was lost, or that it was found."""
    parts = (
        Evidence(kind="document", name="d1", lost="dropped", told="no chunk"),
        Evidence(kind="node", name="n", told="ok"),
    )
    page = print_page(
        render, tabulate([ROWS[0].model_copy(update={"evidence": parts}), ROWS[2]]), title="t", show=["dropped"]
    )
    assert f"dropped (1): {MEANINGS['dropped']}" in page
    assert "q0 (walk): Dropped: document d1." in page
    assert "  document d1: dropped; no chunk" in page
    assert "  node n: found; ok" in page
    assert "q2 (local)" not in page


def test_notes_are_cut_after_three():
    """The first three notes about an index are printed, and the number of the others."""
    page = print_page(print_notes, [f"note {n}" for n in range(5)])
    assert page.splitlines() == ["index: note 0", "index: note 1", "index: note 2", "index: and 2 more notes"]
    assert print_page(print_notes, []) == ""
