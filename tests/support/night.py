"""Parameters of which `make test` tries some, and `make test-nightly` all."""

from __future__ import annotations

from typing import Any

import pytest


def at_night(*values: Any) -> list[Any]:
    """Return the values as parameters that are tried at night only."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]
