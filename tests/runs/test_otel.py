"""Results as OpenTelemetry events."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from collector import serve_collector
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

from greval import compile_metric, load_metric
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.runs.otel import OpenTelemetryEvents, list_attributes
from greval.testing import ScriptedJudge

KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for value in vars(module).values()
    if isinstance(value, str)
}
CASE = {"id": "q1", "method": "graph", "question": "Who?", "expected_answer": "Ada", "answer": "Ada Lovelace"}


@pytest.fixture
def exporter():
    """Give a place in memory where events end up."""
    return InMemoryLogRecordExporter()


@pytest.fixture
def provider(exporter):
    """Give a provider of OpenTelemetry's own that writes there at once."""
    log_provider = LoggerProvider()
    log_provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    yield log_provider
    log_provider.shutdown()


def records(exporter):
    """Give the events that came, each as OpenTelemetry's own record."""
    return [log.log_record for log in exporter.get_finished_logs()]


def row(outcome, **fields):
    """Give a result."""
    row_fields = {"sample_id": "q1", "method": "graph", "metric": "tone", "fingerprint": "f00d", "tier": "schema"}
    return Result(**{**row_fields, "judge": "openai:gpt-4.1-mini", "outcome": outcome, **fields})


def test_a_judgement_is_an_event_of_the_convention(exporter, provider):
    """A verdict of a real metric arrives with its score, reason, place and fingerprint."""
    judge = ScriptedJudge([{"reason": "Same person.", "value": 1}])
    result = compile_metric(load_metric("correctness"), judge).invoke(
        {**CASE, "tags": {"gen_ai.response.id": "chatcmpl-7"}}
    )
    OpenTelemetryEvents(provider)(result)
    [event] = records(exporter)
    assert event.event_name == "gen_ai.evaluation.result"
    assert dict(event.attributes) == {
        "gen_ai.evaluation.name": "correctness",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.explanation": "Same person.",
        "gen_ai.request.model": "ScriptedJudge",
        "gen_ai.response.id": "chatcmpl-7",
        "greval.sample_id": "q1",
        "greval.method": "graph",
        "greval.fingerprint": result.fingerprint,
    }


def test_results_that_it_builds_on_are_events_too(exporter, provider):
    """The result of a runnable emits those that it carries, before its own."""
    outcome = Scored(judgements=(Judgement(value=1, number=1.0, reason="r"),))
    OpenTelemetryEvents(provider)(
        row(outcome, built_on=(row(outcome, metric="below"), row(Skipped(reason="none"), metric="lacking")))
    )
    assert [event.attributes["gen_ai.evaluation.name"] for event in records(exporter)] == ["below", "tone"]


def test_a_category_is_a_label(exporter, provider):
    """A category arrives by its name, with a number only where it has one."""
    good = Judgement(value="Good", number=0.5, reason="Clear.")
    free = Judgement(value="Poem", reason="It rhymes.", item="c1")
    OpenTelemetryEvents(provider)(row(Scored(judgements=(good, free))))
    first, second = (dict(event.attributes) for event in records(exporter))
    assert (first["gen_ai.evaluation.score.label"], first["gen_ai.evaluation.score.value"]) == ("Good", 0.5)
    assert (second["gen_ai.evaluation.score.label"], second["greval.item"]) == ("Poem", "c1")
    assert "gen_ai.evaluation.score.value" not in second
    assert first["gen_ai.request.model"] == "gpt-4.1-mini"


def test_a_failure_is_an_event_without_a_score(exporter, provider):
    """What failed arrives by its kind, as a warning, beside what was judged."""
    judged = Judgement(value=1, number=1.0, reason="Fits.", item="c1")
    lost = Failure(kind="missing_item", message="no verdict on c2", raw="word for word", item="c2")
    OpenTelemetryEvents(provider)(row(Scored(judgements=(judged,), failures=(lost,))))
    OpenTelemetryEvents(provider)(row(Failed(error=Failure(kind="timeout", message="too late"))))
    judged_event, item, case = records(exporter)
    assert "error.type" not in judged_event.attributes
    assert (item.attributes["error.type"], item.attributes["greval.item"]) == ("missing_item", "c2")
    assert (case.attributes["error.type"], case.attributes["greval.failure"]) == ("timeout", "too late")
    assert judged_event.severity_number.name == "INFO"
    assert item.severity_number.name == "WARN"
    assert not any("score" in name for event in (item, case) for name in event.attributes)
    assert "word for word" not in str([event.attributes for event in records(exporter)])


