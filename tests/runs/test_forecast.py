"""What a forecast counts is what the run then asks, on a real server."""

from __future__ import annotations

import fault_server as fault
import pytest
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

from greval import Case, Judge, evaluate
from greval.datasets.row_faults import RowFault
from greval.judging.model.prices import Price, Prices
from greval.judging.model.tokens import estimate_tokens
from greval.metrics.computed import COMPUTED_METRICS
from greval.runs.forecast import forecast, forecast_seconds
from greval.runs.shard import Shard
from greval.testing import ScriptedJudge

PRICES = Prices(models={"openai:fake": Price(input=10, output=100)}, as_of="2026-11-21", source="test")


def many(n, chunks=25):
    """Give cases with many different chunks."""
    texts = [f"passage {i} {'long ' * i}" for i in range(chunks)]
    return [Case(id=f"m{i}", question=f"{i}?", answer=f"A{i}.", chunks=texts) for i in range(n)]


def check(server, folder, given, metrics, **options):
    """Hold a forecast against the run that follows; give both."""
    judge = Judge("openai:fake", base_url=server.url, max_retries=0)
    estimate = forecast(given, metrics, judge, out=folder, **options)
    calls_before = server.calls
    run = evaluate(given, metrics, judge, out=folder, on_unread=lambda _: None, **options)
    asked = server.bodies[calls_before:]
    assert sum(part.calls for part in estimate.expected) == len(asked)
    tokens = sum(estimate_tokens(message["content"]) for body in asked for message in body["messages"])
    assert sum(part.input_tokens for part in estimate.expected) == tokens
    progress = run.progress
    assert sum(part.kept for part in estimate.expected) == progress.kept
    assert sum(part.kept + part.judged + part.skipped for part in estimate.expected) == progress.done
    assert estimate.unread == progress.unread
    return estimate, run


def test_the_time_of_a_run_is_that_of_one_measured_call_scaled_by_tokens(fault_server, tmp_path, monkeypatch):
    """A token of an answer counts four times; nothing is measured if nobody would be asked; a failure says nothing."""
    judge = Judge("openai:fake", base_url=fault_server.url, max_retries=0)
    expected = forecast(cases(5), [TONE], judge, out=tmp_path)
    (part,) = expected.expected
    calls_before = fault_server.calls
    assert forecast_seconds(expected, judge) > 0
    assert fault_server.calls - calls_before == 1

    async def measure(_):
        return 0.5

    monkeypatch.setattr("greval.runs.forecast.measure_token_seconds", measure)
    assert forecast_seconds(expected, judge) == (part.input_tokens - part.repeated_tokens + 4 * part.output_tokens) / 2
    assert forecast_seconds(expected, Judge("openai:other", base_url=fault_server.url)) is None
    monkeypatch.undo()
    with fault.FaultServer(fault.error(400)) as refusing:
        assert forecast_seconds(expected, Judge("openai:fake", base_url=refusing.url, max_retries=0)) is None


def test_plain(fault_server, tmp_path):
    """A call for each case."""
    told, _ = check(fault_server, tmp_path, cases(5), [TONE])
    assert [(part.metric, part.judged, part.calls) for part in told.expected] == [("tone", 5, 5)]
    assert not told.exact


def test_items_in_several_batches(fault_server, tmp_path):
    """As many calls as batches, for the metrics on items alone; what a metric builds on is in it."""
    told, _ = check(fault_server, tmp_path, many(3), [PASSAGES, TONE, BUILT])
    assert {part.metric: part.calls for part in told.expected} == {"passages": 9, "tone": 3, "built": 3}


@pytest.mark.parametrize("metric", [TONE, PASSAGES], ids=["a case", "items"])
def test_repeats(fault_server, tmp_path, metric):
    """Each repeat is a call, or as many as there are batches."""
    check(fault_server, tmp_path, many(2), [metric], repeats=3)


def test_what_is_skipped_or_no_case(fault_server, tmp_path):
    """Cases that lack something, and rows that are no cases, ask nothing."""
    rows = [
        {"question": "No answer?"},
        *cases(2),
        RowFault(place="f:9", message="no", id=None),
        {"answer": "No question."},
        {"id": "half", "question": "?", "answer": "\ud800"},
    ]
    told, _ = check(fault_server, tmp_path, rows, [TONE, COMPUTED_METRICS["latency"]])
    first = told.expected[0]
    assert (first.judged, first.skipped, first.calls) == (2, 1, 2)
    assert told.unread == 3


