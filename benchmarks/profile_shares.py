"""Where the CPU time of a run, or of reading ranking files, goes: shares by module of greval and by other package.

    python benchmarks/profile_shares.py                        # all three
    python benchmarks/profile_shares.py overhead -n 2000       # judged cases, a local server that answers at once
    python benchmarks/profile_shares.py computed               # cases with a computed metric
    python benchmarks/profile_shares.py files                  # nDCG@10, recall@20 and MRR from TREC files

The work is that of `runner.py` and `ranking_files.py`. It is profiled with cProfile, which makes calls of Python
functions dearer than they are. The time of a function that is not written in Python counts for its caller.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import ranking_files
import runner
from client_overhead import serving

from greval import evaluate_async
from greval.metrics.computed import COMPUTED_METRICS

PACKAGE = Path(__file__).parents[1] / "greval"
LEAST_SHARE = 0.01
Function = tuple[str, int, str]


def main() -> None:
    """Profile each named work, and print its shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *WORK], help="all if none is named")
    parser.add_argument(
        "-n", type=int, default=5000, help="judgements or questions; ten times as many computed results"
    )
    options = parser.parse_args()
    for name in options.names or WORK:
        profile = cProfile.Profile()
        WORK[name](profile, options.n)
        print_shares(name, profile)


def profile_judgements(profile: cProfile.Profile, n: int) -> None:
    """Profile a run with a model that answers at once."""
    with serving() as url:
        asyncio.run(runner.run(url, 200, runner.CONCURRENCY))
        profile.runcall(asyncio.run, runner.run(url, n, runner.CONCURRENCY))


def profile_computed(profile: cProfile.Profile, n: int) -> None:
    """Profile a run with a computed metric."""
    with tempfile.TemporaryDirectory() as folder:
        metrics = [COMPUTED_METRICS["latency"]]
        run = evaluate_async(runner.cases(10 * n), metrics, out=folder, concurrency=runner.CONCURRENCY)
        profile.runcall(asyncio.run, run)


def profile_files(profile: cProfile.Profile, n: int) -> None:
    """Profile the measures of rankings from TREC files."""
    measure = ranking_files.prepare_greval()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranking_files.write_files(folder, n, " ")
        profile.runcall(measure, folder / "qrels.trec", folder / "run.trec")


WORK: dict[str, Callable[[cProfile.Profile, int], None]] = {
    "overhead": profile_judgements,
    "computed": profile_computed,
    "files": profile_files,
}


def print_shares(name: str, profile: cProfile.Profile) -> None:
    """Print the share of each owner of code, the largest first."""
    shares = compute_shares(profile)
    print(f"{name}: shares of the CPU time")
    for owner, share in shares.most_common():
        if share >= LEAST_SHARE:
            print(f"  {share:6.1%}  {owner}")
    print(f"  {sum(share for share in shares.values() if share < LEAST_SHARE):6.1%}  others, each less than 1 %")


def compute_shares(profile: cProfile.Profile) -> Counter[str]:
    """Compute the share of the time of each module of greval and of each other package."""
    rows = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    seconds: Counter[str] = Counter()
    for function, (_, _, own, _, callers) in rows.items():
        if function[0] == "~" and callers:
            for caller, (_, _, part, _) in callers.items():
                seconds[name_owner(caller)] += part
        else:
            seconds[name_owner(function)] += own
    return Counter({owner: spent / seconds.total() for owner, spent in seconds.items()})


def name_owner(function: Function) -> str:
    """Name the module of greval, the installed package or the module of Python that a function belongs to."""
    path = Path(function[0])
    if path.is_relative_to(PACKAGE):
        return ".".join(("greval", *path.relative_to(PACKAGE).with_suffix("").parts))
    for root in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")):
        if path.is_relative_to(root):
            return path.relative_to(root).parts[0].removesuffix(".py")
    return "benchmark" if path.is_relative_to(PACKAGE.parent) else "Python"


if __name__ == "__main__":
    main()
