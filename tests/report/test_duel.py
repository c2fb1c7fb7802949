"""Duels for the terminal: the sentence that they begin with."""

from greval.analysis.duel.records import Duel
from greval.report.duel import describe_preferences

UNKNOWN = {"status": "undefined", "n": 9, "reason": "x"}


def pair(first, second, verdict, won, lost):
    """Return a pair as JSON."""
    rates = dict.fromkeys(("win_rate", "adjusted_win_rate", "flip_rate"), UNKNOWN)
    counts = {"won": won, "tied": 1, "lost": lost, "failed": 0}
    return {"metric": "clarity", "first": first, "second": second, "test": None, "verdict": verdict, **rates, **counts}


def test_a_duel_begins_with_a_plain_sentence():
    """The preferred method of a pair comes first, with its counts; pairs without a preference are named together."""
    pairs = [
        pair("flat", "walk", "second preferred", 2, 9),
        pair("flat", "tree", "no preference seen", 5, 5),
        pair("tree", "walk", "no preference seen", 4, 5),
    ]
    habits = dict.fromkeys(("flip_rate", "first_shown", "tie_share", "length_effect"), UNKNOWN)
    findings = {"metric": "clarity", "judges": [], "pairs": pairs, "ranking": [], "habits": habits}
    fields = {"folder": "r", "level": 0.95, "correction": "holm", "cluster_by": None, "tests": 3, "warnings": []}
    assert [*describe_preferences(Duel.model_validate({**fields, "metrics": [findings]}))] == [
        (
            "clarity: walk is preferred to flat (9 won, 1 tied, 2 lost); "
            "no preference seen between flat and tree, tree and walk."
        )
    ]