def test_no_key_is_in_an_event(exporter, provider, monkeypatch):
    """Keys of the environment, and what looks like one, are blotted out wherever they stand."""
    monkeypatch.setenv("MY_API_KEY", "a-very-private-word")
    secret = "sk-abcdef123456 and a-very-private-word"
    judgement = Judgement(value=secret, number=1.0, reason=secret, item=secret)
    failure = Failure(kind="error", message=secret, raw=secret, item=secret)
    fields = {"sample_id": secret, "method": secret, "tags": {"gen_ai.response.id": secret}}
    OpenTelemetryEvents(provider)(row(Scored(judgements=(judgement,), failures=(failure,)), **fields))
    attributes = str([dict(event.attributes) for event in records(exporter)])
    assert "abcdef123456" not in attributes
    assert "very-private" not in attributes


@given(
    st.lists(
        st.builds(Judgement, value=st.integers() | st.text(), reason=st.text(), number=st.none() | st.floats(0, 1))
    ),
    st.lists(st.builds(Failure, kind=st.just("server"), message=st.text(), item=st.none() | st.text())),
)
def test_each_judgement_and_each_failure_is_one_event(judgements, failures):
    """As many events as judgements and failures, with known names and plain values only."""
    if judgements:
        result = row(Scored(judgements=judgements, failures=failures))
    else:
        result = row(Failed(error=Failure(kind="server", message="down"), failures=failures))
    events = [*list_attributes(result)]
    assert len(events) == len(result.judgements) + len(result.failures)
    for event in events:
        assert {name for name in event if not name.startswith("greval.")} <= KNOWN
        assert all(isinstance(value, str | float) for value in event.values())


WITHOUT = """
import sys
sys.modules["opentelemetry"] = sys.modules["opentelemetry._logs"] = None
from greval.errors import MissingExtraError
from greval.runs import OpenTelemetryEvents
try:
    OpenTelemetryEvents()
except MissingExtraError as error:
    print(error)
"""


def test_without_the_package_the_command_that_installs_it_is_told():
    """Without OpenTelemetry the error names the extra."""
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout == "opentelemetry is not installed: pip install 'greval[otel]'\n"


RUN = ["evaluate", "cases.jsonl", "-m", "latency", "--otel", "-q", "-o", "run"]
COMMAND = "from greval.cli import main; main()"
WITH = """
import sys
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
exporter, provider = InMemoryLogRecordExporter(), LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
set_logger_provider(provider)
from greval.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([log.log_record.event_name for log in exporter.get_finished_logs()])
"""


def run(folder, *start, **variables):
    """Run the command with `--otel` over one case, begun so and with these variables; give how it ended."""
    (folder / "cases.jsonl").write_text('{"question": "Who?", "usage": {"latency": 1.5}}\n', encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, *start, *RUN],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def collector():
    """Give a collector on this machine."""
    with serve_collector() as server:
        yield server


def test_otel_sends_events_to_the_address_of_the_usual_variables(tmp_path, collector):
    """Without a provider the command sends by OTLP itself: each event arrives before it ends, with the headers."""
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "x-team=harbour", "OTEL_SERVICE_NAME": "nightly"}
    done = run(tmp_path, "-c", COMMAND, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **headers)
    assert (done.returncode, done.stderr) == (0, f"--otel: events are sent to {collector.url}/v1/logs\n")
    ((path, sent, content),) = collector.received
    assert (path, sent["x-team"]) == ("/v1/logs", "harbour")
    (resource,) = ExportLogsServiceRequest.FromString(content).resource_logs
    assert {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}[
        "service.name"
    ] == "nightly"
    (event,) = resource.scope_logs[0].log_records
    values_by_name = {attribute.key: attribute.value for attribute in event.attributes}
    assert event.event_name == "gen_ai.evaluation.result"
    assert values_by_name["gen_ai.evaluation.name"].string_value == "latency"
    assert values_by_name["gen_ai.evaluation.score.value"].double_value == 1.5


@pytest.mark.nightly
def test_otel_that_was_switched_off_says_so_and_judges(tmp_path):
    """Who switches OpenTelemetry off by its own variable gets a line, and the run."""
    done = run(tmp_path, "-c", COMMAND, OTEL_SDK_DISABLED="true")
    assert (done.returncode, done.stderr) == (0, "--otel: OTEL_SDK_DISABLED is true, so no event is emitted\n")
    assert (tmp_path / "run").is_dir()


@pytest.mark.nightly
def test_otel_emits_to_the_provider_of_the_process(tmp_path):
    """With a provider each judgement is an event, and nothing is said about it."""
    done = run(tmp_path, "-c", WITH)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['gen_ai.evaluation.result']\n", "")
