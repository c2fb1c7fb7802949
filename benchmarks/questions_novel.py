"""Draw questions from a novel, and print how many pass the checks, how many hold their answer, and ten of them.

    python benchmarks/questions_novel.py                       # without a model, 200 questions
    python benchmarks/questions_novel.py --model local -n 40   # the embedded model words and checks them

A narrative text is the hardest kind for the templates: most sentences of a novel say "he". The folder keeps the index
and the replies of the model, so that the same command repeats no call.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from langchain_core.language_models import BaseChatModel

from greval import Judge
from greval.cli.options import create_console
from greval.reference import Document, IndexSettings, QuestionReport, build_index, generate_questions
from greval.reference.questions.facts import has_phrase
from greval.reference.questions.records import DraftQuestion
from greval.reference.questions.report import render

DATA = Path(__file__).parents[2] / "shared" / "data" / "graphragbench_novels_3"
NOT_FROM_GOLD = ("not_answered_from_gold", "several_answers")
SHOWN = 10


def main() -> int:
    """Index the novel, draw the questions, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--novel", default="Novel-47558")
    parser.add_argument("--model", help="openai:MODEL, local or PROVIDER:MODEL; templates word the questions without")
    parser.add_argument("--reason", choices=("before", "after"), help="the place of the reason, by default the judge's")
    parser.add_argument("-n", "--count", type=int, help="the number of questions; 40 with a model, else 200")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "questions_novel")
    args = parser.parse_args()
    file = DATA / "corpus" / f"{args.novel}.txt"
    if not file.is_file():
        print(f"skipped: expected the novel at {file}, found none; put the corpus of GraphRAG-Bench there")
        return 0
    machine = f"{os.cpu_count()} CPU cores ({platform.machine()}), Python {platform.python_version()}"
    print(f"{machine}, {datetime.now(UTC):%d %B %Y}; {args.novel}, seed {args.seed}")
    model = Judge(args.model, reason=args.reason) if args.model else None
    count = args.count or (40 if model else 200)
    measure_questions(file, args.out / args.novel, model, count=count, seed=args.seed)
    return 0


def measure_questions(file: Path, folder: Path, model: Judge | BaseChatModel | None, *, count: int, seed: int) -> None:
    """Draw questions from a text, and print the figures and ten of the questions."""
    text = file.read_text(encoding="utf-8")
    began = time.monotonic()
    build_index([Document(id=file.stem, text=text)], folder / "index", IndexSettings(embedding="tfidf"))
    print(f"indexed in {time.monotonic() - began:.0f} s")
    path = folder / ("worded.jsonl" if model else "templates.jsonl")
    report = generate_questions(folder / "index", path, count, seed=seed, model=model)
    render(report, create_console())
    lines = Path(report.drafts).read_text(encoding="utf-8").splitlines()
    print_figures(report, [DraftQuestion.model_validate_json(line) for line in lines], text, seed)


def print_figures(report: QuestionReport, drafts: Sequence[DraftQuestion], text: str, seed: int) -> None:
    """Print the shares that pass, and ten of the accepted questions."""
    accepted = [one for one in drafts if one.rejected is None and one.failure is None]
    print(f"pass all checks: {format_share(len(accepted), len(drafts))}")
    named = [one for one in accepted if not one.fixed_answer]
    held = sum(any(has_phrase(text, name) for name in (one.answer, *one.answers)) for one in named)
    print(
        f"gold holds the answer by text: {format_share(held, len(named))} accepted ones whose answer is a name or date"
    )
    judged = [one for one in drafts if one.judge_answers is not None and one.type != "unanswerable"]
    agreed = sum(one.rejected not in NOT_FROM_GOLD for one in judged)
    print(f"gold gives the answer by judge: {format_share(agreed, len(judged))} judged ones, accepted or not")
    print(f"{report.seconds:.1f} s, {report.usage.calls} calls")
    for one in Random(seed).sample(accepted, min(SHOWN, len(accepted))):
        print(f"- {one.type}: {one.question} -> {one.answer}")


def format_share(part: int, whole: int) -> str:
    """Format a share with its counts."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


if __name__ == "__main__":
    sys.exit(main())
