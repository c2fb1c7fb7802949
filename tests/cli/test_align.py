"""`greval align`: its tables at usual widths, JSON, what a dry run tells, and a sentence where nothing helped."""

import json

import pytest
import typer
from aligned_runs import MAGIC, TEXTS, TONE, case, labels, tones
from fault_server import gives
from typer.testing import CliRunner

from greval import Judge, evaluate, write_metric
from greval.cli.align import align
from greval.errors import DataError, JudgeError
from greval.metrics.files import read_metric
from greval.trust.alignment.records import Alignment, AlignmentForecast
from greval.trust.annotations.files import keep_annotations

COUNT = 44
app = typer.Typer()
app.command("align")(align)


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
def scene(fault_server, tmp_path, monkeypatch):
    """Give a function that writes a labelled run, a metric file and a server, and runs the command."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    monkeypatch.delenv("GREVAL_JUDGE", raising=False)
    truth = tones(COUNT)
    (tmp_path / "tone.yaml").write_text(write_metric(TONE))
    judge = ("--judge", "openai:test", "--folds", "2", "--choosing", "12")

    def told(*words, helps=True, width=160, code=0):
        fault_server.plan = answers(truth, helps=helps)
        run = tmp_path / "run"
        evaluate([case(number) for number in truth], [TONE], Judge("openai:test"), out=run)
        keep_annotations(run, labels(TONE, truth))
        words = (tmp_path / "tone.yaml", "--run", run, *judge, *words)
        done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
        assert done.exit_code == code, (done.output, done.exception)
        return done

    told.folder = tmp_path
    told.server = fault_server
    return told


@pytest.mark.nightly
@pytest.mark.parametrize("width", [80, 160])
def test_what_helped_is_shown_with_its_gain_and_the_diff(scene, width):
    """The tables tell what was tried and what it gained on held-out folds; the diff and the file stand below."""
    out = scene("--out", scene.folder / "new.yaml", width=width).stdout
    words = " ".join(out.split())
    for part in ("fold 1 of 2", "all labels", "examples", "rewrite", "chosen", "kappa", "before", "held-out folds"):
        assert part in words
    assert "accepted: the gain is beyond noise" in words
    assert "--- before/new.yaml" in out
    assert "spent: " in words
    assert read_metric(scene.folder / "new.yaml").name == "tone"
    assert read_metric(scene.folder / "tone.yaml") == TONE


@pytest.mark.nightly
def test_steps_are_told_beside_the_report(scene):
    """What is being judged is told on stderr, so that stdout holds the report only."""
    done = scene("--ways", "rewrite")
    assert "fold 1, rewrite: judging 11 cases" in done.stderr
    assert "judging" not in done.stdout.replace("judge", "")


def test_where_nothing_helped_a_sentence_says_so(scene):
    """A refusal is a finding and no failure: exit code 0, a plain sentence, and no file."""
    out = scene("--out", scene.folder / "new.yaml", helps=False).stdout
    assert "nothing helped: " in out
    assert "nothing was written" in out
    assert not (scene.folder / "new.yaml").exists()


@pytest.mark.nightly
def test_json_holds_all_of_it(scene):
    """The JSON form reads as the record that Python gives."""
    found = Alignment.model_validate_json(scene("--format", "json").stdout)
    assert found.accepted
    assert found.usage.calls > 0
    assert MAGIC in found.attempts[1].definition


def test_a_dry_run_asks_nothing(scene):
    """Calls, tokens and what they rest on are told beforehand, as a text and as JSON."""
    out = scene("--dry-run").stdout
    before = scene.server.calls
    assert "tone: 44 labelled items of 44 questions; at most:" in out
    assert "no model was called" in out
    told = AlignmentForecast.model_validate(json.loads(scene("--dry-run", "--format", "json").stdout))
    assert scene.server.calls == before
    assert f"{told.calls} calls of openai:test to judge, {told.written} calls to write" in out
    assert not (scene.folder / "run" / "align").exists()


@pytest.mark.nightly
def test_a_cap_stops_in_order_and_the_same_command_goes_on(scene):
    """Exit code 3 with the reason, and then the same command comes to its end."""
    stopped = scene("--max-calls", "20", code=3)
    assert "stopped: the cap of 20 calls is reached" in stopped.stderr
    assert "the results so far are kept" in stopped.stderr
    assert "raise it to continue" in stopped.stderr
    assert "judgements from before" in scene().stdout


def test_faults_are_told_in_a_line(scene):
    """No judge, too few labels and ways that are none are told before anything is asked."""
    done = CliRunner().invoke(app, [str(scene.folder / "tone.yaml"), "--run", "nowhere"])
    assert isinstance(done.exception, JudgeError)
    assert isinstance(scene("--limit", "9", code=1).exception, DataError)
    assert isinstance(scene("--ways", "magic", code=1).exception, DataError)
