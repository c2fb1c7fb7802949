"""What one client does to a real server: another one goes on, memory stays small, and SIGTERM ends it in time."""

from __future__ import annotations

import signal

import pytest
from attacked_server import measure_attack, measure_idle
from attacks import ATTACKS

SLOWEST = 1.0
"""The seconds within which 99 of 100 requests of another key are answered."""
BUSY = 20
"""On a busy machine as many times the same figure without an attack are allowed."""
MEMORY = 300
END = 10.0


@pytest.mark.nightly
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_stops_nobody_else(name, tmp_path):
    """Another key has its right answers in time; the server stays below 300 MB, and ends in time without orphans."""
    figures = measure_attack(ATTACKS[name], tmp_path)
    print(f"{name}: {figures}")  # noqa: T201 - the figures, for those who look with -s
    assert not [fault for seen in figures.attacked.values() for fault in seen.wrong]
    slow = [kind for kind, seen in figures.attacked.items() if seen.p99 >= SLOWEST]
    idle = measure_idle(tmp_path / "idle") if slow else {}
    assert not [kind for kind in slow if figures.attacked[kind].p99 >= BUSY * idle[kind].p99]
    assert figures.memory < MEMORY
    assert figures.code in {0, -signal.SIGTERM}
    assert not figures.orphans
    assert figures.end < END
