"""Files joined to cases, groups that no case has, rows that are no cases: told before anything is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from greval import evaluate, load_metric
from greval.cli.app import app
from greval.errors import DataWarning, name_options
from greval.runs.store import Store

DOCUMENTS = [{"query_id": "q1", "essential_docs": ["d1"], "helpful_docs": [], "essential_repos": ["core"]}]
PATHS = [{"query_id": "q1", "expected_edges": [["a", "b"], ["b", "c"]], "expected_nodes": ["a", "b", "c"]}]
LOGS = [{"query_id": "q1", "start_nodes": ["a"], "traversed_edges": [["a", "calls", "b"]], "final_nodes": ["b"]}]
CASES = [
    {"id": "q1", "question": "Who?", "answer": "Ada", "chunks": [{"text": "x", "doc_id": "d1"}], "tags": {"kind": "a"}}
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with the files of a retrieval evaluation."""
    monkeypatch.chdir(tmp_path)
    for name, rows in {"documents": DOCUMENTS, "paths": PATHS, "logs": LOGS, "cases": CASES}.items():
        Path(f"{name}.json").write_text(json.dumps(rows), "utf-8")


def says(*words, piped=None):
    """Run a command; give its exit code, what it printed, and the message of its error."""
    with name_options():
        done = CliRunner().invoke(app, [*map(str, words)], input=piped)
        message = str(done.exception) if done.exception and not isinstance(done.exception, SystemExit) else ""
    return done.exit_code, done.output, message


def figures(run="run"):
    """Give the values of a run by metric."""
    with Store.open(run) as store:
        return {
            result.metric: [j.value for j in result.judgements] or result.outcome.status for result in store.results()
        }


def test_the_three_files_of_a_retrieval_evaluation_are_joined_as_they_are():
    """Gold documents, gold paths and the log of the walks, each with its query_id, give the figures worked by hand."""
    metrics = ("-m", "edge_recall", "-m", "node_precision", "-m", "recall@5", "-m", "path_order")
    code, out, _ = says(
        "evaluate", "cases.json", *metrics, "--gold", "documents.json", "--gold", "paths.json",
        "--traversal", "logs.json", "-o", "run",
    )  # fmt: skip
    assert code == 0, out
    assert figures() == {"edge_recall": [0.5], "node_precision": [1.0], "recall@5": [1.0], "path_order": [0.5]}
    code, out, _ = says("evaluate", "logs.json", *metrics[:4], "--gold", "paths.json", "-o", "logs")
    assert code == 0, out
    assert figures("logs") == {"edge_recall": [0.5], "node_precision": [1.0]}


def test_a_log_is_joined_by_the_method_that_it_names():
    """Two methods of one question have each their own walk; a log without a method is everybody's."""
    Path("two.jsonl").write_text("".join(f'{{"id": "q1", "question": "?", "method": "{m}"}}\n' for m in "ab"))
    logs = [{**LOGS[0], "method": "a", "traversed_edges": [["x", "y"]]}, LOGS[0]]
    Path("logs.json").write_text(json.dumps(logs))
    says("evaluate", "two.jsonl", "-m", "edge_recall", "--gold", "paths.json", "--traversal", "logs.json", "-o", "run")
    with Store.open("run") as store:
        assert {result.method: result.judgements[0].value for result in store.results()} == {"a": 0.0, "b": 0.5}


@pytest.mark.parametrize("is_piped", [False, True])
def test_gold_that_fits_no_case_is_an_error_before_anything_is_judged(is_piped):
    """Gold of no case ends a run with an error, from a file and from standard input, and nothing is judged."""
    Path("other.json").write_text(json.dumps([{**DOCUMENTS[0], "query_id": "q9"}]))
    source, piped = ("-", json.dumps(CASES)) if is_piped else ("cases.json", None)
    code, _, message = says("evaluate", source, "-m", "recall@5", "--gold", "other.json", "-o", "run", piped=piped)
    assert code != 0
    assert "other.json: no case has the id of a row there" in message
    if Path("run").exists():
        with Store.open("run") as store:
            assert [*store.results()] == []


