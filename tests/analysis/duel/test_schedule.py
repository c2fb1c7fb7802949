"""The schedule of duels: how many pairs are judged until win rates are known, in which order, and after a stop."""

from __future__ import annotations

from collections import Counter

import pytest

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.judging import duel
from greval.errors import DataError
from greval.records.case import Case
from greval.records.metric import PreferenceMetric
from greval.testing import ScriptedJudge

CLEAR = PreferenceMetric(name="clarity", description="d", needs=["question", "answer"], steps=["s"])
FULL = PreferenceMetric(name="fullness", description="d", needs=["question", "answer"], steps=["s"])
QUESTIONS = 200


def cases(methods=("best", "good", "poor"), questions=QUESTIONS):
    """Give cases of each method on each question; the number of a question is in its answer."""
    return [
        Case(id=f"q{n}", question="Who?", method=name, answer=f"{name} {n}", tags={"document": f"d{n // 10}"})
        for n in range(questions)
        for name in methods
    ]


def prefer(messages):
    """Answer as a judge that always prefers the best, and finds the good and the poor equally good in turns."""
    _, _, rest = messages[-1].text.partition("<answer_a>\n")
    first, _, rest = rest.partition("\n</answer_a>")
    second = rest.partition("<answer_b>\n")[2].partition("\n</answer_b>")[0]
    (one, number), (other, _) = first.split(), second.split()
    wins = one == "best" if "best" in {one, other} else (one == "good") == (int(number) % 2 == 0)
    return {"reason": "It is.", "value": "A" if wins else "B"}


@pytest.fixture
def file(tmp_path):
    """Write the cases to a file."""
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(case.model_dump_json(exclude_none=True) for case in cases()), encoding="utf-8")
    return path


def count_by_pair(run, metric="clarity"):
    """Count the results of each pair of methods."""
    return Counter(one.method for one in run.results() if one.metric == metric)


def list_widths(run, **options):
    """List the widths of the intervals of all win rates."""
    pairs = [pair for one in summarise_duel(run, **options).metrics for pair in one.pairs]
    return [pair.win_rate.interval.high - pair.win_rate.interval.low for pair in pairs]


def test_clear_pairs_end_early_and_close_ones_go_on(file, tmp_path):
    """Each interval is as narrow as wanted, a clear pair needs few questions, a close one more, and none all."""
    run = duel(file, [CLEAR], ScriptedJudge(prefer), out=tmp_path / "run", until_width=0.25, concurrency=1)
    judged = count_by_pair(run)
    assert max(list_widths(run)) <= 0.25
    assert judged["best vs good"] < 20
    assert 50 < judged["good vs poor"] < 75


def test_questions_are_judged_in_no_particular_order(file, tmp_path):
    """Files are often sorted by document or kind, so that the first questions say little about the others."""
    run = duel(file, [CLEAR], ScriptedJudge(prefer), out=tmp_path / "run", until_width=0.25, concurrency=1)
    numbers = {int(one.sample_id[1:]) for one in run.results()}
    assert min(numbers) < 20
    assert max(numbers) > 180


def test_the_same_command_goes_on_and_a_smaller_width_judges_further(file, tmp_path):
    """Verdicts in the run come first and cost nothing; a smaller width adds questions to those."""
    judge = ScriptedJudge(prefer)
    capped = duel(file, [CLEAR], judge, out=tmp_path / "run", until_width=0.25, concurrency=1, max_calls=30)
    assert capped.why
    assert len(judge.calls) == 30
    run = duel(file, [CLEAR], judge, out=tmp_path / "run", until_width=0.25, concurrency=1)
    calls = len(judge.calls)
    judged = count_by_pair(run)
    assert calls == 2 * judged.total()
    duel(file, [CLEAR], judge, out=tmp_path / "run", until_width=0.25, concurrency=1)
    assert len(judge.calls) == calls
    finer = duel(file, [CLEAR], judge, out=tmp_path / "run", until_width=0.2, concurrency=1)
    assert all(count > judged[pair] for pair, count in count_by_pair(finer).items())
    assert len(judge.calls) == 2 * count_by_pair(finer).total()


def test_a_pair_is_judged_until_each_metric_knows(file, tmp_path):
    """With two metrics a pair ends when both intervals are narrow enough; both have the same questions."""
    alternate = ScriptedJudge(
        lambda messages: prefer(messages) if "fullness" not in str(messages) else {"reason": "Equal.", "value": "Tie"}
    )
    run = duel(file, [CLEAR, FULL], alternate, out=tmp_path / "run", until_width=0.25, concurrency=1)
    assert count_by_pair(run, "clarity").keys() == count_by_pair(run, "fullness").keys()
    assert max(list_widths(run)) <= 0.25


@pytest.mark.nightly
def test_questions_that_are_not_independent_count_as_one(file, tmp_path):
    """With a tag whose questions are alike, more questions are needed for the same width."""
    alone = duel(file, [CLEAR], ScriptedJudge(by_document), out=tmp_path / "a", until_width=0.3, concurrency=1)
    options = {"until_width": 0.3, "cluster_by": "document", "concurrency": 1}
    grouped = duel(file, [CLEAR], ScriptedJudge(by_document), out=tmp_path / "b", **options)
    assert max(list_widths(alone)) <= 0.3
    assert count_by_pair(grouped).total() > count_by_pair(alone).total()


def by_document(messages):
    """Prefer the method that is first in the alphabet on documents of an even number, else the other."""
    _, _, rest = messages[-1].text.partition("<answer_a>\n")
    first, _, rest = rest.partition("\n</answer_a>")
    second = rest.partition("<answer_b>\n")[2].partition("\n</answer_b>")[0]
    even = int(first.split()[1]) // 10 % 2 == 0
    return {"reason": "It is.", "value": "A" if (first < second) == even else "B"}


def test_failed_pairs_are_no_evidence(file, tmp_path):
    """A judge that fails does not end the schedule: its pairs are in no interval."""
    broken = ScriptedJudge(lambda _: "no JSON")
    run = duel(file, [CLEAR], broken, out=tmp_path / "run", methods=("best", "poor"), until_width=0.5, limit=10)
    assert count_by_pair(run).total() == 10


@pytest.mark.parametrize("width", [0.0, 1.0, -0.1, float("nan")])
def test_a_width_that_is_none_is_refused(file, tmp_path, width):
    """The message says what is expected."""
    with pytest.raises(DataError, match="expected a number between 0 and 1"):
        duel(file, [CLEAR], ScriptedJudge(prefer), out=tmp_path / "run", until_width=width)


def test_an_unknown_option_is_refused(file, tmp_path):
    """A misspelt option would judge everything."""
    with pytest.raises(TypeError, match="until_width"):
        duel(file, [CLEAR], ScriptedJudge(prefer), out=tmp_path / "run", until_with=0.2)
