"""Duels for the terminal: the sentence that they begin with."""

import pytest

from greval.analysis.duel.records import Duel
from greval.report.duel import describe_preferences, format_duel_legend

UNKNOWN = {"status": "undefined", "n": 9, "reason": "x"}


def pair(first, second, verdict, won, lost):
    """Return a pair as JSON."""
    rates = dict.fromkeys(("win_rate", "adjusted_win_rate", "flip_rate"), UNKNOWN)
    counts = {"won": won, "tied": 1, "lost": lost, "failed": 0}
    return {"metric": "clarity", "first": first, "second": second, "test": None, "verdict": verdict, **rates, **counts}


def build(*pairs, **changes):
    """Return the duel of some pairs."""
    habits = dict.fromkeys(("flip_rate", "first_shown", "tie_share", "length_effect"), UNKNOWN)
    findings = {"metric": "clarity", "judges": [], "pairs": pairs, "ranking": [], "habits": habits}
    fields = {"folder": "r", "level": 0.95, "correction": "holm", "cluster_by": None, "tests": 3, "counted": 3}
    return Duel.model_validate({**fields, "warnings": [], "metrics": [findings], **changes})


def test_a_method_without_a_name_has_one_in_print():
    """An empty name would leave a hole in a sentence."""
    (sentence,) = describe_preferences(build(pair("", "walk", "first preferred", 9, 2)))
    assert sentence.startswith("clarity: (none) is preferred to walk")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "Each pair was judged in both orders."),
        ({"one_order": 4}, "4 verdicts are not known to be of both orders"),
        ({}, "corrected (Holm) over 3 tests. Intervals"),
        ({"counted": 1}, "over 3 tests, of which 1 at most can reach significance: this is the factor of p (Tarone)."),
    ],
)
def test_the_legend_says_what_was_judged_and_corrected(changes, text):
    """Verdicts of one order, and tests that cannot be significant, are told."""
    assert text in " ".join(format_duel_legend(build(pair("flat", "walk", "no preference seen", 2, 9), **changes)))


def test_a_duel_begins_with_a_plain_sentence():
    """The preferred method of a pair comes first, with its counts; pairs without a preference are named together."""
    pairs = [
        pair("flat", "walk", "second preferred", 2, 9),
        pair("flat", "tree", "no preference seen", 5, 5),
        pair("tree", "walk", "no preference seen", 4, 5),
    ]
    assert [*describe_preferences(build(*pairs))] == [
        (
            "clarity: walk is preferred to flat (9 won, 1 tied, 2 lost); "
            "no preference seen between flat and tree, tree and walk."
        )
    ]
