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
JUDGE = "--judge openai:m"
COMMANDS = f"""\
evalute
help evaluat
evaluate case.jsonl -m latency
evaluate empty.jsonl -m latency
evaluate cases.txt -m latency
evaluate
evaluate -c syntax.yaml
evaluate -c unknown.yaml
evaluate -c no_data.yaml
evaluate -c no_metric.yaml
evaluate -c references.yaml
evaluate -c judge.yaml
evaluate -c secret.yaml
evaluate cases.jsonl
evaluate cases.jsonl -m corectness
evaluate cases.jsonl -m faulty.yaml {JUDGE}
evaluate cases.jsonl -m latency --limits 2
evaluate cases.jsonl -m latency --limit 0
evaluate cases.jsonl -m correctness
evaluate cases.jsonl -m correctness --judge openai:
evaluate cases.jsonl -m correctness --judge nosuch
evaluate cases.jsonl -m correctness {JUDGE} --base-url here
evaluate cases.jsonl -m correctness {JUDGE} --base-url http://u:{KEY}@h/v1
evaluate cases.jsonl -m correctness {JUDGE} --max-tokens 0
evaluate cases.jsonl -m correctness {JUDGE} --temperature 9 --requests-per-minute=-1
evaluate cases.jsonl -m correctness {JUDGE} --reason soon
evaluate cases.jsonl -m correctness {JUDGE} --judge-option streaming
evaluate cases.jsonl -m correctness {JUDGE} --judge-option =1
evaluate cases.jsonl -m correctness {JUDGE} --judge-option 'extra_body={{top_k: 1}}'
evaluate cases.jsonl -m correctness {JUDGE} --judge-option top_p=1 --judge-option top_p=0
evaluate cases.jsonl -m correctness {JUDGE} --judge-option temperature=1
evaluate cases.jsonl -m correctness {JUDGE} --judge-option 'headers={{"Authorization": "x"}}'
evaluate cases.jsonl -m tone.yaml --judge tune=openai:x
evaluate cases.jsonl -m tone.yaml --judge openai:a --judge openai:b
evaluate cases.jsonl -m tone.yaml --judge tone=openai:a --judge tone=openai:b
evaluate cases.jsonl -m tone.yaml --judge tone=nonsense
evaluate cases.jsonl -m exact_match -o run --by kinds
evaluate cases.jsonl -m exact_match --where kind
evaluate cases.jsonl -m exact_match --fail-if 'exat_match < 0.5'
evaluate cases.jsonl -m exact_match --fail-if exact_match
evaluate cases.jsonl -m exact_match --fail-if 'exact_match < baseline'
report nowhere
report \x1b[31mred
report run --format xml
report run --show -1
report run --by kinds
report run --by method --by kinds
report run -m exact_macth
report run --probe cases.jsonl
report run --html page.html --probe cases.jsonl
report run --html nowhere/page
report run --md nowhere/page
report run --fail-if 'exact_match@evn < 1'
results nowhere
results run -m exat_match
results run --tag kind
results run --worst 0
results run --status good
results run --format parquet
results run --format table -o rows.txt
results run -o nowhere/out
results run --format csv -o nowhere/out
results run --format parquet -o nowhere/out
results run --label-sheet s.csv --worst 2
results run --label-sheet s.csv --texts
results run --label-sheet s.csv
results run --label-sheet s.csv -m tone -m exact_match
results run --label-sheet s.docx -m tone
calls run -m tune
calls run --format text -o calls.txt
replay computed
merge other nowhere
compare run --fail-if 'latency > fast'
compare run --baseline nobody
compare run --by nothing
compare run run --against run
duel run
duel run -m correctness {JUDGE}
duel cases.jsonl -m directness -o duel
duel cases.jsonl -m directness {JUDGE} -o duel --methods walk,nobody
duel nosuch -m directness {JUDGE}
rank none.qrels bm25.run
rank empty.jsonl bm25.run
rank test.qrels gone.run
rank test.qrels bm25.run -m ndgc@10
rank test.qrels bm25.run -m P_10
rank test.qrels bm25.run --trec-eval -m ndcg@10
rank test.qrels bm25.run --baseline bm52
rank test.qrels bm25.run --level 95
import verdicts.csv
import verdicts.csv --column value=why
import verdicts.csv --column value=judge
import verdicts.csv -m correctness --scale yes/no --name right
import verdicts.csv -m correctness --name x
import verdicts.csv --scale 0-3
import verdicts.csv --scale yes/no --name right --column value=judge
batch submit cases.jsonl -m answer_quality --judge local -o new
batch submit cases.jsonl -m answer_quality -o new
batch submit cases.jsonl -m answer_quality {JUDGE}
batch status none
batch collect none
metrics show tonne
metrics check none
metrics check faulty.yaml
metrics draft tone 'The tone.'
metrics draft tone 'The tone.' {JUDGE} --scale big
metrics draft tone 'The tone.' {JUDGE} --scale 5..1
metrics draft tone 'The tone.' {JUDGE} --scale Good,good
metrics draft tone 'The tone.' {JUDGE} -o tone.yml
metrics draft tone 'The tone.' {JUDGE} -o nowhere/tone.yaml
metrics draft tone 'The tone.' {JUDGE} -o tone.yaml
metrics draft Bad! 'The tone.' {JUDGE}
align correctness --run run
align correctness --run run {JUDGE} -o .
align tone.yaml --run run {JUDGE} --annotations broken.jsonl
align tone.yaml --run run {JUDGE} --annotations labels.csv --ways magic
align latency --run run
probe latency
probe own/ {JUDGE}
probe correctness {JUDGE} --checks lenght
probe correctness {JUDGE} --cases broken.jsonl -o probe
agreement run
agreement run -m ton
agreement cases.jsonl -m tone
agreement run labels.csv -m tone --label-column humn
agreement run -m tone --annotations broken.jsonl
estimate run -m tone
estimate run -m nothing --annotations labels.csv
estimate run -m tone --annotations labels.csv --baseline nobody
estimate run -m tone --annotations labels.csv --by nothing
estimate run -m tone --annotations broken.jsonl
panel run -m tone
panel run other -m ton
panel run other -m tone --combine vote
panel run nowhere -m tone
panel run other -m tone --annotations broken.jsonl
argilla push run -m tone --dataset d --url here
collect cases.jsonl --method rag:ask -o cases.jsonl
collect cases.jsonl --method rag:ask -o responses.jsonl --where kind
collect cases.jsonl --method rag:ask -o responses.jsonl --where kind=strange
collect cases.jsonl --method rag:aks -o responses.jsonl
collect cases.jsonl --method rag:ask -o responses.csv
collect cases.jsonl --method rag:ask -o responses.jsonl --facts labels.csv
diagnose run --by kinds
diagnose run --show 'answered rihgtly'
diagnose run --index none
diagnose run -m corectness
audit none.jsonl
data empty.jsonl
init -
init cases.jsonl -o tone.yaml
eval cases.csv
eval -m tone
eval --limit 0
judge prices nosuch
local fetch gpt-9
completion tcsh
"""
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
