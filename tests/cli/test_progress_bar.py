"""The progress on the terminal: lines for people, events for programs, nothing where that is wanted."""

from __future__ import annotations

import json

import pytest
from tone_metrics import TONE, by_metric, cases

from greval import evaluate
from greval.cli.progress_bar import EVENT_SECONDS, ProgressBar, format_progress
from greval.records.result import Usage
from greval.runs.progress import Progress
from greval.testing import ScriptedJudge


def late_at_two(messages):
    return TimeoutError("late \u2028 \ud83d") if "Question 2?" in messages[-1].text else by_metric(messages)


def shown(bar, folder):
    """Run with a bar."""
    with bar:
        run = evaluate(
            cases(4), [TONE], ScriptedJudge(late_at_two), out=folder, on_progress=bar.show, on_result=bar.add_result
        )
        bar.print_line("a notice")
        bar.emit_finished(run)
    return run


def test_events_are_json_lines(tmp_path, capsys):
    """Each line on stdout is an object with its event: failures as they come, and the end with its figures."""
    run = shown(ProgressBar(json=True), tmp_path)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.isascii()
    events = [json.loads(text) for text in captured.out.splitlines()]
    failed = [event for event in events if event["event"] == "failed"]
    assert len(failed) == 2  # once more at the end of the run
    assert {event["sample_id"] for event in failed} == {"q2"}
    assert failed[0].items() >= {("metric", "tone"), ("kind", "timeout")}
    assert "raw" not in failed[0]
    assert events[-1]["event"] == "finished"
    assert events[-1]["run"] == str(run.folder)
    assert (events[-1]["done"], events[-1]["scored"], events[-1]["failed"], events[-1]["why"]) == (4, 3, 1, None)


def test_events_of_progress_are_spaced(capsys):
    """A progress event comes once a second at most, with all figures of the snapshot."""
    bar = ProgressBar(json=True)
    for n in range(50):
        bar.show(Progress(done=n, scored=n, seconds=n * EVENT_SECONDS / 10, usage=Usage(calls=n)))
    events = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["progress"] * 4
    assert [event["done"] for event in events] == [10, 20, 30, 40]
    assert Progress.model_validate({k: v for k, v in events[-1].items() if k != "event"}).usage.calls == 40


def test_quiet_prints_nothing(tmp_path, capsys):
    """A quiet run says nothing, whatever happens."""
    bar = ProgressBar(quiet=True)
    bar.show(Progress(done=1, seconds=100))
    shown(bar, tmp_path)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_lines_where_there_is_no_terminal(tmp_path, capsys):
    """Elsewhere lines are on stderr: stdout is the report's."""
    shown(ProgressBar(), tmp_path)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "a notice" in captured.err
    assert captured.err.splitlines()[-1].startswith("4/4 done, 1 failed")


def test_each_new_row_is_passed_on(tmp_path):
    """Who else wants the rows gets them."""
    rows = []
    shown(ProgressBar(quiet=True, also=rows.append), tmp_path)
    assert sorted(row.sample_id for row in rows) == ["q0", "q1", "q2", "q2", "q3"]


@pytest.mark.parametrize(
    ("snapshot", "text"),
    [
        (Progress(seconds=3), "0 done, 0 failed, 0 tokens, 3 s"),
        (Progress(total=0), "0/0 done, 0 failed, 0 tokens, 0 s"),
        (
            Progress(total=9, done=9, kept=4, scored=9, seconds=75),
            "9/9 done (4 from before), 0 failed, 0 tokens, 1 min 15 s",
        ),
        (
            Progress(done=2, seconds=4, in_flight=3, usage=Usage(calls=8, input_tokens=1500, hits=2), cost=0.5),
            "2 done, 0 failed, 3 in flight, 2.0 calls/s, 1,500 tokens, 2 reused, $0.5000, 4 s",
        ),
        (
            Progress(total=8, done=6, kept=4, seconds=60),
            "6/8 done (4 from before), 0 failed, 0 tokens, 1 min 0 s, about 1 min 0 s left",
        ),
    ],
)
def test_a_line(snapshot, text):
    """A snapshot in one line: only what there is to tell."""
    assert format_progress(snapshot) == text


def test_a_run_that_is_over_has_no_time_left():
    """The last line tells no time that is left, also where rows could not be read or the run was stopped."""
    snapshot = Progress(total=10, done=4, scored=4, seconds=8.0)
    assert format_progress(snapshot).endswith("about 12 s left")
    assert "left" not in format_progress(snapshot, finished=True)


def test_progress_is_a_line_every_few_seconds_where_there_is_no_terminal(capsys):
    """A log file gets a line every five seconds and one at the end, not one for each result."""
    with ProgressBar() as bar:
        for seconds in range(12):
            bar.show(Progress(total=20, done=seconds + 1, seconds=float(seconds)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["6/20 done", "11/20 done", "12/20 done"]


def test_the_last_line_of_progress_is_printed_once(capsys):
    """If the last line was printed already it is not printed again."""
    with ProgressBar() as bar:
        bar.show(Progress(total=2, done=1, seconds=6.0))
        bar.show(Progress(total=2, done=2, seconds=12.0))
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == ["1/2 done", "2/2 done"]
