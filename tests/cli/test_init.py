"""`greval init`: the written file names what was recognised, runs as it is, and replaces nothing."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest
from command_line import case, write
from doc_pages import blocks
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

import greval
from greval.cli.init import quote_scalar
from greval.metrics.files.yaml_text import read_source
from greval.runs.config.file import read_config_file

pytestmark = pytest.mark.usefixtures("empty_folder")
CASES_OF_PAGES = 4
DEMO = Path(greval.__file__).parent / "demo" / "cases.jsonl"


def make_rows(**columns):
    return [{"question": f"Question {n}?", **columns} for n in (1, 2)]


def read_config(path="greval.yaml"):
    return read_config_file(Path(path)).config


def uncomment(text):
    """Return the text with every suggestion switched on: keys and items that are comments."""
    _, mark, rest = text.partition("\ndata: ")
    rest = re.sub(r"^# columns: .*\n", "", rest, flags=re.MULTILINE)
    rest = re.sub(r"^  # - ", "  - ", rest, flags=re.MULTILINE)
    return mark.strip() + " " + re.sub(r"^# ((?: +(?:-|\w+:) |[a-z_]+:).*)$", r"\1", rest, flags=re.MULTILINE)


def test_the_written_file_runs_as_it_is(greval_says, fault_server, monkeypatch):
    """`greval init DATA`, then `greval evaluate`: judged, with a report, and no option."""
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    with DEMO.open(encoding="utf-8") as shipped:
        Path("cases.jsonl").write_text("".join(islice(shipped, 3)), encoding="utf-8")
    code, out, _ = greval_says("init", "cases.jsonl")
    assert code == 0
    assert "greval.yaml: 3 cases, correctness, faithfulness, relevance, completeness" in out
    assert "judge openai:gpt-5.4-mini" in out
    code, out, err = greval_says("evaluate")
    assert (code, "greval.yaml sets data, metrics, judge, out" in err) == (0, True)
    assert re.search(r"correctness +local +2 +2 .*\n.*correctness +walk +1 +1 ", out)
    assert "run: runs/cases" in out


def test_the_page_shows_the_beginning_of_the_written_file(greval_says):
    """docs/config.md shows what is written for the cases that its commands have."""
    with DEMO.open(encoding="utf-8") as shipped:
        Path("cases.jsonl").write_text("".join(islice(shipped, CASES_OF_PAGES)), encoding="utf-8")
    assert greval_says("init", "cases.jsonl")[0] == 0
    block = blocks("docs/config.md", "yaml")[0]
    assert block.count("\n") > 20
    assert Path("greval.yaml").read_text(encoding="utf-8").startswith(block)


def test_recognised_columns_and_the_metrics_that_fit_are_named(greval_says):
    """Columns under other names, fields that some cases lack, tags and metrics are comments of the file."""
    rows = [
        {"user_input": "Who?", "response": "Ada", "reference": "Ada", "topic": "people"},
        {"user_input": "When?", "response": "1843", "topic": "dates"},
    ]
    write("export.jsonl", rows)
    assert greval_says("init", "export.jsonl")[0] == 0
    text = Path("greval.yaml").read_text(encoding="utf-8")
    assert re.search(r"#   expected_answer +1 of 2 +read from reference", text)
    assert "#   tags: topic\n" in text
    assert re.search(r"^  - correctness +# 1 of 2 cases: Whether the answer", text, re.MULTILINE)
    assert re.search(r"^  # - token_f1 ", text, re.MULTILINE)
    assert "faithfulness" not in text
    assert "# by: [topic]" in text


@pytest.mark.parametrize(
    ("columns", "metrics", "judged"),
    [
        ({"answer": "Ada", "expected_answer": "Ada"}, ["correctness", "completeness"], True),
        ({"answer": "Ada"}, ["completeness"], True),
        ({"usage": {"latency": 1.0}}, ["latency"], False),
        ({"expected_answer": "Ada", "answer": ""}, ["correctness", "completeness"], True),
        ({"chunks": ["Ada."]}, ["relevance"], True),
        ({"triples": [["Ada", "wrote", "it"]]}, ["relevance"], True),
    ],
)
def test_only_metrics_that_fit_are_chosen(greval_says, columns, metrics, judged):
    """The chosen metrics have all their input; a judge is named only if one of them asks it."""
    write("cases.jsonl", make_rows(**columns))
    assert greval_says("init", "cases.jsonl", "--judge", "openai:m")[0] == 0
    config = read_config()
    assert config.metrics == tuple(metrics)
    assert (config.judge and config.judge.model) == (("openai:m",) if judged else None)


@pytest.mark.parametrize("name", ["cases.jsonl", "odd: name #1.jsonl", "2024.jsonl", "Fälle 'ä\".jsonl", "true.jsonl"])
def test_every_suggestion_of_the_file_is_valid(greval_says, name):
    """With all comments switched on, the file is still valid, for any name of the data, and so says its schema."""
    write(name, [case(1, usage={"latency": 1.0}), case(2)])
    assert greval_says("init", name)[0] == 0
    everything = uncomment(Path("greval.yaml").read_text(encoding="utf-8"))
    Path("all.yaml").write_text(everything, encoding="utf-8")
    config = read_config("all.yaml")
    keys = {"metrics", "by", "fail_if", "limit", "max_calls", "max_cost", "deadline", "concurrency", "methods"}
    assert keys <= {*config.keys}
    assert config.data == name
    schema = json.loads(Path("greval.schema.json").read_text(encoding="utf-8"))
    Draft7Validator(schema).validate(read_source(everything).data)
    assert [*Draft7Validator(schema).iter_errors({"metric": "latency"})]


def test_the_suggested_gates_can_be_checked(greval_says):
    """The conditions that are comments are conditions of the chosen metric."""
    write("cases.jsonl", [case(1, usage={"latency": 1.0}), case(2, usage={"latency": 2.0})])
    assert greval_says("init", "cases.jsonl")[0] == 0
    Path("greval.yaml").write_text(
        re.sub(r"^# (fail_if:|  - .*)$", r"\1", Path("greval.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE),
        encoding="utf-8",
    )
    assert greval_says("evaluate", "-m", "correctness", "--dry-run")[0] == 0
    assert {*read_config().fail_if} == {"correctness < 0.8", "correctness.low < 0.8", "correctness.failed > 0"}


def test_named_columns_and_another_folder(greval_says):
    """--column becomes `columns`, the path of the data is relative to the file, and -o names the file."""
    Path("data").mkdir()
    write("data/cases.jsonl", [{"question": "Who?", "said": "Ada", "expected_answer": "Ada"}])
    code, out, _ = greval_says("init", "data/cases.jsonl", "-o", "ci/run.yaml", "--column", "answer=said")
    assert code == 0
    assert "greval evaluate -c ci/run.yaml" in out
    config = read_config("ci/run.yaml")
    assert Path(config.data).resolve() == Path("data/cases.jsonl").resolve()
    assert config.columns == {"answer": "said"}
    assert greval_says("evaluate", "-c", "ci/run.yaml", "-m", "exact_match")[0] == 0


def test_questions_alone_with_methods_to_ask(greval_says):
    """With --ask, the metrics fit the responses, and the written file asks the methods and compares them."""
    write("questions.jsonl", [{"question": f"Question {n}?", "expected_answer": "Yes."} for n in (1, 2)])
    Path("system_asked_by_init.py").write_text("def good(sample):\n    return 'Yes.'\n", encoding="utf-8")
    words = [
        "--ask",
        "old=system_asked_by_init.py:good",
        "--ask",
        "new=system_asked_by_init:good",
        "--judge",
        "openai:m",
    ]
    assert greval_says("init", "questions.jsonl", "-o", "ci/run.yaml", *words)[0] == 0
    assert read_config("ci/run.yaml").metrics == ("correctness", "completeness", "latency")
    code, out, _ = greval_says("evaluate", "-c", "ci/run.yaml", "-m", "exact_match")
    assert code == 0
    assert re.search(r"exact_match +new +2 +2 .*1\.00", out)
    assert "greval compare ci/runs/questions" in out


def test_a_file_is_not_replaced(greval_says):
    """A second `greval init` changes nothing."""
    write("cases.jsonl", [case(1)])
    Path("greval.yaml").write_text("mine", encoding="utf-8")
    assert greval_says("init", "cases.jsonl")[0] == 2
    assert Path("greval.yaml").read_text(encoding="utf-8") == "mine"
    assert not Path("greval.schema.json").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "Who?"}], "no metric fits, because the cases have only question; name the column of the answer"),
        ([{"frage": "Who?"}], "the only row is no case"),
    ],
)
def test_data_that_cannot_be_judged(greval_says, rows, message):
    """Where nothing could be judged, no file is written."""
    write("cases.jsonl", rows)
    code, _, err = greval_says("init", "cases.jsonl")
    assert code == 2
    assert message in err
    assert not Path("greval.yaml").exists()


@pytest.mark.parametrize(
    ("variables", "judge"),
    [
        ({"OPENAI_API_KEY": "k", "GREVAL_JUDGE": "openai:own"}, "openai:own"),
        ({"OPENAI_API_KEY": "k"}, "openai:gpt-5.4-mini"),
        ({}, "local"),
    ],
)
def test_the_judge_that_is_there_is_chosen(greval_says, monkeypatch, variables, judge):
    """The judge of the environment, else one that its key is for, else the embedded one."""
    monkeypatch.delenv("OPENAI_API_KEY")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    write("cases.jsonl", [case(1)])
    assert greval_says("init", "cases.jsonl")[0] == 0
    assert read_config().judge.model == (judge,)


@given(st.text(st.characters(exclude_categories=["Cs", "Co", "Cn"], max_codepoint=0xFFFF), min_size=1))
def test_a_text_is_read_back_as_it_was(text):
    """Whatever a file or a column is called, YAML reads its name as text."""
    assert read_source(f"data: {quote_scalar(text)}\nlist: [{quote_scalar(text)}]").data == {
        "data": text,
        "list": [text],
    }
