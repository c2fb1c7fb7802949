"""The records of a diagnosis: causes, and the table that counts them."""

from collections import Counter
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from greval.analysis.diagnosis.records import CAUSES, LOSSES, MEANINGS, Cause, Diagnosis, tabulate

diagnoses = st.lists(
    st.builds(
        Diagnosis,
        sample_id=st.sampled_from(["q1", "q2", "q3"]),
        method=st.sampled_from(["", "walk", "local"]),
        cause=st.sampled_from(CAUSES),
        reason=st.just("..."),
        tags=st.dictionaries(st.sampled_from(["kind", "depth"]), st.sampled_from(["", "a", "b"])),
    ),
    max_size=12,
)


def test_every_cause_has_a_meaning_and_losses_are_causes():
    """A new cause needs a sentence, and the steps at which evidence is lost keep their order."""
    assert get_args(Cause) == CAUSES
    assert set(MEANINGS) == set(CAUSES)
    assert [cause for cause in CAUSES if cause in LOSSES] == list(LOSSES)


@given(diagnoses, st.lists(st.sampled_from(["kind", "depth", "method", "kind"]), max_size=3))
def test_a_table_counts_every_diagnosis_once(rows, by):
    """The groups are sorted and add up to the rows; a group has the values of its rows."""
    table = tabulate(rows, by)
    assert table.by == ("method", *dict.fromkeys(name for name in by if name != "method"))
    assert [group.names for group in table.groups] == sorted({table.list_group_names(row) for row in rows})
    assert sum(group.total for group in table.groups) == len(rows)
    counted = Counter(
        (group.names, cause) for group in table.groups for cause in group.cases for _ in group.cases[cause]
    )
    assert counted == Counter((table.list_group_names(row), row.cause) for row in rows)


def test_a_missing_method_or_tag_has_a_name():
    """A case without the tag is in a group of its own."""
    (group,) = tabulate([Diagnosis(cause="dropped", reason="...", sample_id="q1")], ["kind"]).groups
    assert group.names == ("(none)", "(none)")
    assert (group.counts, group.total) == ({"dropped": 1}, 1)
