"""What `greval align` does for the embedded judge on NQ301: kappa before and after on answers that it never saw.

    python benchmarks/align_nq301.py
    python benchmarks/align_nq301.py --noise 200
    python benchmarks/align_nq301.py -n 400 --check 400 --folds 5 --choosing 60 --ways examples rewrite --judge MODEL

The answers are those of `answers.py`, part heldout, half of them correct by people; whole questions go to
aligning or to the check. Then the labels of the answers to align on are dealt out at random: nothing can be learned
from these, and it must refuse. The same command goes on where it was stopped. The small defaults are for the embedded
model on a busy machine; with so few labels only a large gain can be seen.

`--noise` needs no model: a made-up judge is right in three of four answers by any definition, but in others by
each. So no change helps, and the share of times that one is accepted is that of false alarms.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from answers import case, sample
from langchain_core.messages import BaseMessage

from greval import Annotation, Case, Judge, Metric, evaluate, load_metric, parse_metric
from greval.stats.interval import Interval, wilson_interval
from greval.testing import ScriptedJudge
from greval.trust.agreement.value_pairs import convert_items
from greval.trust.alignment.api import align
from greval.trust.alignment.gain import VerdictPair, compute_gain
from greval.trust.alignment.records import Alignment

METRIC = "correctness"
WHOSE = {"people": "labels of people", "shuffled": "the same labels dealt out at random"}
WRONG = 0.25
"""The share of its verdicts in which the made-up judge is wrong."""
HOLDS = {"align": "answers to align on", "check": "answers of other questions to check on"}


def main() -> None:
    """Judge, align on one part, and check on the other."""
    args = arguments()
    if args.noise:
        told_noise(args)
        return
    parts = divided(sample("heldout", args.n + args.check), args.n)
    for name, rows in parts.items():
        right = sum(row["human"] == "correct" for row in rows)
        print(f"{len(rows)} {HOLDS[name]}, {len({row['question_id'] for row in rows})} questions, {right} right")
    judge = Judge(args.judge, base_url=args.base_url, timeout=300, reason=args.reason)
    run = evaluate([case(row) for row in parts["align"]], [load_metric(METRIC)], judge, out=args.out / "run")
    last: dict[str, Alignment] = {}
    for kind in args.labels:
        start = time.perf_counter()
        found = align(
            run,
            METRIC,
            judge,
            labels(parts["align"], shuffle=kind == "shuffled"),
            ways=args.ways,
            folds=args.folds,
            choosing=args.choosing,
            work=args.out / kind,
            on_told=lambda line, start=start: print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True),
        )
        told(found, WHOSE[kind])
        seconds = time.perf_counter() - start
        print(f"seconds {seconds:.0f}, calls {found.usage.calls}, kept from before {found.kept}\n", flush=True)
        last[kind] = found
    if "people" in last:
        checked(last["people"], parts["check"], judge, args)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("--reason", choices=("before", "after"), help="the place of the reason, by default the judge's")
    parser.add_argument("-n", type=int, default=48, help="labelled answers to align on")
    parser.add_argument("--check", type=int, default=48, help="answers to check on")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--choosing", type=int, default=12, help="answers that choose between the ways in each fold")
    parser.add_argument("--ways", choices=("examples", "rewrite"), nargs="+", default=["examples"])
    parser.add_argument("--labels", choices=WHOSE, nargs="+", default=[*WHOSE])
    parser.add_argument("--refused-too", action="store_true", help="check what came nearest where it was refused")
    parser.add_argument("--noise", type=int, metavar="TIMES", help="align so often where nothing can help")
    parser.add_argument("--out", type=Path, default=Path("runs/align_nq301"))
    return parser.parse_args()


def divided(rows: list[dict], n: int) -> dict[str, list[dict]]:
    """Give n rows to align on and the others to check on, whole questions at a time."""
    questions = sorted({row["question_id"] for row in rows})
    random.Random(5).shuffle(questions)
    parts: dict[str, list[dict]] = {"align": [], "check": []}
    for question in questions:
        of_it = [row for row in rows if row["question_id"] == question]
        parts["align" if len(parts["align"]) + len(of_it) <= n else "check"] += of_it
    return parts


def labels(rows: list[dict], *, shuffle: bool) -> list[Annotation]:
    """Give what people said of the answers, or the same values in another order."""
    values = [int(row["human"] == "correct") for row in rows]
    if shuffle:
        random.Random(11).shuffle(values)
    return [
        Annotation(sample_id=row["id"], metric=METRIC, annotator="people", value=value)
        for row, value in zip(rows, values, strict=True)
    ]


def told(found: Alignment, what: str) -> None:
    """Print what came of aligning."""
    gain = found.gain
    for one in found.attempts:
        fold = f"fold {one.fold}" if one.fold else "all labels"
        figures = one.dropped or f"kappa {one.before:.3f} -> {one.after:.3f} on {one.things} that choose"
        print(f"  {fold}, {one.way}: {figures}{', chosen' if one.chosen else ''}")
    print(f"{what}: {'ACCEPTED' if found.accepted else 'REFUSED'}: {found.why}")
    print(
        f"held-back folds: kappa {gain.before:.3f} before, {gain.after:.3f} after, "
        f"gain {gain.gain:.3f} {ends(gain.interval)}, p {gain.p:.3f}, "
        f"n {gain.things}, changed {gain.changed}, failed {found.failed}"
    )


def checked(found: Alignment, rows: list[dict], judge: Judge, args: argparse.Namespace) -> None:
    """Print kappa before and after on answers that aligning never saw; where nothing was written both are the same."""
    tried = [one for one in found.attempts if one.chosen and one.fold and args.refused_too]
    nearest = max(tried, key=lambda one: (one.after or 0.0) - (one.before or 0.0), default=None)
    text = found.written or (nearest and nearest.definition)
    metrics = [load_metric(METRIC), *([parse_metric(text)] if text else [])]
    sides = [verdicts(rows, metric, judge, args.out / f"check-{number}") for number, metric in enumerate(metrics)]
    pairs = [
        VerdictPair(
            int(row["question_id"]), str(int(row["human"] == "correct")), sides[0][row["id"]], sides[-1][row["id"]]
        )
        for row in rows
        if all(row["id"] in side for side in sides)
    ]
    scale, _ = convert_items(METRIC, load_metric(METRIC).scale, (), None)
    gain = compute_gain(pairs, scale, level=found.level)
    which = "the accepted definition" if found.accepted else "what came nearest and was refused"
    which = which if text else "the metric as it is, as nothing was written"
    print(
        f"on the other answers, {which}: kappa {gain.before:.3f} {ends(gain.before_interval)} before, "
        f"{gain.after:.3f} {ends(gain.after_interval)} after, "
        f"gain {gain.gain:.3f} {ends(gain.interval)}, n {gain.things}"
    )


def verdicts(rows: list[dict], metric: Metric, judge: Judge, out: Path) -> dict[str, str]:
    """Give the verdict on each answer that has one."""
    run = evaluate([case(row) for row in rows], [metric], judge, out=out)
    return {row.sample_id: str(row.judgements[0].value) for row in run.results() if row.judgements}


def ends(interval: Interval | None) -> str:
    """Show an interval."""
    return f"[{interval.low:.3f}, {interval.high:.3f}]" if interval else ""


def told_noise(args: argparse.Namespace) -> None:
    """Print how often something is accepted where nothing can help."""
    accepted, chosen = 0, 0
    for number in range(args.noise):
        found = noise(args, number)
        accepted += found.accepted
        chosen += any(one.chosen for one in found.attempts)
        if (number + 1) % 20 == 0 or number + 1 == args.noise:
            print(f"{number + 1} times: accepted {accepted}, a changed definition was chosen in {chosen}", flush=True)
    share = wilson_interval(accepted / args.noise, args.noise)
    print(f"false acceptance {accepted / args.noise:.3f} [{share.low:.3f}, {share.high:.3f}]")


def noise(args: argparse.Namespace, number: int) -> Alignment:
    """Align once with a judge that only changes its mind."""
    cases = [Case(id=f"q{n}", question=f"{n}?", expected_answer=f"{n}", answer=f"{n}") for n in range(args.n)]
    right = {f"{n}?": random.Random(f"{number}/{n}").random() < 0.5 for n in range(args.n)}
    judge = ScriptedJudge(lambda messages: drawn_verdict(number, messages, right))
    said = [
        Annotation(sample_id=one.id, metric=METRIC, annotator="people", value=int(right[one.question])) for one in cases
    ]
    with TemporaryDirectory() as folder:
        run = evaluate(cases, [load_metric(METRIC)], judge, out=folder)
        return align(run, METRIC, judge, said, ways=args.ways, folds=args.folds, choosing=args.choosing, seed=number)


def drawn_verdict(number: int, messages: Sequence[BaseMessage], right: dict[str, bool]) -> dict[str, object]:
    """Answer as a judge whose errors depend on the whole prompt, or as a writer who changes one word."""
    text = messages[-1].text
    if "You improve the wording" in messages[0].text:
        steps = [f"Weigh {random.Random(text).random()}."]
        return {"steps": steps, "scale": [{"value": str(n), "means": f"{n}."} for n in (0, 1)], "instructions": ""}
    if wanted := re.search(r"agreed on the value (\d)", text):
        return {"reason": "It is so.", "value": int(wanted[1])}
    question = text.split("<question>\n")[1].split("\n")[0]
    wrong = random.Random(repr((number, [message.text for message in messages]))).random() < WRONG
    return {"reason": "It is so.", "value": int(right[question] != wrong)}


if __name__ == "__main__":
    main()
