"""`greval probe`: tables at usual widths, JSON, a dry run, and exit codes, against a real server."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import typer
from fault_server import gives, ok, says
from night import at_night
from probed_judges import CHUNKS, RIGHT, answering, cases, obeys
from typer.testing import CliRunner

from greval.cli.probe import probe
from greval.errors import DataError
from greval.metrics.files import write_metric
from greval.trust.probing.records import Probe

app = typer.Typer()
app.command("probe")(probe)


def by(weakness=None, *, failing="nothing fails"):
    """Give a server's plan: the judge that knows the world, but for its weakness; some texts it does not answer."""

    def plan(body):
        messages = [SimpleNamespace(text=one["content"]) for one in body["messages"]]
        broken = any(failing in one.text for one in messages)
        return says("no json") if broken else gives(answering(weakness)(messages))

    return plan


@pytest.fixture
def words(fault_server, tmp_path, monkeypatch):
    """Give the words of the command for a metric over the small world, asked of the server."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.chdir(tmp_path)
    for metric in (RIGHT, CHUNKS):
        (tmp_path / f"{metric.name}.yaml").write_text(write_metric(metric), encoding="utf-8")
    lines = (case.model_dump_json(exclude_defaults=True) for case in cases())
    (tmp_path / "world.jsonl").write_text("\n".join(lines), encoding="utf-8")
    fault_server.plan = by()

    def given(metric="right.yaml", *more):
        judge = ("--judge", "openai:m", "--base-url", fault_server.url)
        return (metric, "--cases", "world.jsonl", *judge, *more)

    return given


def told(words, *, width=160, code=0):
    """Run the command and give what it printed."""
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_the_table_tells_all_checks(words):
    """Each check has its line with the rate, what it holds is told, and so are noise, cost and what is not made."""
    text = told(words()).stdout
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "10 of 10" in text.split("contradicted")[1]
    assert "1.00 [0.72, 1.00]" in text
    assert rows["repeats:"].startswith(
        "repeats: of 5 verdicts judged 3 times 0.00 [0.00, 0.43] changed; flip rate 0.00"
    )
    assert "item_order: not made: it judges no items" in text
    assert "padded: the verdict gets no better" in text
    assert "asked now: 40 calls, 4,000 input tokens, 800 output tokens" in text
    assert "Not caught" not in text


@pytest.mark.parametrize("width", [80, *at_night(120, 160)])
def test_no_figure_is_cut(words, fault_server, width):
    """At usual widths every figure is whole, with verdicts by question and survivors in the page."""
    fault_server.plan = by(obeys)
    text = told(words("chunks.yaml", "--max-items", "5"), width=width).stdout
    assert "…" not in text
    assert "Not caught (5 of" in text
    assert text.count("[") == text.count("]")


def test_json_is_the_probe(words):
    """The JSON form is the whole record, without NaN."""
    text = told(words("right.yaml", "--format", "json", "--checks", "padded, repeats", "--quiet")).stdout
    found = Probe.model_validate_json(text)
    assert [one.name for one in found.checks] == ["padded"]
    assert found.noise
    assert json.loads(text)["checks"][0]["rate"]["interval"]["method"] == "wilson"


def test_a_threshold_that_is_missed_ends_with_1(words, fault_server):
    """Where a check is below the threshold it is named, and the code is 1; a judge that passes ends with 0."""
    assert told(words("right.yaml", "--fail-under", "0.8")).stderr.count("below") == 0
    fault_server.plan = by(obeys)
    done = told(words("right.yaml", "--fail-under", "0.8", "-o", "other"), code=1)
    assert "below a kill rate of 0.8: injected" in done.stderr


def test_nothing_measured_is_no_pass(words):
    """A threshold is not met by checks that were not made."""
    done = told(words("right.yaml", "--fail-under", "0.8", "--checks", "item_order"), code=1)
    assert "no check has a kill rate to compare with 0.8" in done.stderr


def test_failures_end_with_3_and_are_mended(words, fault_server):
    """Where verdicts fail the code is 3 and the page says so; the same command asks for these only."""
    fault_server.plan = by(failing="is false")
    text = told(words("right.yaml", "--repeats", "1"), code=3).stdout
    assert "failures: malformed 5; they are not counted as caught" in text
    assert "5 of 5" in text.split("contradicted")[1].splitlines()[0]
    before = fault_server.calls
    fault_server.plan = by()
    text = told(words("right.yaml", "--repeats", "1")).stdout
    assert fault_server.calls == before + 5
    assert "10 of 10" in text.split("contradicted")[1].splitlines()[0]


def test_a_cap_stops_in_order(words, fault_server):
    """A cap on calls holds over all stages; what is missing is told, and the same command goes on."""
    done = told(words("right.yaml", "--max-calls", "12", "--concurrency", "1"), code=3)
    assert fault_server.calls == 12
    assert "stopped: the cap of 12 calls is reached (--max-calls)" in done.stderr
    assert "not judged yet; run the same command again to continue" in done.stdout
    told(words())
    assert fault_server.calls == 40


def test_a_dry_run_asks_nothing(words, fault_server):
    """A dry run tells the calls of each stage, and asks nothing."""
    text = told(words("right.yaml", "--dry-run", "--limit", "2")).stdout
    assert fault_server.calls == 0
    assert "right (another question's)" in text
    assert "all" in text
    assert not (told(words("right.yaml", "--dry-run")).stderr)


def test_the_shipped_cases_are_the_default(fault_server, tmp_path, monkeypatch):
    """Without cases the shipped ones are probed, each question once."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.chdir(tmp_path)
    words = ("correctness", "--judge", "openai:m", "--base-url", fault_server.url, "--checks", "empty", "--limit", "3")
    text = told(words).stdout
    assert "runs/probe-correctness: correctness, judge openai:m, 3 cases" in text


def test_a_wrong_check_is_told(words):
    """A check that is not there is told with those that are."""
    done = CliRunner().invoke(app, [*words("right.yaml", "--checks", "lenght")])
    assert isinstance(done.exception, DataError)
    assert "checks: expected names among repeats, item_order" in str(done.exception)


def test_the_depth_of_reasons(words, fault_server):
    """A probe of a judge that gives findings asks for them."""
    fault_server.plan = ok()
    CliRunner().invoke(
        app, [*map(str, words("right.yaml", "--reason-depth", "steps", "--limit", "2", "--checks", "empty"))]
    )
    assert fault_server.bodies
    assert all("step_1" in json.dumps(body) for body in fault_server.bodies)


@pytest.mark.parametrize(
    ("words", "done"), [(("probe", "latency"), "probed"), (("align", "latency", "--run", "run"), "aligned")]
)
def test_a_computed_metric_is_refused_for_what_it_is(greval_says, words, done):
    """A computed metric is refused as such, not for want of a judge that it would not need."""
    code, _, err = greval_says(*words)
    assert code == 2
    assert f"latency is computed: only what a model judges can be {done}" in " ".join(err.split())
    assert "No judge" not in err
