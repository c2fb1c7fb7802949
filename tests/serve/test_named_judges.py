"""Metrics that name their judge on a server, which decides which judges may be used."""

from __future__ import annotations

import pytest
from served_metrics import tone
from served_runs import ended, rows, serving, started, uploaded

from greval.judging.model.judge import Judge
from greval.metrics.files import parse_metric
from greval.serve.service import Service
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

RIGHT = {"reason": "It is the same.", "value": 1}


@pytest.fixture
def judges():
    """Give the judges that the server offers, the default first."""
    return {"fast": ScriptedJudge([RIGHT]), "good": ScriptedJudge([RIGHT])}


@pytest.fixture
def client(tmp_path, judges):
    """Give a client of a server with two judges."""
    with serving(tmp_path / "runs", judges=judges) as client:
        yield client


def text(judge):
    return (
        "name: exact\ndescription: Is it exact?\nneeds: [question, answer]\nsteps: [Read.]\n"
        f"scale: {{range: [0, 1], better: higher, levels: {{0: No., 1: Yes.}}}}\njudge: {judge}\n"
    )


@pytest.mark.nightly
def test_a_metric_asks_the_judge_that_it_names(client, judges):
    """Within a request and in a run, the named judge is asked by its metric, and the request's by the others."""
    assert client.post("/v1/metrics", json={"yaml": text("openai:good")}).status_code == 201
    assert client.get("/v1/metrics/exact").json()["judge"] == "openai:good"
    case = {"question": "Who?", "answer": "Ada", "expected_answer": "Ada"}
    answer = client.post("/v1/evaluate", json={"metrics": ["exact", "correctness"], "cases": [case]})
    assert {row["metric"]: row["judge"] for row in answer.json()["results"]} == {
        "exact": "openai:good",
        "correctness": "openai:fast",
    }
    assert (len(judges["fast"].calls), len(judges["good"].calls)) == (1, 1)
    run = started(client, uploaded(client, rows(3)), "exact", "correctness")
    assert ended(client, run)["status"] == "finished"
    assert (len(judges["fast"].calls), len(judges["good"].calls)) == (4, 4)
    report = client.get(f"/v1/runs/{run}/report").json()
    assert report["judges"] == {"exact": ["openai:good"], "correctness": ["openai:fast"]}


@pytest.mark.parametrize(
    "judge", ["openai:other", "{model: 'openai:other'}", "{model: 'openai:good', base_url: 'http://127.0.0.1:9/v1'}"]
)
def test_a_judge_that_is_not_offered_is_refused(client, judges, judge):
    """The text is refused; the check says the same with its line; nothing is asked."""
    answer = client.post("/v1/metrics", json={"yaml": text(judge)})
    (fault,) = answer.json()["faults"]
    (marked,) = client.post("/v1/metrics/check", json={"yaml": text(judge)}).json()["faults"]
    assert (answer.status_code, marked) == (422, {**fault, "place": f"yaml:6: {fault['place']}"})
    assert not judges["fast"].calls


def test_a_file_of_the_operator_that_names_another_judge_is_refused_when_it_is_used(tmp_path, judges):
    """The request and the run are refused with the judge that is missing; other metrics are not affected."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "exact.yaml").write_text(text("openai:other"), encoding="utf-8")
    (tmp_path / "own" / "tone.yaml").write_text(tone(), encoding="utf-8")
    with serving(tmp_path / "runs", judges=judges, library=(tmp_path / "own",)) as client:
        cases = [{"question": "Who?", "answer": "Ada"}]
        answer = client.post("/v1/evaluate", json={"metrics": ["exact"], "cases": cases})
        assert (answer.status_code, "openai:other" in answer.json()["detail"]) == (409, True)
        run = {"dataset": uploaded(client, rows(1)), "metrics": ["exact"]}
        assert client.post("/v1/runs", json=run).status_code == 409
        assert client.post("/v1/evaluate", json={"metrics": ["latency"], "cases": cases}).status_code == 200


def test_only_the_operators_server_of_a_model_is_used(tmp_path):
    """A metric may repeat the address of an offered judge and choose a temperature, but name no other address."""
    judge = Judge("openai:m", base_url="http://127.0.0.1:1/v1")
    service = Service(ServerSettings(runs=tmp_path), {"one": judge}, None)
    for name in ("openai:m", "{model: 'openai:m', base_url: 'http://127.0.0.1:1/v1'}"):
        assert service.choose_judge(parse_metric(text(name))) == judge
    warm = service.choose_judge(parse_metric(text("{model: 'openai:m', temperature: 1}")))
    assert warm == judge.model_copy(update={"temperature": 1.0})
