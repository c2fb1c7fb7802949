"""Traces of judgements go to LangSmith by its own variables, as docs/tracing.md says."""

import os
import re
import subprocess
import sys

import pytest
from collector import serve_collector
from fault_server import KEY, FaultServer

CASE = '{"id": "q1", "question": "Who?", "expected_answer": "Ada", "answer": "Ada Lovelace"}\n'
RUN = ["-c", "from greval.cli import main; main()", "evaluate", "cases.jsonl", "-m", "correctness", "-q", "-o", "run"]


@pytest.mark.nightly
def test_langsmith_gets_a_trace_of_each_judgement(tmp_path):
    """With LANGSMITH_TRACING the judgement and the call below it arrive in the project, with the texts of the case."""
    (tmp_path / "cases.jsonl").write_text(CASE, encoding="utf-8")
    command = [sys.executable, *RUN, "--judge", "openai:gpt-4.1-mini"]
    with FaultServer() as model, serve_collector() as langsmith:
        variables = {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "any", "LANGSMITH_PROJECT": "harbour"}
        variables |= {"LANGSMITH_ENDPOINT": langsmith.url, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY}
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    sent = b"".join(request.content for request in langsmith.received).decode()
    assert {"correctness", "ChatOpenAI"} <= {*re.findall(r'"name":"([^"]*)"', sent)}
    assert '"session_name":"harbour"' in sent
    assert "Ada Lovelace" in sent
    assert KEY not in sent
