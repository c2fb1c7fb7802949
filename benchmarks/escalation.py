"""What escalation gives on NQ301: the share that the second judge gets, agreement with people, and cost.

    python benchmarks/escalation.py
    python benchmarks/escalation.py --judge local
    python benchmarks/escalation.py --agree 0.85 --labels 150

200 answers, each to another question. The second judge is GPT-4, whose verdicts were recorded (Kamalloo et al., ACL
2023); a server of this process replays them, and a call costs what one of the same length to gpt-5.4 costs. The first
judge is BEM, a small trained model, whose verdicts and probabilities were recorded too, or with `--judge local` the
embedded model. The labels are those of people, on all answers or, with `--labels`, on some drawn at random: the
agreement on the others is then that of new answers. Tokens are counted as 4 letters each. The same command goes on
where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
from pathlib import Path

from answers import DATA, case

from greval import Annotation, Judge, evaluate
from greval.judging.model.prices import Price, Prices
from greval.trust import read_escalation

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from fault_server import Behaviour, Body, FaultServer, says
from recorded_judge import JudgedText

METRIC = "correctness"
BEM, SECOND = "bem", "gpt-5.4"
LETTERS_PER_TOKEN = 4


def main() -> None:
    """Evaluate with both judges, and print what each did."""
    args = read_arguments()
    rows = draw_answers(args.n)
    labelled = random.Random(3).sample(rows, args.labels or len(rows))
    by_text = {(row["question"], row["answer"]): row for row in rows}
    os.environ.setdefault("OPENAI_API_KEY", "none")
    table = Prices.load()
    free = {f"openai:{BEM}": Price(input=0, output=0)}
    with FaultServer(lambda body: replay_verdict(body, by_text)) as server:
        judge = Judge(f"openai:{BEM}", base_url=server.url) if args.judge == BEM else Judge(args.judge, timeout=300)
        run = evaluate(
            [case(row) for row in rows],
            [METRIC],
            judge,
            out=args.out / args.judge.replace(":", "-"),
            escalate=Judge(f"openai:{SECOND}", base_url=server.url),
            agree=args.agree,
            labels=[label(row) for row in labelled],
            prices=table.model_copy(update={"models": {**table.models, **free}}),
            total=len(rows),
            on_progress=lambda progress: print(f"\r{progress.done}/{progress.total}", end="", flush=True),
        )
    print(f"\n{run}")
    escalation = read_escalation(run)
    escalated = {row.sample_id for row in run.results() if row.judge == f"openai:{SECOND}"}
    others = {row["id"] for row in rows} - {row["id"] for row in labelled}
    values = {row.sample_id: row.value for row in run.results() if row.judgements}
    right = {row["id"]: int(row["human"] == "correct") for row in rows}
    for name, part in (("decided by the first judge", others - escalated), ("escalated", others & escalated)):
        agreeing = sum(values.get(sample) == right[sample] for sample in part)
        print(f"without a label, {name}: {agreeing} of {len(part)} agree with people")
    if escalation:
        print(escalation.model_dump_json())


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default=BEM, help="the first judge: bem, local or another one")
    parser.add_argument("-n", type=int, default=200, help="answers, each to another question")
    parser.add_argument("--labels", type=int, default=0, help="answers with a label, all by default")
    parser.add_argument("--agree", type=float, default=0.9)
    parser.add_argument("--out", type=Path, default=Path("runs/escalation"))
    return parser.parse_args()


def draw_answers(n: int) -> list[dict]:
    """Draw one answer to each of n questions that all recorded judges judged."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    draw = random.Random(20261127)
    draw.shuffle(rows)
    by_question = {row["question_id"]: row for row in rows if row["judge_gpt4"] != "unparsed"}
    return draw.sample([by_question[question] for question in sorted(by_question)], n)


def label(row: dict) -> Annotation:
    """Return what people said of an answer."""
    return Annotation(sample_id=row["id"], metric=METRIC, annotator="people", value=int(row["human"] == "correct"))


def replay_verdict(body: Body, by_text: dict[tuple[str, str], dict]) -> Behaviour:
    """Answer with the recorded verdict of a judge on the answer of a request, and its probability."""
    judged = JudgedText(body)
    row = by_text[judged.read("question") or "", judged.read("answer") or ""]
    name = "bem" if body["model"] == BEM else "gpt4"
    score = row["judge_bem_max_prob"]
    share = max(score, 1 - score) if name == "bem" else 1.0
    parts = ('{"reason": "It is recorded.", "value": ', str(int(row[f"judge_{name}"] == "correct")), "}")
    tokens = [
        {"token": part, "logprob": math.log(part_share)}
        for part, part_share in zip(parts, (1.0, share, 1.0), strict=True)
    ]
    written_text = row.get(f"judge_{name}_raw") or ""
    letters = [sum(len(str(message["content"])) for message in body["messages"]), len(written_text)]
    read, written = (count // LETTERS_PER_TOKEN + 1 for count in letters)
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return says("".join(parts), tokens=tokens, usage=usage)


if __name__ == "__main__":
    main()
