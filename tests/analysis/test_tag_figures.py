"""Cases with their results, and figures by tags."""

from __future__ import annotations

from greval import Store, evaluate, load_metric
from greval.analysis.case_results import read_case_results
from greval.analysis.summary import MAX_TAG_VALUES, summarise_by_tags
from greval.runs.run_summary import summarise_run


def judge(folder, count=30):
    """Judge cases of two methods with an id as a tag."""
    cases = [
        {
            "id": f"q{n}",
            "method": method,
            "question": "How long?",
            "usage": {"latency": n + 1.0, "llm_calls": 1},
            "tags": {"kind": "odd" if n % 2 else "even", "number": str(n), "all": "one"},
        }
        for n in range(count)
        for method in ("walk", "local")
    ]
    return evaluate(cases, [load_metric("latency"), load_metric("llm_calls")], out=folder)


def test_a_tag_with_few_values_has_figures(tmp_path):
    """A tag of one value, or of as many as an id has, divides nothing; methods come first."""
    run = judge(tmp_path / "run")
    with Store.open(run.folder) as store:
        (figures,) = summarise_by_tags(store)
        assert (figures.tag, figures.by) == ("kind", ("method", "kind"))
        assert figures.summaries == summarise_run(store, ("method", "kind")).summaries
        assert summarise_by_tags(store, without=("kind",)) == ()
    assert MAX_TAG_VALUES < 30


def test_each_case_has_all_of_its_results(tmp_path):
    """Every case comes once, with its results of all metrics, all of them or those that are named."""
    run = judge(tmp_path / "run", count=3)
    with Store.open(run.folder) as store:
        cases = [*read_case_results(store)]
        assert len({(one.sample_id, one.method) for one in cases}) == len(cases) == 6
        assert all({result.metric for result in one.results} == {"latency", "llm_calls"} for one in cases)
        assert all(one.case is not None and one.case.id == one.sample_id for one in cases)
        some = [*read_case_results(store, [("q2", "walk"), ("missing", "walk")])]
        assert [(one.sample_id, one.method) for one in some] == [("q2", "walk")]
