"""Commands that are refused: the sentences are in `tests/golden/command-refusals.txt`."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from command_line import TONE, case, write
from fault_server import KEY
from golden_files import GOLDEN, same
from tone_metrics import TONE as TONE_METRIC
from tone_metrics import by_metric

from greval import evaluate, load_metric
from greval._util.wording import escape_control_characters
from greval.metrics.computed import COMPUTED_METRICS
from greval.testing import ScriptedJudge

SHOWN = 160
"""The characters of a line that the golden file shows: lists of all metrics would change it with each new one."""
PLACEHOLDERS = {"JUDGE": "--judge openai:m", "KEY": KEY, "ESCAPE": "\x1b"}
COMMANDS = Path(__file__).with_name("refused_commands.txt").read_text(encoding="utf-8").format_map(PLACEHOLDERS)
"""Commands as a shell reads them, one a line. None of them asks a judge."""


@pytest.fixture
def files(empty_folder):
    """Write the files and runs that the commands name."""
    cases = [case(n, method=method, answer=method) for n in range(3) for method in ("walk", "local")]
    write("cases.jsonl", cases)
    Path("none").mkdir()
    Path("own").mkdir()
    texts = {
        "cases.txt": "no annotation\n",
        "empty.jsonl": "",
        "broken.jsonl": "not JSON\n",
        "faulty.yaml": TONE.replace("answer]", "answr]"),
        "syntax.yaml": "data: [\n",
        "unknown.yaml": "data: a\nmetric: [x]\n",
        "no_data.yaml": "metrics: latency\n",
        "no_metric.yaml": "data: cases.jsonl\n",
        "references.yaml": "data: cases.jsonl\ngold: none.jsonl\nmetrics: exact_mach\nfail_if: latency ~ 3\n",
        "judge.yaml": "data: cases.jsonl\nmetrics: correctness\njudge: nosuch\n",
        "secret.yaml": f"data: cases.jsonl\nmetrics: correctness\njudge: {{model: openai:m, base_url: 'http://u:{KEY}@h'}}\n",
        "tone.yaml": TONE,
        "own/tone.yaml": TONE,
        "own/mood.yaml": TONE.replace("tone", "mood", 1),
        "verdicts.csv": "id,question,verdict,why\nq1,Who?,yes,Right.\nq2,When?,no,Wrong year.\n",
        "labels.csv": "id,label\nq0,Polite\nq1,Rude\n",
        "test.qrels": "q1 0 d1 1\n",
        "bm25.run": "q1 Q0 d1 1 2.5 x\n",
        "rag.py": "def ask(sample):\n    return 'Yes.'\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    for folder in ("run", "other"):
        evaluate(cases, [TONE_METRIC, COMPUTED_METRICS["exact_match"]], ScriptedJudge(by_metric), out=folder)
    evaluate(cases, [load_metric("token_f1")], out="computed")


@pytest.mark.usefixtures("files")
def test_refused_commands(greval_says):
    """Each command ends with 2, prints nothing to stdout, and shows neither a traceback nor a key."""
    parts, accepted = [], []
    for line in COMMANDS.splitlines():
        code, out, err = greval_says(*shlex.split(line))
        accepted += [line] if (code, out) != (2, "") or KEY in err else []
        # Of an error of usage, the usage is left out.
        sentences = err[max(err.find("Error: "), 0) :].splitlines()
        command = escape_control_characters(line.replace(KEY, "KEY"))
        parts.append("\n".join([command, *(f"  {text[:SHOWN]}".rstrip() for text in sentences), ""]))
    assert accepted == []
    same(GOLDEN / "command-refusals.txt", "\n".join(parts))
