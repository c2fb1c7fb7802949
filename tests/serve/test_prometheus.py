"""Tests of the counters in Prometheus format."""

from __future__ import annotations

from shell_app import client, made

from greval.records.result import Failed, Failure, Result, Usage


def test_figures(tmp_path):
    """Requests by the template of their path, calls, tokens and failures by kind are counted for Prometheus."""
    app = made(tmp_path)
    http_client = client(app)
    http_client.get("/v1/who/ana")
    http_client.get("/nowhere")
    failed = Failed(error=Failure(kind="timeout", message="late"), failures=(Failure(kind="length", message="cut"),))
    usage = Usage(calls=2, input_tokens=100, output_tokens=7)
    row = Result(metric="m", fingerprint="f", judge="openai:x", tier="schema", outcome=failed, usage=usage, latency=0.4)
    app.state.service.counters.count_result(row)
    answer = http_client.get("/metrics-exposition")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in (
        'greval_requests_total{method="GET",route="/v1/who/{name}",status="200"} 1.0',
        'greval_requests_total{method="GET",route="",status="404"} 1.0',
        'greval_failures_total{kind="timeout"} 1.0',
        'greval_failures_total{kind="length"} 1.0',
        'greval_judge_calls_total{judge="openai:x"} 2.0',
        'greval_judge_tokens_total{judge="openai:x",of="input"} 100.0',
        'greval_judgements_total{judge="openai:x",status="failed"} 1.0',
        'greval_judgement_seconds_bucket{judge="openai:x",le="0.5"} 1.0',
        "greval_requests_in_flight 1.0",
    ):
        assert line in answer.text
    assert "ana" not in answer.text
