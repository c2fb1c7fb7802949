"""What runs of a server with two workers survive: its processes are killed with -9 at random moments.

    python benchmarks/server_kills.py --kills 30

It prints the figures and ends with 1 if a run is lost, a finished judgement was asked again, or a process is left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from server_kills import kill_at_random


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--cases", type=int, default=400, help="of each run")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_at_random(Path(folder), kills=given.kills, runs=given.runs, count=given.cases, seed=given.seed)
    killed = ", ".join(f"{count} {what}" for what, count in sorted(found.killed.items()))
    print(f"kill -9: {killed}; {time.monotonic() - began:.0f} s")
    print(
        f"{found.cases:,} judgements of {given.runs} runs, {found.calls:,} calls of the judge, {found.told:,} in usage"
    )
    print(
        f"finished judgements asked again: {found.repeated}; runs lost: {len(found.lost)}; processes left: {found.left}"
    )
    return int(bool(found.repeated or found.lost or found.left))


if __name__ == "__main__":
    sys.exit(main())
