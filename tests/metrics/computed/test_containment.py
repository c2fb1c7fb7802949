"""Containment finds what is written another way, and nothing that only looks alike."""

from __future__ import annotations

import re

import pytest
from computed_figures import compute_answer
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.computed import containment
from greval.metrics.computed.containment import find_match
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.library import load_metric
from greval.records.case import Case

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


CONTAINMENT = load_metric("fuzzy_containment")
CODES = st.from_regex(r"[A-Z]{1,4}[0-9]{2,5}[A-Z]{1,3}[0-9]{1,3}", fullmatch=True)


class TestContainment:
    @pytest.mark.parametrize(("gold", "answer"), CONTAINED)
    def test_contained(self, gold, answer):
        """What stands in the answer is found, though it is written another way."""
        assert compute_answer("fuzzy_containment", answer, gold)[0] == 1

    @pytest.mark.parametrize(("gold", "answer"), TRAPS)
    def test_traps(self, gold, answer):
        """What only looks alike is not found: numbers, units, dates and short words must be there exactly."""
        assert compute_answer("fuzzy_containment", answer, gold)[0] == 0

    @given(CODES, st.sampled_from(["", "-", " ", "\u2011"]), st.sampled_from(["", "-", " "]), st.data())
    def test_codes(self, code, gold_separator, answer_separator, data):
        """A code is the same with and without hyphens and spaces; with another digit it is another."""
        parts = re.findall(r"[A-Z]+|[0-9]+", code)
        digit_position = data.draw(st.sampled_from([n for n, letter in enumerate(code) if letter.isdigit()]))
        digit = data.draw(st.sampled_from("0123456789".replace(code[digit_position], "")))
        changed = re.findall(r"[A-Z]+|[0-9]+", f"{code[:digit_position]}{digit}{code[digit_position + 1 :]}")
        gold = gold_separator.join(parts)
        assert compute_answer("fuzzy_containment", f"sold as {answer_separator.join(parts)}; new", gold)[0] == 1
        assert compute_answer("fuzzy_containment", f"sold as {answer_separator.join(changed)}; new", gold)[0] == 0

    @pytest.mark.parametrize(
        ("gold", "answer"),
        [("hypertension", "hypotension"), ("possible", "impossible"), ("Austria", "It is Australia.")],
    )
    def test_words_of_other_meaning(self, gold, answer):
        """A ratio of letters cannot tell words apart that are written alike: the page on measures says so."""
        assert compute_answer("fuzzy_containment", answer, gold)[0] == 1

    def test_long_texts(self, monkeypatch):
        """What takes too long to compare is skipped with the reason; what was found before that is found."""
        monkeypatch.setattr(containment, "MAX_COMPARED", 20_000)
        words = [f"word{n:05}x" for n in range(2_000)]
        answer, gold = " ".join(words), " ".join(reversed(words[:500]))
        skipped = compute_outcome(
            load_metric("fuzzy_containment"), Case(question="q", answer=answer, expected_answer=gold)
        )
        assert (skipped.status, "too long" in skipped.reason) == ("skipped", True)
        assert compute_answer("fuzzy_containment", answer, f"word00001x\n{gold}")[0] == 1

    def test_dates_are_compared_once(self, monkeypatch):
        """Many dates, each of which may match each other, are within the limit too."""
        monkeypatch.setattr(containment, "MAX_COMPARED", 20_000)
        dates = [
            f"{year}-{month:02}-{day:02}"
            for year in range(1800, 1808)
            for month in range(1, 13)
            for day in range(1, 29)
        ]
        answer, gold = " ".join(dates), " ".join(reversed(dates))
        outcome = compute_outcome(
            load_metric("fuzzy_containment"), Case(question="q", answer=answer, expected_answer=gold)
        )
        assert outcome.status == "skipped"

    def test_negation(self):
        """A negation is not seen: this is the limit of every comparison of words."""
        assert compute_answer("fuzzy_containment", "It was not approved.", "approved")[0] == 1

    def test_threshold(self):
        """The stricter one asks for more alike words."""
        texts = ("It belongs to the harbr authorites.", "Harbour authority")
        assert [compute_answer(f"fuzzy_containment@{least}", *texts)[0] for least in ("0.80", "0.90")] == [1, 0]

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
        told_ = compute_answer("fuzzy_containment", answer, gold)[1]
        assert told_ == reason or (gold.startswith("booking") and '"identity"' in told_)

    @given(st.text(max_size=30), st.text(max_size=20), st.text(max_size=20))
    def test_laws(self, gold, text_before, text_after):
        """What is put between others, as words of their own, is found; a text contains itself."""
        for answer in (gold, f"{text_before} ; {gold} ; {text_after}"):
            match = find_match(answer, gold, 0.8)
            assert match is None or match.alike == 1
