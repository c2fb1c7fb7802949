"""What a judge catches of faults that are planted, on each metric that ships: kill rates as Markdown tables.

    python benchmarks/probe_library.py [--judge local] [--out runs/probe_library]

The shipped demo cases are changed so that the right verdict is known (docs/probe.md). All verdicts are kept
under --out: the command goes on where it was stopped, and a second one prints the same without asking.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from greval import Judge, load_metric
from greval.stats.interval import MeasuredValue, wilson_interval
from greval.trust.probing.api import probe
from greval.trust.probing.checks import PROBE_CHECKS
from greval.trust.probing.records import Probe

CASES = {
    "answer_alignment": 4,
    "answer_quality": 2,
    "correctness": 2,
    "completeness": 2,
    "faithfulness": 2,
    "relevance": 2,
    "chunk_evaluation": 1,
    "triple_evaluation": 1,
    "answer_completeness": 1,
}
"""Each metric that a model judges, with how many cases: several items of a case are a verdict each."""
REPEATS = 2
LONG = {"answer_completeness"}
"""Its answers list all elements of question and sources: it is not judged again for the noise."""


def main() -> None:
    """Probe every metric and print the tables."""
    args = arguments()
    judge = Judge(args.judge, base_url=args.base_url, timeout=600, reason=args.reason)
    made = circumstances(args.out)
    limits = {name: max(1, int(cases * args.times)) for name, cases in CASES.items()}
    found = [probed(name, limit, judge, args) for name, limit in limits.items()]
    if args.json:
        print(json.dumps([one.model_dump(mode="json") for one in found], indent=2))
        return
    print(f"`python benchmarks/probe_library.py`, judge `{found[0].judge}`, {made}.\n")
    print(of_metrics(found))
    print(of_checks(found))
    print(noise(found))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("--reason", choices=("before", "after"), help="the place of the reason, by default the judge's")
    parser.add_argument("--out", type=Path, default=Path("runs/probe_library"))
    parser.add_argument(
        "--times",
        type=float,
        default=1.0,
        help="so many times the cases: 2 doubles them and asks only for the new ones",
    )
    parser.add_argument("--retry-failed", action="store_true", help="ask again for what failed in an earlier run")
    parser.add_argument("--json", action="store_true", help="the probes as data")
    return parser.parse_args()


def circumstances(out: Path) -> str:
    """Say where and when the first verdicts were asked for; a later command tells the same."""
    note = out / "made.txt"
    if not note.exists():
        out.mkdir(parents=True, exist_ok=True)
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        today = f"{datetime.now(UTC):%-d %B %Y}"
        note.write_text(f"{len(names)} CPU cores ({names[0]}), Python {platform.python_version()}, {today}", "utf-8")
    return note.read_text(encoding="utf-8")


def probed(name: str, limit: int, judge: Judge, args: argparse.Namespace) -> Probe:
    """Probe one metric with all checks that its needs do not rule out, and say how far it is."""
    metric = load_metric(name)
    found = probe(
        metric,
        judge,
        checks=PROBE_CHECKS,
        limit=limit,
        repeats=1 if name in LONG else REPEATS,
        retry_failed=args.retry_failed,
        out=args.out / name,
    )
    asked = f"{found.usage.calls} calls, failures {found.failures or 'none'}"
    sys.stderr.write(f"{name}: {asked}{f', stopped: {found.why}' if found.why else ''}\n")
    return found


def of_metrics(found: list[Probe]) -> str:
    """Lay out the caught of all mutants, a row for each metric."""
    checks = [name for name in PROBE_CHECKS if name != "repeats"]
    rows = [f"| metric | cases | {' | '.join(checks)} | failed |", "|---|" + "---|" * (len(checks) + 2)]
    for one in found:
        by_name = {check.name: check for check in one.checks}
        cells = (cell(by_name.get(name)) for name in checks)
        lost = ", ".join(f"{count} {kind}" for kind, count in one.failures.items()) or "0"
        rows.append(f"| `{one.metric}` | {one.cases} | {' | '.join(cells)} | {lost} |")
    return "\n".join(rows) + "\n"


def cell(check) -> str:  # noqa: ANN001 - a check or None
    """Give what was caught of how many; a dash where the check says nothing of the metric."""
    if check is None:
        return "-"
    return f"{check.killed} of {check.mutants}" if check.mutants else "none usable"


def of_checks(found: list[Probe]) -> str:
    """Lay out the kill rate of each check over all metrics, with its interval."""
    killed, mutants, unused, failed = Counter(), Counter(), Counter(), Counter()
    for check in (check for one in found for check in one.checks):
        killed[check.name] += check.killed
        mutants[check.name] += check.mutants
        unused[check.name] += sum(check.unused.values())
        failed[check.name] += check.failed
    rows = ["| check | mutants | kill rate [95 %] | failed | not used |", "|---|---|---|---|---|"]
    for name in PROBE_CHECKS:
        if name in mutants:
            n = mutants[name]
            ends = wilson_interval(killed[name] / n, n) if n else None
            rate = f"{killed[name] / n:.2f} [{ends.low:.2f}, {ends.high:.2f}]" if ends else "-"
            rows.append(f"| `{name}` | {n} | {rate} | {failed[name]} | {unused[name]} |")
    return "\n".join(rows) + "\n"


def noise(found: list[Probe]) -> str:
    """Say how many verdicts changed where the same was asked again."""
    things = sum(one.noise.things for one in found if one.noise)
    moved = sum(
        round(one.noise.unsteady.value * one.noise.unsteady.n)
        for one in found
        if one.noise and isinstance(one.noise.unsteady, MeasuredValue)
    )
    return f"Asked twice, {moved} of {things} verdicts changed."


if __name__ == "__main__":
    main()
