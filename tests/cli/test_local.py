"""`greval local`: the embedded models."""

from __future__ import annotations

import pytest

from greval.judging.local.models import MODELS

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_local_list(greval_says):
    """Every embedded model is listed with its size and licence, and where it lies if it is here."""
    code, out, _ = greval_says("local", "list")
    assert code == 0
    assert [name for name, model in MODELS.items() if name not in out or model.licence not in out] == []
