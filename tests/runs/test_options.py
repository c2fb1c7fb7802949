"""Options of a run: the number of calls at a time."""

from __future__ import annotations

import pytest

from greval import Judge
from greval.runs.options import (
    DEFAULT_CONCURRENCY,
    LOCAL_CONCURRENCY,
    get_concurrency,
)
from greval.testing import ScriptedJudge


@pytest.mark.parametrize(
    ("judge", "given", "width"),
    [
        (Judge("openai:m"), None, DEFAULT_CONCURRENCY),
        (Judge("local"), None, LOCAL_CONCURRENCY),
        (Judge("local"), 5, 5),
        (ScriptedJudge([{}]), None, DEFAULT_CONCURRENCY),
        (None, None, DEFAULT_CONCURRENCY),
        (None, 1, 1),
    ],
)
def test_the_embedded_judge_is_asked_less_at_a_time(judge, given, width):
    """The option wins; without it the embedded model has the smaller number."""
    assert get_concurrency(judge, {"concurrency": given}) == width
