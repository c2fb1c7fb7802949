"""`greval align`: its report, JSON, a dry run, and a sentence where nothing helped."""

from __future__ import annotations

from functools import partial

import pytest
from aligned_runs import MAGIC, TEXTS, TONE, case, labels, tones
from fault_server import gives

from greval import Judge, evaluate, write_metric
from greval.metrics.files import read_metric
from greval.trust.alignment.records import Alignment, AlignmentForecast
from greval.trust.annotations.files import keep_annotations

COUNT = 44
WORDS = ("align", "tone.yaml", "--run", "run", "--judge", "openai:test", "--folds", "2", "--choosing", "12")
NEW = ("--out", "new.yaml")


def answers(truth, *, helps):
    """Answer as a judge that judges better by the writer's steps, or as one that does not care for them."""

    def plan(body):
        system, last = body["messages"][0]["content"], body["messages"][-1]["content"]
        if "You improve the wording" in system:
            return gives({"steps": [MAGIC, "Decide."], "scale": TEXTS["tone"], "instructions": ""})
        if "agreed on the value" in last:
            return gives({"reason": "The rule.", "value": "Polite" if "value Polite" in last else "Rude"})
        number = int(last.split("thing ")[1].split(".")[0])
        good = helps and (MAGIC in system or len(body["messages"]) > 2)
        wrong = number % 5 in {0, 3} and not good
        return gives(
            {
                "reason": "So it is.",
                "value": {"Polite": "Rude", "Rude": "Polite"}[truth[number]] if wrong else truth[number],
            }
        )

    return plan


@pytest.fixture
def align(greval_says, fault_server, empty_folder, monkeypatch):
    """Write a labelled run, a metric file and a server whose judge the writer's steps help, and give the command."""
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    truth = tones(COUNT)
    (empty_folder / "tone.yaml").write_text(write_metric(TONE), encoding="utf-8")
    fault_server.plan = answers(truth, helps=True)
    evaluate([case(number) for number in truth], [TONE], Judge("openai:test"), out="run")
    keep_annotations(empty_folder / "run", labels(TONE, truth))
    return partial(greval_says, *WORDS)


@pytest.mark.nightly
def test_what_helped_is_shown_with_its_gain_and_the_diff(align):
    """The report has what was tried, the gain and the diff; the steps are on stderr, and the metric in its file."""
    code, out, err = align(*NEW)
    assert code == 0
    assert "accepted: the gain is beyond noise" in out
    assert "--- before/new.yaml" in out
    assert "spent: " in out
    assert "fold 1, rewrite: judging 11 cases" in err
    assert read_metric("new.yaml").name == "tone"
    assert read_metric("tone.yaml") == TONE


def test_if_nothing_helped_no_file_is_written(align, fault_server, empty_folder):
    """A refusal is a finding and no failure: exit code 0, a plain sentence, and no file."""
    fault_server.plan = answers(tones(COUNT), helps=False)
    code, out, _ = align(*NEW)
    assert (code, "nothing helped: " in out, "nothing was written" in out) == (0, True, True)
    assert not (empty_folder / "new.yaml").exists()


@pytest.mark.nightly
def test_json_holds_all_of_it(align):
    """The JSON form reads as the record that Python gives."""
    alignment = Alignment.model_validate_json(align("--format", "json")[1])
    assert alignment.accepted
    assert alignment.usage.calls > 0
    assert MAGIC in alignment.attempts[1].definition


def test_a_dry_run_asks_nothing(align, fault_server, empty_folder):
    """Calls and tokens are printed beforehand, as a text and as JSON."""
    calls = fault_server.calls
    out = align("--dry-run")[1]
    assert "tone: 44 labelled items of 44 questions; at most:" in out
    assert "no model was called" in out
    forecast = AlignmentForecast.model_validate_json(align("--dry-run", "--format", "json")[1])
    assert f"{forecast.calls} calls of openai:test to judge, {forecast.written} calls to write" in out
    assert fault_server.calls == calls
    assert not (empty_folder / "run" / "align").exists()


@pytest.mark.nightly
def test_a_cap_stops_in_order_and_the_same_command_goes_on(align):
    """Exit code 3 with the reason, and then the same command comes to its end."""
    code, _, err = align("--max-calls", "20")
    assert code == 3
    assert "stopped: the cap of 20 calls is reached" in err
    assert "the results so far are kept" in err
    assert "judgements from before" in align()[1]
