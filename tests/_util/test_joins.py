"""The join of ids: it counts what met, and names what would make ids equal that nearly are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval._util.joins import (
    FEW_IDS_MET,
    NO_ID_MET,
    JoinCounter,
    are_of_other_kinds,
    find_near_ids,
    join_ids,
    name_remark,
)

NAMES = ("cases", "rows")
IDS = st.text('aZ01 ._-/"\u00a0\u200bé', max_size=6) | st.sampled_from(["d1", "D1", "d1.txt", "1.0", "1", "001"])


@given(left=st.lists(IDS, max_size=8), right=st.lists(IDS, max_size=8))
def test_a_join_counts_what_met(left, right):
    """For any two lists of ids, the join counts the equal ids of both sides, and shows an id of each that did not."""
    join = join_ids(left, right, NAMES)
    common = {*left} & {*right}
    assert (join.left.total, join.right.total) == (len({*left}), len({*right}))
    assert join.left.met == join.right.met == len(common)
    assert {*join.left.unmet} == {*left} - common
    assert {*join.right.unmet} == {*right} - common
    assert join.met_nothing is (bool(left) and bool(right) and not common)
    assert (join.find_remark() is not None) is (2 * len(common) < len({*left}))
    if join.near:
        assert join.near.left in join.left.unmet
        assert join.near.right in join.right.unmet
        assert join.near.differences


@given(name=IDS, other=IDS)
def test_near_is_the_same_from_both_sides(name, other):
    """Whether two ids nearly meet does not depend on the side that is looked up, and no id is near itself."""
    here, there = find_near_ids([name], [other]), find_near_ids([other], [name])
    assert (here is None) == (there is None)
    assert find_near_ids([name], [name]) is None
    if here and there:
        assert {*here.differences} == {*there.differences}


@pytest.mark.parametrize(
    ("name", "other", "difference"),
    [
        ("Q1", "q1", "case"),
        ("STRASSE", "straße", "case"),
        ("q1 ", "q1", "blanks or invisible characters"),
        ("q1\u00a0", "q1", "blanks or invisible characters"),
        ("\ufeffq1", "q1", "blanks or invisible characters"),
        ("q\u200b1", "q1", "blanks or invisible characters"),
        ("q1\u00ad", "q1", "blanks or invisible characters"),
        ("q1\r", "q1", "blanks or invisible characters"),
        ("two  words", "two words", "blanks or invisible characters"),
        ('"LUMM"', "LUMM", "quotes or brackets"),
        ("“LUMM”", "LUMM", "quotes or brackets"),
        ("['d1']", "d1", "quotes or brackets"),
        ("cafe\u0301", "café", "the Unicode form"),
        ("ｑ1", "q1", "the Unicode form"),  # noqa: RUF001 - the letter is full-width
        ("Ada’s notes", "Ada's notes", "the Unicode form"),  # noqa: RUF001 - an apostrophe as in print
        ("Café Zürich", "Cafe Zurich", "accents"),
        ("a−b", "a-b", "separators such as - and _"),  # noqa: RUF001 - a minus
        ("1.0", "1", "a trailing .0"),
        ("q1.0", "q1", "a trailing .0"),
        ("001", "1", "leading zeros"),
        ("doc_007", "doc_7", "leading zeros"),
        ("data/docs/d1.txt", "d1.txt", "a path"),
        ("C:\\docs\\d1.txt", "d1.txt", "a path"),
        ("docs\\d1.txt", "docs/d1.txt", "the slashes of a path"),
        ("d1.txt", "d1", "a file ending"),
        ("https://www.example.org/a/", "http://example.org/a", "the form of a URL"),
        ("https://example.org/a", "example.org/a", "the form of a URL"),
        ("https://example.org/a?x=1#top", "https://example.org/a", "the query of a URL"),
        ("hours.md#opening", "hours.md", "the fragment behind a #"),
        ("docs/hours#opening", "docs/hours", "the fragment behind a #"),
        ("a%20b", "a b", "escapes such as %20"),
        ("AT&amp;T", "AT&T", "escapes such as %20"),
        ("doc-1", "doc_1", "separators such as - and _"),
        ("Harbour Team", "Harbour_Team", "separators such as - and _"),
        ("5f3a9c02-11d2-4b7e-9f00-aa12bb34cc56", "5f3a9c0211d24b7e9f00aa12bb34cc56", "separators such as - and _"),
    ],
)
def test_one_difference_is_named(name, other, difference):
    """Ids that differ in one form only are near, and the form is named and no other."""
    near = find_near_ids([name, "z9"], ["y8", other])
    assert near is not None
    assert (near.left, near.right, near.differences) == (name, other, (difference,))
    assert near.is_certain


def test_several_differences_are_named_together():
    """Ids that differ in several forms are near, and exactly these are named."""
    section = find_near_ids(["docs/Hours.md#opening"], ["hours.md"])
    assert section is not None
    assert {*section.differences} == {"case", "a path", "the fragment behind a #"}
    near = find_near_ids(['"data/D01.txt"\u00a0'], ["d1"])
    assert near is not None
    assert {*near.differences} == {
        "blanks or invisible characters",
        "quotes or brackets",
        "case",
        "leading zeros",
        "a file ending",
        "a path",
    }


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("d1", "d2"),
        ("1", "11"),
        ("1-11", "11-1"),
        ("1.5", "15"),
        ("10", "1"),
        ("a/readme.md", "b/readme.md"),
        ("a\\readme.md", "b/readme.md"),
        ("d1.txt", "d1.md"),
        ("v1.10", "v1.1"),
        ("C#", "C"),
        ("hours.md#opening", "hours.md#closing"),
        ("Ada Lovelace", "Ada"),
        ("がく", "かく"),
        ("", "d1"),
        ('""', "''"),
    ],
)
def test_two_documents_are_not_near(name, other):
    """Ids that may well be those of two documents are not near: a miss stays a miss."""
    assert find_near_ids([name], [other]) is None


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("d1#3", "d1"),
        ("hours.md#3", "hours.md"),
        ("hours.md#page-3", "hours.md"),
        ("d1_chunk_3", "d1"),
        ("doc_1", "1"),
        ("arXiv:17", "17"),
    ],
)
def test_a_prefix_and_a_number_are_only_hints(name, other):
    """A prefix or the number of a chunk is named in messages, and is no proof that two ids mean the same."""
    assert find_near_ids([name], [other]) is None
    near = join_ids([name], [other], NAMES).near
    assert near is not None
    assert not near.is_certain


def test_ids_of_two_kinds_cannot_meet():
    """URLs, hashes and passages meet no names; sides with one shape each, of which none is shared, are unlike."""
    uuid = "5f3a9c02-11d2-4b7e-9f00-aa12bb34cc56"
    assert are_of_other_kinds(["d1", "d2"], [uuid])
    assert are_of_other_kinds(["https://example.org/1"], ["Ada Lovelace"])
    assert not are_of_other_kinds(["The Battle of 1066"], ["Ada"])
    assert join_ids(["d1", "d2", "d3"], ["chunk_1", "chunk_5", "chunk_9"], NAMES).are_unlike
    assert not join_ids(["d1", "d2", "d3"], ["d7", "d8", "d9"], NAMES).are_unlike
    assert not join_ids(["d1", "chunk_7"], ["chunk_1", "d9"], NAMES).are_unlike
    assert not join_ids(["d1", "d2", "d3"], ["d3", "chunk_5", "chunk_9"], NAMES).are_unlike


def test_how_a_join_is_described():
    """A join is described by both counts, an id of each side, and what differs; remarks begin with a loud word."""
    nothing = join_ids(["q1\u00a0", "q2"], ["q1", "q3"], NAMES)
    text = r"0 of 2 cases met 0 of 2 rows; 'q1\xa0' and 'q1' differ only in blanks or invisible characters"
    assert nothing.describe() == text
    assert nothing.find_remark("mend it") == f"{NO_ID_MET}: {text}; mend it"
    few = join_ids(["a", "b", "c"], ["c", "d"], NAMES)
    assert few.find_remark() == f"{FEW_IDS_MET}: 1 of 3 cases met 1 of 2 rows, such as 'a' and 'd'"
    assert join_ids(["a", "b"], ["a", "x", "y"], NAMES).find_remark() is None
    assert join_ids([], ["a"], NAMES).find_remark() is None
    assert name_remark("NO ID MET: 0 of 1", "bm25") == "NO ID MET: bm25: 0 of 1"


def test_a_counter_counts_each_id_that_comes():
    """A side that comes one id after the other is counted with its repeats, as the cases of several methods are."""
    counter = JoinCounter(["q1", "q2"], NAMES)
    assert [counter.add(name) for name in ("q1", "q1", "q9")] == [True, True, False]
    join = counter.build()
    assert (join.left.total, join.left.met, join.right.total, join.right.met) == (3, 2, 2, 1)
