"""Duels: which pairs there are, that they live in the run, are resumed, and lose nothing if the process is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from greval.analysis.duel.judging import duel
from greval.errors import DataError, DefinitionError
from greval.metrics.computed import COMPUTED_METRICS
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.records.metric import PreferenceMetric
from greval.runs.duels import find_pair_remarks, list_case_keys, list_pairs, split_method_names, split_pair_label
from greval.runs.evaluation import evaluate
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.runs.store.pages import list_methods
from greval.testing import ScriptedJudge

CLEAR = PreferenceMetric(name="clarity", description="d", needs=["question", "answer"], steps=["s"])
METHODS = ("walk", "local", "flat")
TIE = [{"reason": "Equal.", "value": "Tie"}]
ROOT = Path(__file__).parents[2]


def cases(questions=3, methods=METHODS):
    """Give cases of each method on each question."""
    return [
        Case(id=f"q{n}", question="Who?", method=name, answer=f"{name} {n}", chunks=["c"], usage={"latency": 1})
        for n in range(questions)
        for name in methods
    ]


@pytest.fixture
def run(tmp_path):
    return evaluate(cases(), [COMPUTED_METRICS["latency"]], out=tmp_path / "run")


def test_each_two_methods_of_a_question_are_a_pair():
    """Pairs are of one question, hold what the metrics read, and are named by both methods."""
    pairs = list_pairs([*cases(2), Case(id="q9", question="?", method="walk", answer="alone")], [CLEAR])
    assert [(pair.id, pair.method) for pair in pairs[:3]] == [
        ("q0", "flat vs local"),
        ("q0", "flat vs walk"),
        ("q0", "local vs walk"),
    ]
    assert len(pairs) == 6
    assert (pairs[0].answer, pairs[0].other_response.answer) == ("flat 0", "local 0")
    assert pairs[0].chunks is None
    assert pairs[0].usage is None


def test_methods_and_questions_can_be_selected():
    """Only the named methods are paired, on the first questions only; a name that is not there is refused."""
    assert {pair.method for pair in list_pairs(cases(), [CLEAR], ["walk", "flat"])} == {"flat vs walk"}
    assert {pair.id for pair in list_pairs(cases(), [CLEAR], limit=2)} == {"q0", "q1"}
    with pytest.raises(DataError, match="walc"):
        list_pairs(cases(), [CLEAR], ["walc"])


def test_the_limit_counts_questions_of_two_methods():
    """Questions that fewer than two of the selected methods answered do not count towards the limit."""
    alone = [Case(id=f"a{n}", question="?", method="walk", answer="alone") for n in range(3)]
    pairs = list_pairs([*alone, *cases(3)], [CLEAR], limit=2)
    assert [pair.id for pair in pairs] == ["q0"] * 3 + ["q1"] * 3
    other_case = Case(id="b", question="?", method="flat", answer="x")
    pairs = list_pairs([*alone, other_case, *cases(3)], [CLEAR], ["walk", "local"], limit=1)
    assert [pair.id for pair in pairs] == ["q0"]


def test_the_order_of_methods_makes_no_other_pair(run, tmp_path):
    """If cases or methods come in another order, the pairs are the same, and nothing is judged again."""
    assert list_pairs(cases(), [CLEAR], METHODS) == list_pairs(cases(methods=METHODS[::-1]), [CLEAR], METHODS[::-1])
    duel(run, [CLEAR], ScriptedJudge(TIE), methods=["walk", "local"])
    second_judge = ScriptedJudge(TIE)
    assert duel(run, [CLEAR], second_judge, methods=["local", "walk"]).progress.kept == 3
    assert second_judge.calls == []


def test_names_of_methods_may_contain_commas():
    """A text that is the name of a method is taken whole, any other one is a list."""
    comma_cases = cases(1, ["walk, deep", "walk", "flat"])
    assert split_method_names(["walk, deep", "flat"], comma_cases) == ["walk, deep", "flat"]
    assert split_method_names(["walk, flat,"], comma_cases) == ["walk", "flat"]


def test_one_method_is_no_duel():
    """With the answers of one method, the message says what is needed and what was found."""
    with pytest.raises(DataError, match="at least two methods, found walk"):
        list_pairs(cases(methods=["walk"]), [CLEAR])


def test_methods_whose_samples_do_not_pair_are_named():
    """Two methods without a common sample are refused with an id of each; few common ones are remarked."""
    first, second = (
        [Case(id=name, question="?", method=method, answer="a") for name in names]
        for method, names in (("walk", ["q1", "q2", "q3"]), ("local", ["Q1", "Q2", "q3"]))
    )
    with pytest.raises(DataError, match="0 of 2 samples of local met 0 of 2 samples of walk; 'Q1' and 'q1' differ"):
        list_pairs([*first[:2], *second[:2]], [CLEAR])
    (remark,) = find_pair_remarks(list_case_keys([*first, *second]))
    assert remark.startswith("FEW IDS MET: 1 of 3 samples of local met 1 of 3 samples of walk; 'Q1' and 'q1' differ")
    assert find_pair_remarks(list_case_keys([*first, *first[:1]])) == []


def test_names_of_methods_are_split_by_the_pair():
    """A method whose name holds the separator is told apart by the response of the pair."""
    (pair,) = list_pairs(cases(1, ["a vs b", "c"]), [CLEAR])
    assert split_pair_label(pair, pair.method) == ("a vs b", "c")


def test_a_duel_leaves_the_run_as_it_was(run):
    """The results of the run count as before, and a second duel is of the methods, not of their pairs."""
    places_before = {(result.sample_id, result.method) for result in run.results()}
    duel(run, [CLEAR], ScriptedJudge(TIE), methods=["walk", "local"])
    duel(run, [CLEAR], ScriptedJudge(TIE))
    after = [*run.results()]
    assert {(result.sample_id, result.method) for result in after if result.metric == "latency"} == places_before
    assert len([result for result in after if result.metric == "clarity"]) == 9
    with Store.open(run.folder) as store:
        assert read_metrics(store)["clarity"].is_preference


def test_a_pair_is_not_a_method_of_the_run(run):
    """The methods of a run are those that answered, also after a duel and if one is spelt like a pair."""
    evaluate(cases(methods=["x vs y"]), [COMPUTED_METRICS["latency"]], out=run.folder)
    duel(run, [CLEAR], ScriptedJudge(TIE))
    with Store.open(run.folder) as store:
        assert list_methods(store) == (*sorted(METHODS), "x vs y")


def test_the_mean_is_the_win_rate(run):
    """Every report of means shows the win rate of the first method."""

    def prefer_local(messages):
        return {"reason": "r", "value": "A" if "<answer_a>\nlocal" in messages[-1].text else "B"}

    duel(run, [CLEAR], ScriptedJudge(prefer_local), methods=["walk", "local"])
    (summary,) = [candidate for candidate in run.summary(by="method") if candidate.metric == "clarity"]
    assert (summary.group, summary.mean, summary.counted) == ("local vs walk", 1.0, 3)


def test_a_file_needs_a_folder(tmp_path):
    """Cases of a file are judged into a folder of their own, which must be named."""
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(case.model_dump_json(exclude_none=True) for case in cases()), encoding="utf-8")
    with pytest.raises(DataError, match="there is nothing"):
        duel(tmp_path / "nosuch", [CLEAR], ScriptedJudge(TIE))
    with pytest.raises(DataError, match="out=RUN"):
        duel(file, [CLEAR], ScriptedJudge(TIE))
    assert len([*duel(file, [CLEAR], ScriptedJudge(TIE), out=tmp_path / "run").results()]) == 9


def test_only_preferences_judge_a_duel(run):
    """A metric over one response is refused before anything is asked, and so is no metric."""
    with pytest.raises(DefinitionError, match="correctness: judges one response"):
        duel(run, [load_metric("correctness")], ScriptedJudge(TIE))
    with pytest.raises(DefinitionError, match="no metric is given"):
        duel(run, [], ScriptedJudge(TIE))


@pytest.mark.parametrize("names", [("a", "b", "a vs b"), ("a", "b vs c", "a vs b", "c")])
def test_a_pair_never_has_the_name_of_another(names):
    """Methods whose pairs could not be told apart are refused, with what to rename."""
    with pytest.raises(DataError, match="rename a method that has 'vs' in its name"):
        list_pairs(cases(1, names), [CLEAR])


def test_a_method_may_have_no_name():
    """The pair of a method without a name is read as that of these two."""
    (pair,) = list_pairs(cases(1, ("", "b")), [CLEAR])
    assert split_pair_label(pair, pair.method) == ("", "b")