def test_what_is_kept(fault_server, tmp_path):
    """What an earlier run judged is not counted, of what builds on others neither, also where they narrowed it."""

    def plan(body):
        if "<item" not in body["messages"][-1]["content"]:
            return fault.ok()
        return fault.lists(lambda found: [{**one, "value": "Bad" if one["item"] % 2 else "Good"} for one in found])

    fault_server.plan = plan
    metrics = [TONE, BUILT, PASSAGES]
    judge = Judge("openai:fake", base_url=fault_server.url, max_retries=0)
    evaluate(many(2), metrics, judge, out=tmp_path)
    told, _ = check(fault_server, tmp_path, many(2), metrics)
    assert [(part.kept, part.calls) for part in told.expected] == [(2, 0)] * 3
    told, _ = check(fault_server, tmp_path, [*many(2), *cases(2)], [TONE, PASSAGES])
    assert [(part.kept, part.judged, part.calls) for part in told.expected] == [(2, 2, 2), (2, 2, 2)]
    told, _ = check(fault_server, tmp_path, many(2), [TONE, PASSAGES], resume=False)
    assert [(part.kept, part.judged) for part in told.expected] == [(0, 2)] * 2


def test_what_failed(fault_server, tmp_path):
    """Of a case with failed items those alone are counted; where failures are left alone, nothing is."""
    fault_server.plan = fault.lists(lambda found: [one for one in found if one["item"] % 2])
    judge = Judge("openai:fake", base_url=fault_server.url, max_retries=0)
    evaluate(many(2), [PASSAGES], judge, out=tmp_path)
    check(fault_server, tmp_path, many(2), [PASSAGES, BUILT], retry_failed=False)
    fault_server.plan = fault.ok()
    told, run = check(fault_server, tmp_path, many(2), [PASSAGES])
    assert told.expected[0].calls == 2
    assert run.progress.items_failed == 0


def test_what_is_the_same(fault_server, tmp_path):
    """What is the same is asked once, in this run and of an earlier one under another name."""
    same = [Case(id=f"s{i}", question="?", answer="A.") for i in range(6)]
    told, _ = check(fault_server, tmp_path, [*same[:4], *cases(1)], [TONE])
    assert told.expected[0].calls == 2
    told, _ = check(fault_server, tmp_path, same, [TONE])
    assert (told.expected[0].calls, told.expected[0].judged, told.expected[0].kept) == (0, 2, 4)


def test_a_shard(fault_server, tmp_path):
    """Only the shard's own cases are counted."""
    told, _ = check(fault_server, tmp_path, cases(20), [TONE], shard=Shard(number=2, count=3))
    assert 0 < told.expected[0].calls < 20


def test_cost_and_no_call(fault_server, tmp_path):
    """Tokens are priced where there is a price; nothing is asked and no folder is made."""
    judge = Judge("openai:fake", base_url=fault_server.url)
    estimate = forecast(cases(2), [TONE, COMPUTED_METRICS["latency"]], judge, out=tmp_path / "run", prices=PRICES)
    part = estimate.expected[0]
    assert estimate.cost == part.cost == pytest.approx((part.input_tokens * 10 + part.output_tokens * 100) / 1e6)
    assert fault_server.calls == 0
    assert not (tmp_path / "run").exists()
    assert forecast(cases(2), [TONE], judge, out=tmp_path).cost is None


def test_computed_metrics_need_no_judge(tmp_path):
    """Without a judge nobody is asked and nothing costs anything."""
    estimate = forecast(cases(3), [COMPUTED_METRICS["latency"]], None, out=tmp_path)
    assert (estimate.judge, estimate.expected[0].skipped, estimate.expected[0].calls) == (None, 3, 0)


def test_a_folder_that_a_run_writes_to_can_be_read(tmp_path):
    """A forecast of a run that is under way counts what is not judged yet."""
    judge = ScriptedJudge(by_metric)
    forecasts = []

    def look(progress):
        if progress.done == 3:
            forecasts.append(forecast(cases(5), [TONE], judge, out=tmp_path).expected[0])

    evaluate(cases(5), [TONE], judge, out=tmp_path, concurrency=1, on_progress=look)
    assert [(part.kept, part.judged) for part in forecasts] == [(3, 2)]
