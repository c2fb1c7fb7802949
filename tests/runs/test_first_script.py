"""The first script that somebody writes: names in place of objects, no folder, and results that print themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import PAGES
from fault_server import gives

from greval import Run, compare, evaluate
from greval.errors import DataError
from greval.testing import ScriptedJudge

PAGE = PAGES["docs/sdk.md"]
FIRST = re.compile(r"^```python\n(.*?)^```$.*?^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CASE = {"question": "Who?", "expected_answer": "Ada", "answer": "Ada"}


def judge_by_date(body):
    """Judge the two answers of the page as a good judge does."""
    is_wrong = "In 1834." in str(body["messages"])
    reason = "It gives 1834; 1843 is right." if is_wrong else "It names Ada Lovelace."
    return gives({"reason": reason, "value": 0 if is_wrong else 1})


def test_the_first_script_of_the_page_prints_what_it_shows(fault_server, tmp_path, monkeypatch, capsys):
    """Ten lines without an object of greval judge two rows into a folder, and print the table and the worst cases."""
    script, shown = FIRST.search(PAGE.read_text(encoding="utf-8")).groups()
    assert len([line for line in script.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("COLUMNS", "80")
    fault_server.plan = judge_by_date
    names: dict[str, object] = {}
    exec(compile(script, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown.splitlines()
    run = names["run"]
    assert isinstance(run, Run)
    assert run.folder == Path("runs/cases")
    assert [*run.frame(texts=True)["answer"]] == ["Ada Lovelace wrote it.", "In 1834."]


def test_names_files_and_definitions_of_metrics_are_mixed(tmp_path):
    """What the command line takes after -m is taken here, too, with the metrics that it builds on."""
    own = tmp_path / "length.py"
    own.write_text("def length(answer):\n    return len(answer)\n", encoding="utf-8")
    judge = ScriptedJudge(
        [{"judgements": [{"item": 1, "reason": "r", "value": "Relevant", "recommendations": "none"}]}]
    )
    case = {**CASE, "chunks": ["Ada."]}
    run = evaluate([case], [f"{own}:length", "ndcg@5-judged"], judge, out=tmp_path / "run")
    values = {result.metric: result.outcome.status for result in run.results()}
    assert values.pop("length") == "scored"
    assert {"chunk_evaluation", "ndcg@5-judged"} <= {*values}


def test_errors_of_python_name_arguments(tmp_path):
    """A comparison that cannot be made says which argument would help, not which option of a command."""
    run = evaluate([CASE], ["exact_match"], out=tmp_path)
    with pytest.raises(DataError, match=r"columns={'method': 'NAME'}.*\(against\)") as refused:
        compare(run)
    assert "--" not in str(refused.value)
