"""The run of which the tests of estimates know the truth."""

from __future__ import annotations

import pytest
from labelled_world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("estimates"))
