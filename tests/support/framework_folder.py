"""A small evaluation on disk: a dataset, a folder for each group, methods, and a config."""

from __future__ import annotations

import json
import textwrap

from greval.datasets.case_records import read_records
from greval.datasets.file_identity import UNKNOWN_SOURCE
from greval.runs.config.api import evaluate_config
from greval.runs.config.plan import RunPlan
from greval.runs.config.run_input import CaseInput
from greval.testing import ScriptedJudge

METHODS = '''
"""Methods that say what they were asked, and note each call in a file beside them."""

import pathlib

from greval import Response

CALLS = pathlib.Path(__file__).with_name("calls.txt")


def note(name, sample):
    with CALLS.open("a") as stream:
        stream.write(f"{name} {sample.id}\\n")


def walk(sample):
    note("walk", sample)
    if "break" in sample.question:
        raise ValueError("the walk broke")
    usage = {"latency": 2.0, "llm_calls": 4, "prompt_tokens": 100, "output_tokens": 10}
    chunks = [{"id": "c1", "text": "One.", "doc_id": "d1"}, {"id": "c2", "text": "Two.", "doc_id": "d2"}]
    return {"answer": f"walk: {sample.question}", "chunks": chunks, "aggregates": ["all: 9"], "usage": usage}


def bare(sample):
    note("bare", sample)
    return Response(answer=f"bare in {sample.tags['index']}")


def make(folder):
    async def search(sample):
        note("made", sample)
        return Response(answer=f"made of {folder}", chunks=["It is so."])

    return search
'''
ROWS = [
    {"imdb_key": "tt1", "question": "Who did it?", "answer": "Ada", "year": 1843},
    {"imdb_key": "tt1", "question": "Who will break?", "answer": "Nobody", "year": 1900},
    {"imdb_key": "tt2", "question": "When?", "answer": "At nine", "year": 1843},
]
CONFIG = """
dataset: {path: eval/qa.json}
indexes: {tt1: one, tt2: two}
methods:
  tog: "methods.py:walk"
  bare: "methods.py:bare"
output: {dir: eval/results}
"""


def make_folder(folder, config=CONFIG, rows=ROWS):
    """Make the folder of an evaluation, and give it."""
    for name in ("eval", "one", "two"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "eval" / "qa.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "methods.py").write_text(METHODS, encoding="utf-8")
    (folder / "eval_config.yaml").write_text(textwrap.dedent(config), encoding="utf-8")
    return folder


def make_plan(config, folder, rows, **parts):
    """Make the plan of a run of rows, as far as its settings go."""
    nothing = {"data": CaseInput(read_records([]), iter(())), "origin": UNKNOWN_SOURCE, "metrics": (), "asked": ()}
    return RunPlan(config=config, folder=folder, rows=rows, **nothing, **parts)


def judge_as_right(messages):
    """Judge everything as right."""
    return {"reason": "It fits.", "value": 1}


def run_published(folder, judge=None, hooks=None, **changes):
    """Run the evaluation of a folder, with keys in place of those of its config; return it with its two files."""
    judge = judge or ScriptedJudge(judge_as_right)
    done = evaluate_config("eval_config.yaml", changes, root=folder, judge=judge, **(hooks or {}))
    return done, read(done.detailed), read(done.summary)


def calls(folder):
    """Give the calls of methods so far, sorted."""
    file = folder / "calls.txt"
    return sorted(file.read_text().splitlines()) if file.exists() else []


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))
