"""Answers beside the expected ones: the same, sharing words, containing them; numbers and dates as such."""

from __future__ import annotations

import re
from calendar import month_name

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import cases

from greval import Case, compile_metric
from greval.metrics.computed.containment import find_match
from greval.metrics.computed.text import token_f1
from greval.metrics.computed.tokenisation import drop_articles, find_dates, normalise_text, split_words
from greval.metrics.library import load_metric
from greval.records.result import Skipped

NAMES = ("exact_match", "token_f1", "fuzzy_containment@0.80", "fuzzy_containment@0.90")


def case(answer, expected=None, **gold):
    return Case(question="?", answer=answer, expected_answer=expected, gold=gold or None)


def judged(name, answer, expected=None, **gold):
    found = load_metric(name).compute(case(answer, expected, **gold))
    return found if isinstance(found, Skipped) else (found[0].number, found[0].reason)


def keys(text):
    return [word.key for word in split_words(text)]


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

    @settings(deadline=None)  # the machine may be busy
    @given(st.integers(-(10**30), 10**30))
    def test_whole_numbers(self, number):
        """A whole number is the same with and without its groups, zeros behind the point, and in Arabic digits."""
        arabic = str(number).translate({ord(str(n)): chr(0x660 + n) for n in range(10)})
        assert keys(f"{number:,}") == keys(f"{number}.0") == keys(arabic) == [str(number)]

    @settings(deadline=None)  # the machine may be busy
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
        assert not [found for found in find_dates(text) if found.date]

    @settings(deadline=None)  # the machine may be busy
    @given(st.dates())
    def test_any_day(self, day):
        """Every day is found in its usual forms."""
        month = month_name[day.month]
        forms = (day.isoformat(), f"{day.day} {month} {day.year:04}", f"{month} {day.day}, {day.year:04}")
        assert {tuple(keys(form)) for form in forms} == {(day.isoformat(),)}


class TestExactMatch:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("The Harbour team.", "harbour team"),
            ("1,000.0", "1000"),
            ("September 2, 2024", "2024-09-02"),
            ("U.S.", "US"),
            ("\uff21\uff44\uff41", "Ada"),
            ("5 km", "5km"),
            ("\u5317\u4eac\u3002", "\u5317\u4eac"),
            ("!", "!"),
            ("A", "a"),
        ],
    )
    def test_same(self, answer, expected):
        """Case, punctuation, articles and the form of numbers and dates make no difference."""
        assert judged("exact_match", answer, expected) == (1, f'the answer is "{expected}"')

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("3.14", "314"),
            ("-5", "5"),
            ("C++", "C"),
            ("A", "B"),
            ("x < 5", "x > 5"),
            ("!", "?"),
            ("Vitamin A", "Vitamin"),
        ],
    )
    def test_different(self, answer, expected):
        """What differs in meaning differs, though only a mark tells it."""
        told_ = f'the answer is "{answer}", expected "{expected}"'
        assert judged("exact_match", answer, expected) == (0, told_)


class TestTokenF1:
    def test_by_hand(self):
        """The harmonic mean of precision and recall, words counted as often as they come."""
        found = judged("token_f1", "The harbour team team", "Team Harbour Petrel")
        assert found == (
            pytest.approx(2 / 3),
            '2 shared words, 3 in the answer, 3 in "Team Harbour Petrel"; missed: petrel',
        )

    @settings(deadline=None)  # the machine may be busy
    @given(st.text(max_size=30), st.text(max_size=30))
    def test_laws(self, left, right):
        """It is symmetric, of 0 to 1, and 1 for a text and itself."""
        assert token_f1(left, right) == token_f1(right, left)
        assert 0 <= token_f1(left, right) <= 1
        assert not left.split() or token_f1(left, left) == 1


