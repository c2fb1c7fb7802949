"""What attacks by one client of the server cost another one: latency, memory, and the time to end.

    python benchmarks/server_attacks.py ["Parquet bombs" ...]

Each attack has a server of its own with two keys. One attacks; the other judges a case by a computed metric about eight
times a second. The exit code is 1 if the other key's p99 is over 1 s, the server's process took more than 400 MB, or it
ended later than 30 s after SIGTERM.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from attacked_server import AttackFigures, measure_attack, measure_idle
from attacks import ATTACKS
from steady_client import SeenAnswers

MAX_P99, MAX_MEMORY, MAX_END = 1.0, 400.0, 30.0
HEADS = ("attack", "p99", "max", "requests", "wrong", "idle p99", "server", "children", "SIGTERM", "orphans", "load")


def format_figures(name: str, found: AttackFigures, idle: SeenAnswers) -> str:
    """Return a row of the table."""
    cells = (
        name,
        f"{found.attacked.p99:.3f} s",
        f"{found.attacked.longest:.3f} s",
        str(len(found.attacked.seconds)),
        str(len(found.attacked.wrong)),
        f"{idle.p99:.3f} s",
        f"{found.memory:.0f} MB",
        f"{found.children:.0f} MB",
        f"{found.end:.1f} s",
        str(len(found.orphans)),
        f"{psutil.getloadavg()[0]:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def is_within_limits(found: AttackFigures) -> bool:
    """Return whether the other key and the machine were spared."""
    fast = found.attacked.p99 < MAX_P99 and not found.attacked.wrong
    return fast and found.memory < MAX_MEMORY and found.end < MAX_END and not found.orphans


def main() -> None:
    """Measure the attacks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ATTACK", help=f"one of: {', '.join(ATTACKS)}")
    given = parser.parse_args()
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    fine = True
    for name in given.names or ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            idle = measure_idle(Path(folder) / "idle")
            found = measure_attack(ATTACKS[name], Path(folder))
        print(format_figures(name, found, idle), flush=True)
        print(f"{name}: {found}", file=sys.stderr)
        fine = fine and is_within_limits(found)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
