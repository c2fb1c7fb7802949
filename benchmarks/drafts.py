"""How usable drafted metrics are: drafts by a model, their lint, and pairs of planted cases judged with them.

    taskset -c 1 nice -n 10 python benchmarks/drafts.py --set dev --only tone
    taskset -c 1 nice -n 10 python benchmarks/drafts.py

`benchmarks/drafts.yaml` has the metrics and, for each, pairs of a good and a bad case. A draft is *clean* if
`greval metrics check` has no remark on it, and *separates* if the good case gets the higher number in at least four
fifths of its pairs, rounded up; a tie, a skipped and a failed judgement count as not higher. A draft is *usable* if it
is clean and separates. It is *called good* if `greval metrics draft` has no remark on it, also none on pairs that the
model makes up itself. Drafts and verdicts are kept under --out: the same command goes
on where it was stopped, and asks nothing again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from greval import Case, Judge, compile_metric, parse_metric, write_metric
from greval.judging.drafting.brief import DraftBrief, DraftWriter, find_draft_remarks
from greval.judging.drafting.planted import SUBJECTS, find_pair_faults
from greval.judging.metric_draft import draft_async
from greval.judging.model.call_context import NO_RUN
from greval.judging.model.client import JudgeClient
from greval.metrics.lint import lint_metric
from greval.records.metric import JudgedMetric
from greval.stats.interval import wilson_interval

DATA = Path(__file__).with_suffix(".yaml")
SHARE_OF_PAIRS = 0.8
LEVEL = 0.95


def main() -> None:
    """Draft each metric, judge its pairs, and print the table."""
    args = arguments()
    out = args.out / args.set
    out.mkdir(parents=True, exist_ok=True)
    made = circumstances(out)
    wanted = yaml.safe_load(DATA.read_text("utf-8"))[args.set]
    entries = [entry for entry in wanted if not args.only or entry["name"] in args.only]
    # All drafts first, so that they can be read while their pairs are judged.
    for entry in entries:
        drafted(entry, out / entry["name"], judge_of(args))
    rows = [measured(entry, out / entry["name"], args) for entry in entries]
    usable = sum(row["usable"] for row in rows)
    interval = wilson_interval(usable / len(rows), len(rows), level=LEVEL)
    print(f"`python benchmarks/drafts.py --set {args.set}`, judge `{Judge(args.judge).label}`, {made}.\n")
    print(
        "| metric | scale | over | clean | higher | mean good | mean bad | usable | planted | called good | calls "
        "| tokens in, out | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| `{row['name']}` | {row['scale']} | {row['over']} | {'yes' if row['clean'] else 'no'} "
            f"| {row['higher']} of {row['pairs']} | {row['good']} | {row['bad']} | {'yes' if row['usable'] else 'no'} "
            f"| {row['planted']} | {'yes' if row['called good'] else 'no'} | {row['calls']} "
            f"| {row['tokens']} | {row['seconds']:.0f} |"
        )
    print(
        f"\n{usable} of {len(rows)} drafts are usable "
        f"({LEVEL:.0%} interval {interval.low:.2f} to {interval.high:.2f}, Wilson). "
        f"{sum(row['called good'] for row in rows)} are called good, "
        f"{sum(row['called good'] and row['usable'] for row in rows)} of these are usable."
    )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("fresh", "unseen", "seen", "dev"), default="unseen")
    parser.add_argument("--only", nargs="*", help="these metrics only")
    parser.add_argument("--judge", default="local", help="drafts and judges")
    parser.add_argument("--base-url")
    parser.add_argument(
        "--reason", choices=("before", "after"), default="after", help="where the judge's reason stands"
    )
    parser.add_argument(
        "--no-planted", action="store_true", help="call no draft good, and judge the pairs of the file only"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/drafts"))
    return parser.parse_args()


def judge_of(args: argparse.Namespace) -> Judge:
    """Build the judge that drafts and judges."""
    return Judge(args.judge, base_url=args.base_url, reason=args.reason, timeout=600)


def circumstances(out: Path) -> str:
    """Say where and when the first call was made; a later command tells the same."""
    note = out / "made.txt"
    if not note.exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        today = f"{datetime.now(UTC):%-d %B %Y}"
        note.write_text(
            f"1 of {len(names)} CPU cores ({names[0]}), Python {platform.python_version()}, {today}", "utf-8"
        )
    return note.read_text(encoding="utf-8")


def measured(entry: dict[str, Any], folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Draft one metric, judge its pairs, and return its row of the table."""
    judge = judge_of(args)
    row = {
        "name": entry["name"],
        "scale": entry["scale"],
        "over": entry.get("over") or "-",
        "pairs": len(entry["pairs"]),
    }
    metric, cost = drafted(entry, folder, judge)
    tried = None if args.no_planted else planted(entry, metric, folder / "planted.json", judge)
    remarks = [] if metric is None else find_draft_remarks(brief_of(entry), metric)
    numbers = [] if metric is None else [*judged(metric, entry["pairs"], folder / "verdicts.jsonl", judge)]
    higher = sum(good is not None and bad is not None and good > bad for good, bad in numbers)
    clean = metric is not None and not lint_metric(metric)
    sys.stderr.write(f"{entry['name']}: {numbers} {remarks}\n")
    return {
        **row,
        "clean": clean,
        "higher": higher,
        "good": mean([good for good, _ in numbers]),
        "bad": mean([bad for _, bad in numbers]),
        "usable": clean and higher >= math.ceil(SHARE_OF_PAIRS * len(entry["pairs"])),
        "planted": "-" if tried is None else f"{len(SUBJECTS) - len(tried)} of {len(SUBJECTS)}",
        "called good": tried == [] and not remarks,
        **cost,
    }


