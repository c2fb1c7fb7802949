"""One summariser for everybody: Python, command line and server give the same figures of a run to the last digit."""

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scaled_results import SCALES
from served_runs import serving
from typer.testing import CliRunner

from greval import Run, Skipped
from greval.cli.app import app
from greval.errors import DataError
from greval.records import Usage
from greval.records.metric import Metric
from greval.records.result import Failed, Failure, Judgement, Result, Scored
from greval.runs.progress import Progress
from greval.runs.store.writer import StoreWriter
from greval.stats import summarise
from greval.stats.summary import Summary

METRICS = [
    Metric(name=f"m{number}", description=name, needs=["answer"], scale=scale)
    for number, (name, (scale, _)) in enumerate(SCALES.items())
]
NUMBERS = {metric.name: SCALES[metric.description][1] for metric in METRICS}
FAILED = Failed(error=Failure(kind="timeout", message="late"))


def results_of(metric):
    judged = NUMBERS[metric].map(lambda number: Judgement(value=str(number), number=number, reason="r"))
    scored = st.lists(judged, min_size=1, max_size=3).map(lambda judgements: Scored(judgements=tuple(judgements)))
    return st.builds(
        Result,
        method=st.sampled_from(["a", "b"]),
        metric=st.just(metric),
        fingerprint=st.just("f"),
        judge=st.just("j"),
        tier=st.just("schema"),
        outcome=st.one_of(scored, scored, scored, st.sampled_from([FAILED, Skipped(reason="no answer")])),
        usage=st.builds(Usage, calls=st.integers(0, 3)),
        tags=st.sampled_from([{}, {"kind": "x"}, {"kind": "y"}]),
    )


runs_of_results = st.lists(st.sampled_from(sorted(NUMBERS)).flatmap(results_of), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    with serving(runs) as client:
        yield client, runs, itertools.count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs_of_results, st.sampled_from([(), ("method",), ("kind",), ("kind", "method")]))
def test_every_door_gives_the_same_figures(served, rows, by):
    """`Run.summary`, `summarise`, `greval report --format json` and REST agree in every field of every summary."""
    client, runs, numbers = served
    folder = runs / f"r{next(numbers)}"
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [metric.model_dump(mode="json") for metric in METRICS])
        for number, result in enumerate(rows):
            writer.append(str(number), result.model_copy(update={"sample_id": f"q{number}"}))
    run = Run(folder, Progress())
    words = ["report", str(folder), "--format", "json", *(word for name in by for word in ("--by", name))]
    printed = CliRunner().invoke(app, words)
    answer = client.get(f"/v1/runs/{folder.name}/report", params={"by": by})
    if "kind" in by and not any("kind" in result.tags for result in rows):
        with pytest.raises(DataError, match="no tag 'kind' is there"):
            run.summary(by)
        assert "no tag 'kind' is there" in str(printed.exception)
        assert (answer.status_code, "no tag 'kind' is there" in answer.text) == (422, True)
        return
    python = run.summary(by)
    assert python == summarise(run.results(), METRICS, by=by)
    assert (printed.exit_code, answer.status_code) == (0, 200), (printed.output, answer.text)
    of_python = [json.loads(summary.model_dump_json()) for summary in python]
    assert json.loads(printed.stdout)["summaries"] == of_python
    assert answer.json()["summaries"] == of_python
    assert [Summary.model_validate(summary) for summary in answer.json()["summaries"]] == [*python]