CONTAINED = [
    ("US", "in the U.S. market"),
    ("12 hours", "Half a day, that is 12 hours; passengers only get 30 minutes."),
    ("1,000", "about 1000 items"),
    ("1000", "exactly 1000.0"),
    ("2 September 2024", "It closed on 2024-09-02."),
    ("2024", "on 2 September 2024"),
    ("September 2024", "on 2024-09-02"),
    ("03/04/2024", "on 3/4/2024"),
    ("Harbour team", "It belongs to the harbor team."),
    ("the harbour team", "Harbour Team"),
    ("$5 million", "It cost 5,000,000 dollars."),
    ("50%", "50 percent of them"),
    ("Johann Sebastian Bach", "Johan Sebastian Bach wrote it"),
    ("Ada", "Ada's notebook"),
    ("Vitamin A", "vitamin A is good"),
    ("database", "a data base"),
    ("state-of-the-art", "state of the art"),
    ("identity, booking and payments", "It calls payments, identity and booking."),
    ("\u4e2d\u56fd", "\u5728\u4e2d\u56fd\u4eba"),
    ("!?", "what!?"),
    ("WH-1000XM4", "Sony WH1000XM4"),
    ("WH1000XM4", "the Sony WH-1000XM4 headphones"),
    ("Sony WH-1000XM4 headphones", "Sony's WH 1000XM4 headphone"),
    ("RTX 4090", "an RTX4090"),
    ("GPT-4 turbo", "It is GPT4turbo."),
    ("v1.2.3-beta1", "v1.2.3 beta1"),
    ("192.168.1.10", "at 192.168.1.10"),
    ("COVID-19", "Covid19"),
    ("555-1234", "call 5551234"),
    ("978-3-16-148410-0", "ISBN 9783161484100"),
    ("A-320", "the A320"),
    ("A 320", "the A320"),
    ("20-hour trip", "a 20\u2011hour trip"),
    ("2019-2020", "from 2019 to 2020"),
    ("WH-1000XM4 and RTX 4090", "It has RTX4090 and WH1000XM4."),
]
TRAPS = [
    ("7", "17"),
    ("no", "I know it."),
    ("US", "because it is"),
    ("20 hours", "It took 30 hours."),
    ("20 hours", "120 hours"),
    ("20 hours", "20 minutes"),
    ("5 km", "5 miles"),
    ("1.5", "15"),
    ("-5", "5"),
    ("cat", "concatenate"),
    ("US", "tell us more"),
    ("WHO", "who said that"),
    ("C++", "C"),
    ("Vitamin A", "vitamin B is good"),
    ("v2.8", "v2.9"),
    ("03/04/2024", "on 2024-04-03"),
    ("2 September 2024", "September 2024"),
    ("2 September 2024", "3 September 2024"),
    ("20 hours 30 minutes", "30 hours 20 minutes"),
    ("Team Petrel", "Team Puffin"),
    ("New York City", "New York"),
    ("identity, booking and payments", "It calls payments and booking."),
    ("\u4e2d\u56fd", "\u4e2d\u534e"),
    ("!?", "what!"),
    ("WH-1000XM4", "WH-1000XM3"),
    ("WH-1000XM4", "WH1000XM3"),
    ("WH-1000XM4", "1000XM4"),
    ("192.168.1.10", "192.168.1.11"),
    ("192.168.1.10", "192.168.1.101"),
    ("v1.2.3-beta1", "v1.2.3-beta2"),
    ("RTX4090", "RTX4080"),
    ("RTX4090", "RTX 4080"),
    ("tt0097576", "tt0097577"),
    ("B07XYZ123", "B07XYZ124"),
    ("GPT4turbo", "GPT3turbo"),
    ("A320neo", "A321neo"),
    ("1990s", "in the 1980s"),
    ("2030", "20 30 minutes"),
    ("17", "1 7"),
    ("555-1234", "555-1235"),
    ("A-320", "B-320"),
]
CODES = st.from_regex(r"[A-Z]{1,4}[0-9]{2,5}[A-Z]{1,3}[0-9]{1,3}", fullmatch=True)


