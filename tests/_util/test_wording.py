"""Wording of messages: counts, lists of names, and the nearest known name."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from greval._util.wording import (
    MAX_KNOWN,
    MAX_NAME_LENGTH,
    did_you_mean,
    find_similar,
    find_typo,
    format_count,
    format_found_share,
    format_names,
    redact_credentials,
    shorten_text,
)

NAMES = st.lists(st.text("abcde_", min_size=1, max_size=8), max_size=12, unique=True)


def count_edits(one: str, other: str) -> int:
    """Compute the optimal string alignment distance by its recurrence, as an oracle."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (one[i - 1] != other[j - 1])
            )
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one), len(other)]


class TestFindTypo:
    """`find_typo` accepts one or two typing errors, and no other difference."""

    @given(st.text("abcde_", min_size=1, max_size=8), NAMES)
    @example("ab", ["ab"])
    @example("abcdef", ["badcef"])
    def test_it_is_the_nearest_within_the_limit(self, name: str, known: list[str]):
        """The result has the smallest edit distance, and none is found beyond two edits or a third of the name."""
        found = find_typo(name, known)
        limit = min(2, len(name) // 3)
        least = min((count_edits(name, other) for other in known), default=limit + 1)
        if least > limit:
            assert found is None
        else:
            assert found in known
            assert count_edits(name, found) == least

    @pytest.mark.parametrize(
        ("name", "found"),
        [("Qestion", "question"), ("ANSWER", "answer"), ("asnwer", "answer"), ("answer_id", None), ("an", None)],
    )
    def test_a_longer_name_is_no_typing_error(self, name: str, found: str | None):
        """Case is ignored; a name with a further word is another name."""
        assert find_typo(name, ["question", "answer"]) == found


class TestDidYouMean:
    """`did_you_mean` suggests one name or lists the known ones."""

    @given(NAMES)
    def test_a_known_name_is_suggested_for_itself(self, known: list[str]):
        """A name in another case is a misspelling of itself."""
        for name in known:
            assert find_similar(name.upper(), known) == name

    @given(NAMES)
    def test_an_unrelated_name_lists_the_known_ones(self, known: list[str]):
        """Without a similar name, the known names follow in their order."""
        assume(known)
        assert did_you_mean("zzzz", known) == f"; known: {', '.join(known)}"

    def test_a_long_list_is_cut(self):
        """Only the first names are listed, with a mark that there are more."""
        hint = did_you_mean("zz", [f"a{number}" for number in range(MAX_KNOWN + 1)])
        assert hint.count(", ") == MAX_KNOWN
        assert hint.endswith(f"a{MAX_KNOWN - 1}, ...")

    def test_nothing_known_is_no_hint(self):
        """Without known names there is no hint."""
        assert did_you_mean("zz", []) == ""

    def test_a_missing_part_is_found(self):
        """The start of a long name suffices."""
        assert (
            did_you_mean("chunk_eval", ["triple_evaluation", "chunk_evaluation"]) == "; did you mean chunk_evaluation?"
        )


class TestLists:
    """Names are listed up to a limit, each on one line and not longer than a limit."""

    @given(st.lists(st.text("abc", min_size=1, max_size=4)), st.integers(1, 6))
    def test_names_and_the_rest_add_up(self, names: list[str], most: int):
        """The listed names and the number of further ones are all names."""
        text = format_names(names, most)
        listed, _, rest = text.partition(" and ")
        count = len(listed.split(", ")) if listed else 0
        assert count + (int(rest.removesuffix(" more")) if rest else 0) == len(names)

    @given(st.text(max_size=200))
    def test_a_short_text_is_one_line(self, text: str):
        """A shortened text fits the limit and has no line end."""
        short = shorten_text(text)
        assert len(short) <= MAX_NAME_LENGTH
        assert len(short.splitlines()) <= 1

    @pytest.mark.parametrize(
        ("count", "noun", "text"),
        [(0, "case", "0 cases"), (1, "case", "1 case"), (1200, "entry", "1,200 entries"), (1, "entry", "1 entry")],
    )
    def test_counts_have_the_right_number(self, count: int, noun: str, text: str):
        """One is singular; all other counts are plural, with y turned into ies."""
        assert format_count(count, noun) == text

    def test_missed_names_follow_the_share(self):
        """What was missed is named; nothing is added if all were found."""
        assert format_found_share({"a"}, ["a"], "edge", "in it") == "1 of 1 edge in it"
        assert format_found_share(set(), ["a", "b"], "edge", "in it") == "0 of 2 edges in it; missed: a, b"


PARTS = st.text(st.characters(exclude_characters="/", exclude_categories=["Z", "C"]), min_size=1, max_size=20)


@given(PARTS, PARTS)
def test_credentials_are_removed(name, password):
    """No user name and no password is left, whatever else they hold; the host is."""
    found = redact_credentials(f"judge: https://{name}:{password}@host.example:80/path@x: no answer")
    assert found == "judge: https://[credentials]@host.example:80/path@x: no answer"


def test_other_texts_stay():
    """A URL without credentials and an address of mail are no secrets."""
    for text in ("http://127.0.0.1:8000/a@b", "ask ana@example.org", "a://b c@d"):
        assert redact_credentials(text) == text