def test_bad_rows_are_reported_once_for_each_fault_on_stderr():
    """A missing column is one line with how many rows it is true of, beside the faults of single rows."""
    rows = [*CASES, *({"id": n, "answer": "x"} for n in range(20)), {**CASES[0], "id": "z", "answer": [3]}]
    Path("cases.json").write_text(json.dumps(rows))
    code, out, _ = says("evaluate", "cases.json", "-m", "recall@5", "-o", "run")
    assert code == 3
    question_names = "question, user_input, input, inputs, request, vars, question_text, query"
    missing = f"question: is missing; it may be called {question_names}, or named with --column question=NAME"
    lines = [line for line in out.splitlines() if line.startswith("not a case: ")]
    assert lines == [
        f"not a case: cases.json, row 2: {missing} (and so in 19 more rows, the last at cases.json, row 21)",
        "not a case: cases.json, row 22: answer: must be a text, got a list",
    ]


def test_a_program_is_warned_of_names_that_are_ignored():
    """A column that is neither a field nor a tag is named in a warning."""
    with pytest.warns(DataWarning, match="^cases: ignored level$"):
        evaluate([{**CASES[0], "level": [3]}], [load_metric("latency")], out="run")


def test_rows_without_ids_are_paired_by_their_question():
    """`compare` pairs methods whose rows have no ids, in whatever order they stand, and the notice says so."""
    questions = [f"Question {n}?" for n in range(8)]
    rows = [{"question": q, "method": "a", "usage": {"latency": n}} for n, q in enumerate(questions)]
    rows += [{"question": q, "method": "b", "usage": {"latency": n + 9}} for n, q in reversed([*enumerate(questions)])]
    Path("long.json").write_text(json.dumps(rows))
    code, out, _ = says("evaluate", "long.json", "-m", "latency", "-o", "run")
    assert code == 0
    assert "8 rows without an id matched by the question" in out
    code, out, _ = says("compare", "run", "--baseline", "a", "--format", "json")
    (latency,) = [contrast for contrast in json.loads(out)["contrasts"] if contrast["metric"] == "latency"]
    assert (latency["n"], latency["difference"]) == (8, 9.0)


def test_columns_are_named_on_the_command_line():
    """Each command that reads cases takes `--column`, and tells in one line on stderr what was read as what."""
    Path("cases.csv").write_text("Frage;Referenz;Antwort;Thema\nWer?;Ada;Ada;Leute\n", "utf-8")
    columns = ("--column", "question=Frage", "--column", "expected_answer=Referenz", "--column", "answer=Antwort")
    told = "cases.csv: read Frage as question, Referenz as expected_answer, Antwort as answer; tags are Thema."
    done = CliRunner().invoke(
        app, ["evaluate", "cases.csv", *columns, "-m", "exact_match", "-o", "run", "--by", "Thema"]
    )
    assert done.exit_code == 0, done.output
    assert told in done.stderr.splitlines()
    assert figures() == {"exact_match": [1.0]}
    for words in (
        ["evaluate", "cases.csv", *columns, "-m", "exact_match", "-o", "again", "--dry-run"],
        ["audit", "cases.csv", *columns],
        ["collect", "cases.csv", *columns, "--method", "answering:ask", "-o", "out.jsonl"],
    ):
        Path("answering.py").write_text("def ask(question):\n    return 'Ada'\n", "utf-8")
        assert told in CliRunner().invoke(app, words).stderr.splitlines(), words


def test_wrong_columns_are_usage_errors():
    """A slip in `--column` ends the command before anything is judged."""
    words = ["evaluate", "cases.json", "-m", "exact_match", "-o", "run", "--column", "anwser=a"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code != 0
    assert "did you mean answer?" in " ".join((result.stderr + str(result.exception)).replace("\u2502", " ").split())
    assert not Path("run").exists()
