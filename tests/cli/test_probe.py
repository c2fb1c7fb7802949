"""`greval probe`: the table, JSON, a dry run, and exit codes, against a real server."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from fault_server import gives, ok, says
from probed_judges import RIGHT, answering, cases, obeys

from greval.metrics.files import write_metric
from greval.trust.probing.records import Probe

pytestmark = pytest.mark.usefixtures("empty_folder")


def by(weakness=None, *, failing="nothing fails"):
    """Give a server's plan: the judge that knows the world, but for its weakness; some texts it does not answer."""

    def plan(body):
        messages = [SimpleNamespace(text=message["content"]) for message in body["messages"]]
        broken = any(failing in message.text for message in messages)
        return says("no json") if broken else gives(answering(weakness)(messages))

    return plan


@pytest.fixture
def probe(greval_says, fault_server, empty_folder):
    """Give a function that probes a metric over the small world, and returns code, output and errors."""
    (empty_folder / "right.yaml").write_text(write_metric(RIGHT), encoding="utf-8")
    lines = (case.model_dump_json(exclude_defaults=True) for case in cases())
    (empty_folder / "world.jsonl").write_text("\n".join(lines), encoding="utf-8")
    fault_server.plan = by()
    judge = ("--judge", "openai:m", "--base-url", fault_server.url)
    return lambda *words: greval_says("probe", "right.yaml", "--cases", "world.jsonl", *judge, *words)


def test_json_is_the_probe(probe):
    """The JSON form is the whole record, without NaN, also of a quiet command."""
    code, out, _ = probe("--format", "json", "--checks", "padded, repeats", "--quiet")
    record = Probe.model_validate_json(out)
    assert (code, "NaN" in out) == (0, False)
    assert [check.name for check in record.checks] == ["padded"]
    assert record.noise
    assert record.checks[0].rate.interval.method == "wilson"


def test_a_threshold_that_is_missed_ends_with_1(probe, fault_server):
    """A check below the threshold is named, and the code is 1; a judge that passes ends with 0."""
    code, out, err = probe("--fail-under", "0.8")
    assert (code, "below" in err) == (0, False)
    assert "10 of 10" in out.split("contradicted")[1]
    fault_server.plan = by(obeys)
    code, _, err = probe("--fail-under", "0.8", "-o", "other")
    assert (code, "below a kill rate of 0.8: injected" in err) == (1, True)


def test_nothing_measured_is_no_pass(probe):
    """A threshold is not met by checks that were not made."""
    code, _, err = probe("--fail-under", "0.8", "--checks", "item_order")
    assert (code, "no check has a kill rate to compare with 0.8" in err) == (1, True)


def test_failures_end_with_3_and_are_mended(probe, fault_server):
    """If verdicts fail the code is 3 and the page says so; the same command asks for these only."""
    fault_server.plan = by(failing="is false")
    code, out, _ = probe("--repeats", "1")
    assert (code, "failures: malformed 5; they are not counted as caught" in out) == (3, True)
    calls = fault_server.calls
    fault_server.plan = by()
    code, out, _ = probe("--repeats", "1")
    assert (code, fault_server.calls) == (0, calls + 5)
    assert "10 of 10" in out.split("contradicted")[1].splitlines()[0]


def test_a_cap_stops_in_order(probe, fault_server):
    """A cap on calls holds over all stages; what is missing is reported, and the same command goes on."""
    code, out, err = probe("--max-calls", "12", "--concurrency", "1")
    assert (code, fault_server.calls) == (3, 12)
    assert "stopped: the cap of 12 calls is reached (--max-calls)" in err
    assert "not judged yet; run the same command again to continue" in out
    probe()
    assert fault_server.calls == 40


def test_a_dry_run_asks_nothing(probe, fault_server):
    """A dry run prints the calls of each stage, and asks nothing."""
    code, out, err = probe("--dry-run", "--limit", "2")
    assert (code, err, fault_server.calls) == (0, "", 0)
    assert "right (another question's)" in out


def test_the_shipped_cases_are_the_default(greval_says, fault_server):
    """Without cases the shipped ones are probed, each question once."""
    judge = ("--judge", "openai:m", "--base-url", fault_server.url)
    out = greval_says("probe", "correctness", *judge, "--checks", "empty", "--limit", "3")[1]
    assert "runs/probe-correctness: correctness, judge openai:m, 3 cases" in out


def test_the_depth_of_reasons(probe, fault_server):
    """A probe of a judge that gives findings asks for them."""
    fault_server.plan = ok()
    probe("--reason-depth", "steps", "--limit", "2", "--checks", "empty")
    assert fault_server.bodies
    assert all("step_1" in json.dumps(body) for body in fault_server.bodies)
