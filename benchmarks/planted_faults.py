"""Plant faults in a pipeline over a synthetic graph, and print what the diagnosis says of each.

python benchmarks/planted_faults.py [--each 50] [--seeds 1]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from greval.analysis.diagnosis.api import diagnose

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from planted import STAGES, planted

SEED = 20261


def main() -> None:
    """Print the confusion table, the share of right attributions, and how often it said unknown."""
    given = arguments()
    start = time.process_time()
    counts = Counter(
        (fault.cause, diagnose(fault.case, verdict=fault.right, inventory=fault.inventory).cause)
        for seed in range(SEED, SEED + given.seeds)
        for fault in planted(given.each, seed)
    )
    said = [*STAGES.values(), *sorted({said for _, said in counts} - {*STAGES.values()})]
    print(f"{'planted / said':<18}" + "".join(f"{name:>18}" for name in said))
    for cause in STAGES.values():
        print(f"{cause:<18}" + "".join(f"{counts[cause, name]:>18}" for name in said))
    right = sum(count for (cause, said), count in counts.items() if cause == said)
    unknown = sum(count for (_, said), count in counts.items() if said == "unknown")
    total = counts.total()
    print(
        f"right {right} of {total} ({right / total:.3f}), unknown {unknown}, {time.process_time() - start:.1f} s of CPU"
    )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=50, help="how often each cause is planted")
    parser.add_argument("--seeds", type=int, default=1, help="how many worlds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