class TestContainment:
    @pytest.mark.parametrize(("gold", "answer"), CONTAINED)
    def test_contained(self, gold, answer):
        """What stands in the answer is found, though it is written another way."""
        assert judged("fuzzy_containment", answer, gold)[0] == 1

    @pytest.mark.parametrize(("gold", "answer"), TRAPS)
    def test_traps(self, gold, answer):
        """What only looks alike is not found: numbers, units, dates and short words must be there exactly."""
        assert judged("fuzzy_containment", answer, gold)[0] == 0

    @settings(deadline=None)  # the machine may be busy
    @given(CODES, st.sampled_from(["", "-", " ", "\u2011"]), st.sampled_from(["", "-", " "]), st.data())
    def test_codes(self, code, here, there, data):
        """A code is the same with and without hyphens and spaces; with another digit it is another."""
        parts = re.findall(r"[A-Z]+|[0-9]+", code)
        place = data.draw(st.sampled_from([n for n, letter in enumerate(code) if letter.isdigit()]))
        digit = data.draw(st.sampled_from("0123456789".replace(code[place], "")))
        changed = re.findall(r"[A-Z]+|[0-9]+", f"{code[:place]}{digit}{code[place + 1 :]}")
        gold = here.join(parts)
        assert judged("fuzzy_containment", f"sold as {there.join(parts)}; new", gold)[0] == 1
        assert judged("fuzzy_containment", f"sold as {there.join(changed)}; new", gold)[0] == 0

    @pytest.mark.parametrize(
        ("gold", "answer"),
        [("hypertension", "hypotension"), ("possible", "impossible"), ("Austria", "It is Australia.")],
    )
    def test_words_of_other_meaning(self, gold, answer):
        """A ratio of letters cannot tell words apart that are written alike: the page on measures says so."""
        assert judged("fuzzy_containment", answer, gold)[0] == 1

    def test_negation(self):
        """A negation is not seen: this is the limit of every comparison of words."""
        assert judged("fuzzy_containment", "It was not approved.", "approved")[0] == 1

    def test_threshold(self):
        """The stricter one asks for more alike words."""
        found = ("It belongs to the harbr authorites.", "Harbour authority")
        assert [judged(f"fuzzy_containment@{least}", *found)[0] for least in ("0.80", "0.90")] == [1, 0]

    @pytest.mark.parametrize(
        ("gold", "answer", "reason"),
        [
            ("Harbour team", "the harbor team", '"harbor team" is 0.96 alike "Harbour team", 0.80 is enough'),
            ("20 hours", "30 hours", '"20 hours" is not in the answer; missing: 20'),
            ("booking, identity", "booking", '"identity" is 0.13 alike "identity", 0.80 is enough'),
        ],
    )
    def test_reasons(self, gold, answer, reason):
        """The reason shows what was nearest, or what is missing."""
        told_ = judged("fuzzy_containment", answer, gold)[1]
        assert told_ == reason or (gold.startswith("booking") and '"identity"' in told_)

    @settings(deadline=None)  # the machine may be busy
    @given(st.text(max_size=30), st.text(max_size=20), st.text(max_size=20))
    def test_laws(self, gold, before, after):
        """What is put between others, as words of their own, is found; a text contains itself."""
        for answer in (gold, f"{before} ; {gold} ; {after}"):
            found = find_match(answer, gold, 0.8)
            assert found is None or found.alike == 1


class TestExpected:
    def test_the_best_counts(self):
        """Lines of the expected answer and the gold's other answers are as good as the first."""
        assert judged("exact_match", "Ada", "Grace\nAda") == (1, 'the answer is "Ada"')
        assert judged("exact_match", "Ada", "Grace", answers=["ADA"]) == (1, 'the answer is "ADA"')
        assert judged("exact_match", "Ada", None, answers=["Ada"])[0] == 1
        assert judged("token_f1", "Ada Lovelace", "Grace", answers=["Ada", "x"])[0] == pytest.approx(2 / 3)

    @pytest.mark.parametrize("name", ["exact_match", "token_f1"])
    def test_lines_joined_are_no_answer(self, name):
        """An answer that names both right answers is none of them; one answer of two lines stands in the gold."""
        alone = judged(name, "Ada Grace", "Grace")
        assert judged(name, "Ada Grace", "Ada\nGrace")[0] == alone[0] < 1
        assert judged(name, "Ada Grace", None, answers=["Ada\nGrace"])[0] == 1

    def test_the_nearest_is_told(self):
        """Where none is right, the reason is of the nearest."""
        told_ = judged("exact_match", "Ada Lovelace", "Grace", answers=["Ada"])[1]
        assert told_ == 'the answer is "Ada Lovelace", expected "Ada"'

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("answer", ["", "  \n"])
    def test_empty_answer(self, name, answer):
        """An empty answer is an answer, and wrong."""
        assert judged(name, answer, "Ada") == (0, "the answer is empty")

    @pytest.mark.parametrize("name", NAMES)
    def test_skipped(self, name):
        """Without an answer or an expected one there is nothing to compare, in a run too."""
        assert judged(name, "Ada") == Skipped(reason="expected_answer is not recorded")
        assert judged(name, "Ada", " ") == Skipped(reason="expected_answer is empty")
        assert judged(name, "Ada", answers=[]) == Skipped(reason="expected_answer is empty")
        assert judged(name, None, "Ada") == Skipped(reason="answer is not recorded")
        assert compile_metric(load_metric(name)).invoke(case(None, "Ada")).outcome.reason == "answer is not recorded"

    @pytest.mark.parametrize("name", NAMES)
    def test_other_answers_alone(self, name):
        """In a run, the gold's answers are enough."""
        assert compile_metric(load_metric(name)).invoke(case("Ada", answers=["Ada"])).judgements[0].value == 1


@settings(deadline=None)  # the machine may be busy
@given(cases())
def test_any_case(found):
    """Every case gives a figure on the scale or is skipped with a reason."""
    for name in NAMES:
        metric = load_metric(name)
        outcome = metric.compute(found)
        if isinstance(outcome, Skipped):
            assert outcome.reason
        else:
            assert metric.scale.read(outcome[0].value) == outcome[0].number
            assert "\n" not in outcome[0].reason
