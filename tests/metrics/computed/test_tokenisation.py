"""Words, numbers, units and dates have one form, however they are written."""

from __future__ import annotations

from calendar import month_name

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import bounded

from greval.metrics.computed.tokenisation import drop_articles, find_dates, normalise_text, split_words


def keys(text):
    return [word.key for word in split_words(text)]


def test_many_dates_take_no_longer_each():
    """The time grows with the text: each date is not held against each other one."""
    with bounded():
        assert len([*find_dates("1/12/2024 " * 100_000)]) == 100_000


class TestWords:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1,000 1000 1000.0 1'000 1\u202f000", ["1000"] * 5),
            ("1.234.567 1,234,567.0 12,34,567", ["1234567", "1234567", "1234567"]),
            ("3,5 3.5 .5 3.50 007", ["3.5", "3.5", "0.5", "3.5", "7"]),
            ("1.234,5 2-3 -5 \u22125", ["1234.5", "2", "3", "-5", "-5"]),
            ("\u0663\u066b\u0665 \u0661\u066c\u0660\u0660\u0660", ["3.5", "1000"]),
            ("COVID-19 17th 3D Q3 v2.8 1.2.3 H2O", ["covid", "19", "17th", "3d", "q3", "v2.8", "1.2.3", "h2o"]),
            ("5 km 5km 5 kilometres", ["5", "km"] * 3),
            ("20 hours 20h 20 hrs", ["20", "h"] * 3),
            ("50% 50 percent 50 per cent", ["50", "%"] * 3),
            ("$5 5 dollars USD 5 5 USD", ["5", "dollar"] * 4),
            ("$5 $6 at 7\u20ac", ["5", "dollar", "6", "dollar", "at", "7", "euro"]),
            ("from 5. Hours pass, 20-hour days", ["from", "5", "hours", "pass", "20", "h", "days"]),
            ("$5 million, 5,000,000 dollars", ["5000000", "dollar"] * 2),
            ("10\u00b2 2\u00bd", ["10", "2", "2", "1", "\u2044", "2"]),
            ("U.S. US e.g. U.S.A.", ["us", "us", "eg", "usa"]),
            ("Ada's Ada\u2019s don't boys' l'eau", ["ada", "ada", "dont", "boys", "l", "eau"]),
            ("C C++ C#", ["c", "c++", "c#"]),
            ("x < 5", ["x", "<", "5"]),
            ("state-of-the-art multi_hop", ["state", "of", "the", "art", "multi", "hop"]),
            ("\u4e2d\u56fd\u4eba 3\u500b", ["\u4e2d", "\u56fd", "\u4eba", "3", "\u500b"]),
            (
                "\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902",
                ["\u0939\u093f\u0928\u094d\u0926\u0940", "\u092e\u0947\u0902"],
            ),
            ("Stra\u00dfe STRASSE", ["strasse", "strasse"]),
            ("...", []),
        ],
    )
    def test_read(self, text, expected):
        """Words, numbers and units have one form, however they are written and in any script."""
        assert keys(text) == expected

    @given(st.integers(-(10**30), 10**30))
    def test_whole_numbers(self, number):
        """A whole number is the same with and without its groups, zeros behind the point, and in Arabic digits."""
        arabic = str(number).translate({ord(str(n)): chr(0x660 + n) for n in range(10)})
        assert keys(f"{number:,}") == keys(f"{number}.0") == keys(arabic) == [str(number)]

    @given(st.text(max_size=60))
    def test_places(self, text):
        """Any text is read; each word stands where it says, in order."""
        found = split_words(text)
        plain = normalise_text(text)
        starts = [word.start for word in found]
        assert starts == sorted(starts)
        assert all(0 <= word.start < word.end <= len(plain) and word.key for word in found)

    def test_articles(self):
        """An article counts for nothing where a word follows; the letter A within a sentence is a name."""
        read = [word.key for word in drop_articles(split_words("A crew of the ship has vitamin A in a box, grade A"))]
        assert read == ["crew", "of", "ship", "has", "vitamin", "a", "in", "box", "grade", "a"]


class TestDates:
    @pytest.mark.parametrize(
        "text",
        [
            *("2 September 2024", "2nd of September 2024", "September 2, 2024", "Sept. 2nd 2024", "2 sep 2024"),
            *(
                "2024-09-02",
                "2024/9/2",
                "2024.09.02",
                "SEPTEMBER 2 2024",
                "2024\u5e749\u67082\u65e5",
                "2 September, 2024",
            ),
        ],
    )
    def test_one_day(self, text):
        """A day is the same in every usual way to write it."""
        assert keys(f"On {text}.") == ["on", "2024-09-02"]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("25/12/2024", "2024-12-25"),
            ("12/25/2024", "2024-12-25"),
            ("25.12.2024", "2024-12-25"),
            ("03/03/2024", "2024-03-03"),
            ("03/04/2024", "3/4/2024"),
            ("3/4/2024", "3/4/2024"),
            ("September 2024", "2024-09"),
            ("2 September", "--09-02"),
            ("September 2nd", "--09-02"),
            ("29 February 2024", "2024-02-29"),
        ],
    )
    def test_read(self, text, expected):
        """What can be read in one way only is read; what can be read in two is not guessed."""
        assert keys(text) == [expected]

    @pytest.mark.parametrize("text", ["31/04/2024", "2024-13-01", "2023-02-29", "you may 5", "32/13/2024", "may"])
    def test_no_dates(self, text):
        """What no calendar has, and a verb, is no date."""
        assert not [date for _, _, date in find_dates(text) if date]

    @given(st.dates())
    def test_any_day(self, day):
        """Every day is found in its usual forms."""
        month = month_name[day.month]
        forms = (day.isoformat(), f"{day.day} {month} {day.year:04}", f"{month} {day.day}, {day.year:04}")
        assert {tuple(keys(form)) for form in forms} == {(day.isoformat(),)}
