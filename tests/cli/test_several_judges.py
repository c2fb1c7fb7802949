"""Several judges on the command line: a judge in a metric file, and one that is named for a single metric."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import TONE, case, judged_by, write
from fault_server import FaultServer, gives

from greval.errors import JudgeError
from greval.runs.config.judge_config import parse_judge_names

POLITE = {"reason": "It is courteous.", "value": "Polite"}
RIGHT = {"reason": "It is the same.", "value": 1}


@pytest.fixture
def other_server():
    """Start a second server, which judges the tone."""
    with FaultServer(gives(POLITE)) as server:
        yield server


@pytest.fixture
def tone(empty_folder, other_server):
    """Write a metric that names a judge at the other server, and two cases."""
    choice = f"judge: {{model: 'openai:large', base_url: '{other_server.url}'}}\n"
    Path("tone.yaml").write_text(TONE + choice, encoding="utf-8")
    write("cases.jsonl", [case(1), case(2)])


def models(server):
    return {body["model"] for body in server.bodies}


@pytest.mark.usefixtures("tone")
def test_each_metric_is_judged_at_its_own_server(greval_says, fault_server, other_server):
    """The file names one judge and the command the other; a second run asks nothing, and the report names both."""
    fault_server.plan = gives(RIGHT)
    words = ["evaluate", "cases.jsonl", "-m", "tone.yaml,correctness", "-o", "run", *judged_by(fault_server)]
    code, out, err = greval_says(*words)
    assert code == 0, err
    assert (models(fault_server), fault_server.calls) == ({"m"}, 2)
    assert (models(other_server), other_server.calls) == ({"large"}, 2)
    assert "judges openai:large (tone), openai:m (correctness)" in " ".join(out.split())
    assert greval_says(*words)[0] == 0
    assert (fault_server.calls, other_server.calls) == (2, 2)


@pytest.mark.usefixtures("tone")
def test_the_command_line_goes_before_the_file(greval_says, fault_server, other_server):
    """`--judge METRIC=MODEL` is the judge of this metric alone, at the server of the command line."""
    fault_server.plan = lambda body: gives(POLITE if "tone" in body["messages"][0]["content"] else RIGHT)
    words = ["evaluate", "cases.jsonl", "-m", "tone.yaml,correctness", *judged_by(fault_server)]
    code, _, err = greval_says(*words, "--judge", "tone=openai:third", "-o", "run")
    assert code == 0, err
    assert (models(fault_server), other_server.calls) == ({"m", "third"}, 0)


@pytest.mark.usefixtures("tone")
def test_a_metric_that_names_its_judge_needs_no_other(greval_says, other_server):
    """Without --judge, only a metric that names none is refused, with its name."""
    assert greval_says("evaluate", "cases.jsonl", "-m", "tone.yaml", "-o", "run")[0] == 0
    assert other_server.calls == 2
    code, _, err = greval_says("evaluate", "cases.jsonl", "-m", "tone.yaml,correctness", "-o", "other")
    assert code == 2
    assert err.startswith("correctness: No judge is named.")
    assert not Path("other").exists()


@pytest.mark.usefixtures("tone")
def test_other_commands_use_the_judge_of_the_file(greval_says, fault_server, other_server):
    """`probe` asks it, and a batch, which has one judge, refuses a second one."""
    code, out, err = greval_says("probe", "tone.yaml", "--cases", "cases.jsonl", "--checks", "empty", "--repeats", "1")
    assert code in {0, 3}, err
    assert "judge openai:large" in " ".join(out.split())
    assert other_server.calls > 0
    code, _, err = greval_says(
        *("batch", "submit", "cases.jsonl", "-m", "tone.yaml,correctness", "-o", "run", *judged_by(fault_server))
    )
    assert code == 2
    assert "a batch has one judge, and these metrics have judges openai:large (tone), openai:m (correctness)" in err


def test_a_model_may_have_an_equals_sign():
    """Only a text without a colon before the sign is the name of a metric."""
    assert parse_judge_names(["openai:a=b", "tone=local"]) == {"": "openai:a=b", "tone": "local"}
    with pytest.raises(JudgeError):
        parse_judge_names(["local", "openai:a"])
