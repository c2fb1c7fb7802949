"""An evaluation as its published design writes it, on one novel: `methods: [tog, local, basic]`, from text to results.

    python benchmarks/novel_evaluation.py FOLDER --questions 20 --judge local

The folder gets the novel in `NOVEL/input/`, the questions with their gold triples, and the config. `greval eval` then
indexes the novel by rules, asks the questions by the three methods, judges the answers with the model that also wrote
them, and compares the methods. The same command again continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[2] / "shared" / "data" / "graphragbench_novels_3"
CONFIG = """\
dataset:
  path: "eval/qa_eval.json"

indexes:
  {novel}: "{novel}"

methods:
  - tog
  - local
  - basic

output:
  dir: "eval/results"
  save_intermediate: true

judge:
  model: {judge}
  temperature: 0.0
"""


def main() -> int:
    """Write the folder and run the command; its exit code is the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--novel", default="Novel-25646")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--judge", default="local")
    args, more = parser.parse_known_args()
    write_folder(args.folder, args.novel, args.questions, args.judge)
    start = "from greval.cli import main; main()"
    command = [sys.executable, "-c", start, "eval", "--root", str(args.folder), "--config", "eval_config.yaml", *more]
    return subprocess.run(command, check=False).returncode


def write_folder(folder: Path, novel: str, questions: int, judge: str) -> None:
    """Write the novel, the first questions that have gold triples, and the config."""
    texts = folder / novel / "input"
    texts.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DATA / "corpus" / f"{novel}.txt", texts / f"{novel}.txt")
    rows = [json.loads(line) for line in (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    chosen = [row for row in rows if row["source"] == novel and row["evidence_triples"]][:questions]
    (folder / "eval").mkdir(exist_ok=True)
    asked = [build_question(row) for row in chosen]
    (folder / "eval" / "qa_eval.json").write_text(json.dumps(asked, ensure_ascii=False, indent=1), encoding="utf-8")
    (folder / "eval_config.yaml").write_text(CONFIG.format(novel=novel, judge=judge), encoding="utf-8")


def build_question(row: dict[str, object]) -> dict[str, object]:
    """Build a row of the dataset, with the triples of the evidence as the expected walk."""
    edges = row["evidence_triples"]
    assert isinstance(edges, list)
    nodes = dict.fromkeys(node for source, _, target in edges for node in (source, target))
    return {
        "id": row["id"],
        "imdb_key": row["source"],
        "question": row["question"],
        "answer": row["expected_answer"],
        "question_type": row["question_type"],
        "gold": {"expected_edges": edges, "expected_nodes": [*nodes]},
    }


if __name__ == "__main__":
    sys.exit(main())
