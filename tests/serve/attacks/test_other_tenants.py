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
MEMORY = 400
END = 30.0


@pytest.mark.nightly
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_stops_nobody_else(name, tmp_path):
    """Another key has its right answers in time; the server stays below 400 MB, and ends in time without orphans."""
    figures = measure_attack(ATTACKS[name], tmp_path)
    print(f"{name}: {figures}")  # noqa: T201 - the figures, for those who look with -s
    assert not figures.attacked.wrong
    p99 = figures.attacked.p99
    assert p99 < SLOWEST or p99 < BUSY * measure_idle(tmp_path / "idle").p99
    assert figures.memory < MEMORY
    assert figures.code in {0, -signal.SIGTERM}
    assert not figures.orphans
    assert figures.end < END
