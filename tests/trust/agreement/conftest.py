"""The run that most tests of an agreement compare with labels."""

from __future__ import annotations

import pytest
from agreed_runs import TEXTS, YES, write


@pytest.fixture
def run(tmp_path):
    """Write a run of twenty answers; the judge says Yes to the first twelve."""
    return write(tmp_path / "run", "right", YES, texts=TEXTS, tags=[{"kind": "ab"[n % 2]} for n in range(20)])
