"""What attacks by one client of the server cost another one: latency, memory, and the time to end.

    python benchmarks/server_attacks.py ["Parquet bombs" ...] [--checkout FOLDER]

Each attack has a server of its own with two keys. One attacks; the other asks for `/health` and judges a case by a
computed metric five times a second each, and uploads a row every 1.5 s. The exit code is 1 if one of these has a p99
over 1 s or an answer after 2 s, the server's process took more than 300 MB, or it ended later than 10 s after SIGTERM.
`--checkout` attacks the server of another checkout, such as an older one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import serving
from attacked_server import AttackFigures, measure_attack, measure_idle
from attacks import ATTACKS
from steady_client import REQUESTS, SeenAnswers

MAX_P99, MAX_LONGEST, MAX_MEMORY, MAX_END = 1.0, 2.0, 300.0, 10.0
HEADS = ("attack", *REQUESTS, "wrong", "idle", "server", "children", "SIGTERM", "orphans", "load")


def format_figures(name: str, found: AttackFigures, idle: dict[str, SeenAnswers]) -> str:
    """Return a row of the table: of each request p99 and the longest, in seconds."""
    cells = (
        name,
        *(f"{found.attacked[kind].p99:.2f}, {found.attacked[kind].longest:.2f}" for kind in REQUESTS),
        str(sum(len(seen.wrong) for seen in found.attacked.values())),
        " ".join(f"{idle[kind].p99:.2f}" for kind in REQUESTS),
        f"{found.memory:.0f} MB",
        f"{found.children:.0f} MB",
        f"{found.end:.1f} s",
        str(len(found.orphans)),
        f"{psutil.getloadavg()[0]:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def is_within_limits(found: AttackFigures) -> bool:
    """Return whether the other key and the machine were spared."""
    fast = all(seen.p99 < MAX_P99 and seen.longest < MAX_LONGEST and not seen.wrong for seen in found.attacked.values())
    return fast and found.memory < MAX_MEMORY and found.end < MAX_END and not found.orphans


def main() -> None:
    """Measure the attacks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ATTACK", help=f"one of: {', '.join(ATTACKS)}")
    parser.add_argument("--checkout", type=Path, metavar="FOLDER", help="whose server is attacked; by default this one")
    given = parser.parse_args()
    if given.checkout:
        serving.SERVER = given.checkout.resolve() / "server.py"
        os.environ["PYTHONPATH"] = str(given.checkout.resolve())
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
