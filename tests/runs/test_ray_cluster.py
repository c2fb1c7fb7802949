"""A run on a cluster: lost workers lose nothing, the provider's limits hold for all together, one log in the end."""

import asyncio
import logging
import re
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from doc_pages import ON_A_CLUSTER, blocks
from fault_server import FaultServer, error

import greval
from greval import ComputedMetric, Judge, MeasureScale, Store, compile_metric, evaluate, load_metric, read_cases
from greval.errors import DataError, JudgeError, StoreError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.result import Judgement
from greval.runs.ray_cluster import Permit, evaluate_on_ray
from greval.runs.shard import Shard

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from cluster import CONCURRENCY, Killer, Provider, rows, within, written

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.cluster

METRIC = load_metric("correctness")
WORKERS = 2


@pytest.fixture(scope="module")
def cluster():
    """Give a cluster of four workers on this machine, as a caller would start it, warmed up."""

    def ready():  # in here, so that its code travels: the workers know no tests
        judge = Judge("openai:fake", base_url="http://127.0.0.1:9/v1", max_retries=0)
        compile_metric(METRIC, judge).invoke({"question": "Who?", "expected_answer": "Vega.", "answer": "Vega."})
        time.sleep(1)  # each worker does it once

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray gives its workers the lowest priority but a few, and beside other work they hardly run.
        environment.setenv("RAY_worker_niceness", "0")
        environment.setenv("OPENAI_API_KEY", "test-key")
        ray.init(
            address="local",
            num_cpus=WORKERS,
            object_store_memory=80 * 1024 * 1024,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        ray.get([ray.remote(ready).remote() for _ in range(WORKERS)])
        yield
        ray.shutdown()


def test_a_lost_worker_loses_nothing_and_the_limit_holds_for_all(cluster, tmp_path, caplog):
    """One of four workers is killed: the log is that of one machine, little is repeated, the quota is kept."""
    n, quota = 160, 1200
    source, provider, killer = written(tmp_path, n), Provider(), Killer()
    with FaultServer(provider) as server:
        judge = Judge("openai:fake", base_url=server.url, requests_per_minute=quota)
        killer.start()
        run = evaluate_on_ray(source, [METRIC], judge, out=tmp_path / "run", shards=8, concurrency=CONCURRENCY)
        times, counts = [*provider.times], Counter(provider.asked)
        alone = judge.model_copy(update={"requests_per_minute": None})
        evaluate(read_cases(source), [METRIC], alone, out=tmp_path / "alone", concurrency=32)
    ((shard, judged),) = killer.judged.items()
    assert 0 < judged < len(rows(shard))
    assert "lost its worker" in caplog.text
    assert (run.why, run.fatal) == (None, False)
    assert rows(tmp_path / "run") == rows(tmp_path / "alone")
    assert 0 <= counts.total() - n <= CONCURRENCY
    assert max(counts.values()) <= 2
    assert within(quota, WORKERS, times)


def test_one_refused_shard_stops_the_others_in_order(cluster, tmp_path):
    """A wrong key ends the whole run soon with one message; what was in flight is kept, and is not asked again."""
    n = 120
    source = written(tmp_path, n)
    refused = {f"Question {i}?" for i in range(n) if Shard(number=1, count=4).holds(f"q{i}")}
    provider = Provider(seconds=1)

    def plan(body):
        wrong = any(question in body["messages"][-1]["content"] for question in refused)
        return error(401, "invalid_api_key") if wrong else provider(body)

    with FaultServer(plan) as server:
        judge = Judge("openai:fake", base_url=server.url)
        call = partial(evaluate_on_ray, source, [METRIC], judge, out=tmp_path / "run", shards=4, concurrency=2)
        run = call()
        assert run.fatal
        assert "OPENAI_API_KEY" in run.why
        assert server.calls < n / 2
        assert len(rows(tmp_path / "run")) == server.calls
        server.plan, provider.seconds = provider, 0
        second_run = call()
    assert (second_run.why, second_run.progress.scored, second_run.progress.total) == (None, n, n)
    assert set(provider.asked.values()) == {1}


@pytest.mark.nightly
def test_caps_are_divided_and_told(cluster, tmp_path):
    """A cap is never exceeded by all shards together; the run says which was stopped, and goes on when asked."""
    source, provider, told = written(tmp_path, 40), Provider(seconds=0), []
    with FaultServer(provider) as server:
        judge = Judge("openai:fake", base_url=server.url)
        capped = evaluate_on_ray(source, [METRIC], judge, out=tmp_path / "run", shards=4, max_calls=9)
        assert (server.calls, capped.fatal) == (8, False)
        assert re.fullmatch(r"4 of the shards were stopped; \d-of-4: the cap of 2 calls .*", capped.why)
        second_run = evaluate_on_ray(source, [METRIC], judge, out=tmp_path / "run", shards=4, max_calls=9)
        assert (server.calls, "earlier commands on this run made 2 of them" in second_run.why) == (8, True)
        run = evaluate_on_ray(source, [METRIC], judge, out=tmp_path / "run", shards=4, on_progress=told.append)
    assert (server.calls, run.why, run.progress.scored, run.progress.kept) == (40, None, 40, 8)
    assert [progress.done for progress in told][-1] == 40
    assert len(told) == 4


@pytest.mark.nightly
def test_a_deadline_stops_the_run_in_order(cluster, tmp_path):
    """When the time is over no call is made any more, and what was asked is in the log."""
    provider = Provider(seconds=0.2)
    with FaultServer(provider) as server:
        judge = Judge("openai:fake", base_url=server.url)
        run = evaluate_on_ray(written(tmp_path, 400), [METRIC], judge, out=tmp_path / "run", deadline=4, concurrency=2)
    assert run.why == "the deadline of 4 s is over"
    assert not run.fatal
    assert 0 < len(rows(tmp_path / "run")) == len(provider.asked) < 400


def test_computed_metrics_travel(cluster, tmp_path):
    """Computed metrics of greval and a caller's function are worked out on the workers."""

    def compute(case):
        return (Judgement(value=len(case.answer), number=len(case.answer), reason="Counted."),)

    scale = MeasureScale(unit="letters", better="lower")
    letters = ComputedMetric(name="letters", description="Long.", needs=["answer"], scale=scale, compute=compute)
    judge = Judge("openai:fake", base_url="http://127.0.0.1:9/v1")
    metrics = [COMPUTED_METRICS["latency"], letters]
    run = evaluate_on_ray(written(tmp_path, 10), metrics, judge, out=tmp_path / "run", shards=2)
    assert (run.progress.scored, run.progress.skipped) == (10, 10)


@pytest.mark.nightly
def test_a_function_of_a_python_file_travels(cluster, tmp_path):
    """No worker can import the file by the name of its module, so its code is sent."""
    (tmp_path / "own.py").write_text(
        "SIZE = 2\n\ndef double(answer):\n    return SIZE * len(answer)\n", encoding="utf-8"
    )
    (tmp_path / "cases.jsonl").write_text('{"id": "q1", "question": "?", "answer": "Ada"}\n', encoding="utf-8")
    metric = load_metric(f"{tmp_path}/own.py:double")
    run = evaluate_on_ray(tmp_path / "cases.jsonl", [metric], Judge("openai:unused"), out=tmp_path / "run", shards=1)
    assert [result.value for result in run.results()] == [6]


def test_columns_travel(cluster, tmp_path):
    """The workers read the columns that the caller names."""
    path = tmp_path / "cases.csv"
    path.write_text("frage;gen;reference\nWho?;Ada;Ada\nWhen?;1843;1842\n", encoding="utf-8")
    judge = Judge("openai:fake", base_url="http://127.0.0.1:9/v1")
    columns = {"question": "frage", "answer": "gen"}
    words = [load_metric("token_f1")]
    run = evaluate_on_ray(path, words, judge, out=tmp_path / "run", shards=2, columns=columns)
    assert sorted(judgement.number for result in run.results() for judgement in result.judgements) == [0.0, 1.0]


def test_what_a_worker_cannot_do_is_the_callers_error(cluster, tmp_path):
    """An error of a worker comes as it is, as in a run on one machine."""
    with pytest.raises(JudgeError, match="write PROVIDER:MODEL"):
        evaluate_on_ray(written(tmp_path, 4), [METRIC], Judge("fake"), out=tmp_path / "run", shards=2)


@pytest.mark.nightly
def test_shards_that_fail_at_the_same_time_do_not_end_the_driver(cluster, tmp_path):
    """`ray.cancel` aborted the driver in one of 135 such runs."""
    source = written(tmp_path, 4)
    for i in range(300):
        with pytest.raises(JudgeError, match="write PROVIDER:MODEL"):
            evaluate_on_ray(source, [METRIC], Judge("fake"), out=tmp_path / str(i), shards=2)


def test_a_stop_does_not_wait_for_shards_in_the_queue_of_ray(cluster, tmp_path):
    """While other tasks have all CPUs no shard begins; the driver ends at its deadline, and no shard begins later."""
    free = tmp_path / "free"

    @ray.remote
    def wait_until_free():
        waits = (time.sleep(0.1) for _ in range(600))
        return any(free.exists() for _ in waits)

    others = [wait_until_free.remote() for _ in range(WORKERS)]
    with FaultServer(Provider()) as server:
        judge = Judge("openai:fake", base_url=server.url)
        run = evaluate_on_ray(written(tmp_path, 8), [METRIC], judge, out=tmp_path / "run", shards=4, deadline=2)
        free.touch()
        behind_shards = [wait_until_free.remote() for _ in range(WORKERS)]
        assert all(ray.get(others + behind_shards))
        assert (run.why, run.progress.done, run.progress.total) == ("the deadline of 2 s is over", 0, 8)
        assert not list((tmp_path / "run" / "shards").iterdir())
        assert server.calls == 0


def test_a_folder_that_workers_do_not_see_is_an_error(cluster, tmp_path, monkeypatch):
    """Without the shared folder no shard begins, which is no complete run."""
    monkeypatch.setattr(Permit, "issue", lambda _: Permit(tmp_path / "elsewhere" / "permit"))
    with pytest.raises(StoreError, match="elsewhere: expected a folder that all workers see"):
        evaluate_on_ray(written(tmp_path, 4), [METRIC], Judge("openai:fake"), out=tmp_path / "run", shards=1)


def test_a_shard_begins_and_goes_on_only_with_a_permit(tmp_path):
    """A withdrawn permit names the shards that had begun, stops them and lets no other begin; a new one replaces it."""
    old = Permit.issue(tmp_path / "shards")
    permit = Permit.issue(tmp_path / "shards")
    assert not old.begin(1)
    assert [permit.begin(number) for number in (1, 2, 10)] == [True, True, True]
    permit.forget(2)
    assert permit.withdraw() == {1, 10}
    assert not permit.begin(3)
    asyncio.run(asyncio.wait_for(permit.wait_for_end(1), 60))
    assert not list((tmp_path / "shards").iterdir())


def test_what_cannot_be_divided_is_told_before_anything_is_asked(tmp_path):
    """Options without meaning here, too small a cap, another division and a missing file are refused at once."""
    source, judge = written(tmp_path, 4), Judge("openai:fake")
    call = partial(evaluate_on_ray, source, [METRIC], judge, out=tmp_path / "run")
    with pytest.raises(DataError, match="resume, shard: not supported"):
        call(shard=None, resume=True)
    with pytest.raises(DataError, match="16 shards: expected at least one, and at most max_calls"):
        call(max_calls=15)
    with pytest.raises(DataError, match="no such file"):
        evaluate_on_ray(tmp_path / "no.jsonl", [METRIC], judge, out=tmp_path / "run")
    (tmp_path / "run" / "shards" / "1-of-8").mkdir(parents=True)
    with pytest.raises(StoreError, match="begun with shards=8"):
        call()


def test_without_ray_it_says_what_to_install(tmp_path):
    """Without the package the error holds the command that installs it."""
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from greval import Judge, load_metric\n"
        "from greval.runs.ray_cluster import evaluate_on_ray\n"
        f"evaluate_on_ray({str(written(tmp_path, 1))!r}, [load_metric('latency')], Judge('openai:fake'), out='run')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "MissingExtraError: ray is not installed: pip install 'greval[ray]'" in done.stderr


def test_the_page_runs(cluster, fault_server, tmp_path, monkeypatch):
    """The Python blocks of docs/cluster.md run as they stand, but for the address: the workers' is another."""
    monkeypatch.chdir(tmp_path)
    shipped = (Path(greval.__file__).parent / "demo" / "cases.jsonl").read_text(encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text("".join(shipped.splitlines(keepends=True)[:4]), encoding="utf-8")
    for block in blocks(ON_A_CLUSTER, "python"):
        exec(block.replace("requests_per_minute", f'base_url="{fault_server.url}", requests_per_minute'), {})  # noqa: S102
    with Store.open(tmp_path / "runs" / "cluster") as store:
        assert {result.outcome.status for result in store.results()} == {"scored"}