def drafted(entry: dict[str, Any], folder: Path, judge: Judge) -> tuple[JudgedMetric | None, dict[str, Any]]:
    """Draft a metric, or read the draft of an earlier command; None if the model gave none."""
    folder.mkdir(exist_ok=True)
    kept, file = folder / "cost.json", folder / f"{entry['name']}.yaml"
    if not kept.exists():
        begun = time.perf_counter()
        cost: dict[str, Any] = {"calls": "-", "tokens": "-"}
        try:
            draft = asyncio.run(draft_async(brief_of(entry), JudgeClient(judge), check=False))
        except Exception as error:  # noqa: BLE001 - whatever stops a draft is a draft that is not usable
            (folder / "error.txt").write_text(str(error), "utf-8")
        else:
            file.write_text(write_metric(draft.metric), "utf-8")
            usage = draft.usage
            cost = {"calls": usage.calls, "tokens": f"{usage.input_tokens or 0:,}, {usage.output_tokens or 0:,}"}
        kept.write_text(json.dumps({**cost, "seconds": time.perf_counter() - begun}), "utf-8")
    metric = parse_metric(file.read_text("utf-8")) if file.exists() else None
    assert metric is None or isinstance(metric, JudgedMetric)
    return metric, json.loads(kept.read_text("utf-8"))


def brief_of(entry: dict[str, Any]) -> DraftBrief:
    """Read what is to be drafted."""
    return DraftBrief.parse(entry["name"], entry["description"], scale_of(entry["scale"]), entry.get("over"))


def planted(entry: dict[str, Any], metric: JudgedMetric | None, file: Path, judge: Judge) -> list[str] | None:
    """Return the faults of a draft on the pairs that the model makes up, or read those of an earlier command."""
    if metric is None:
        return None
    if not file.exists():
        faults = asyncio.run(find_pair_faults(brief_of(entry), metric, DraftWriter(JudgeClient(judge)), NO_RUN))
        file.write_text(json.dumps(faults), "utf-8")
    return json.loads(file.read_text("utf-8"))


def scale_of(scale: str) -> Any:  # noqa: ANN401 - what `draft` accepts
    """Read a scale as the command line does."""
    if scale in {"value", "categorical"}:
        return scale
    low, dots, high = scale.partition("..")
    return (int(low), int(high)) if dots else [name.strip() for name in scale.split(",")]


def judged(metric: JudgedMetric, pairs: list[dict[str, Any]], file: Path, judge: Judge):  # noqa: ANN201 - a generator
    """Yield the numbers of the good and the bad case of each pair, None for a judgement without one."""
    known = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    numbers = {(one["pair"], one["side"]): one["number"] for one in known}
    runnable = compile_metric(metric, judge)
    with file.open("a", encoding="utf-8") as log:
        for place, pair in enumerate(pairs):
            shared = {name: text for name, text in pair.items() if name not in {"good", "bad"}}
            for side in ("good", "bad"):
                if (place, side) not in numbers:
                    result = runnable.invoke(Case.model_validate({**shared, **pair[side]}))
                    verdict = result.judgements[0] if result.judgements else None
                    numbers[place, side] = verdict.number if verdict else None
                    entry = {"pair": place, "side": side, "number": numbers[place, side]}
                    log.write(json.dumps({**entry, "result": result.model_dump(mode="json")}) + "\n")
                    log.flush()
            yield numbers[place, "good"], numbers[place, "bad"]


def mean(numbers: list[float | None]) -> str:
    """Format the mean of the numbers, a dash if there are none."""
    known = [number for number in numbers if number is not None]
    return f"{sum(known) / len(known):.2f}" if known else "-"


if __name__ == "__main__":
    main()
