"""Options of a run, and what follows from them."""

from __future__ import annotations

import pytest

from greval import Case, Judge, read_cases
from greval.datasets.file_identity import UNKNOWN_SOURCE, CaseSource
from greval.judging import Prices
from greval.runs.options import (
    DEFAULT_CONCURRENCY,
    LOCAL_CONCURRENCY,
    count_judgements,
    get_concurrency,
    get_prices,
    get_source,
)
from greval.testing import ScriptedJudge

CASES = [Case(id=f"q{n}", question="?") for n in range(3)]


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


@pytest.mark.parametrize(
    ("cases", "options", "count"),
    [
        (CASES, {}, 6),
        (iter(CASES), {}, None),
        (iter(CASES), {"total": 5}, 10),
        (CASES, {"total": 5}, 10),
        (CASES, {"shard": "1/2"}, None),
        ([], {}, 0),
    ],
)
def test_judgements_are_planned_if_the_number_of_cases_is_known(cases, options, count):
    """A list has a length, a stream does not, and the size of a shard is unknown before it is read."""
    assert count_judgements(cases, options, 2) == count


def test_the_source_is_that_of_the_option_or_of_the_file(tmp_path):
    """Cases read from a file bring their source; cases from a program have none."""
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "q1", "question": "?"}\n', encoding="utf-8")
    own_source = CaseSource(label="mine")
    assert get_source(read_cases(file), {"origin": own_source}) == own_source
    source = get_source(read_cases(file), {})
    assert source.path.endswith("cases.jsonl")
    assert source.digest
    assert get_source(CASES, {}) == UNKNOWN_SOURCE


def test_prices_are_the_shipped_ones_by_default():
    """A table of one's own replaces the shipped one."""
    own_prices = Prices(models={"openai:m": {"input": 1, "output": 2}}, as_of="today", source="mine")
    assert get_prices({"prices": own_prices}) is own_prices
    assert get_prices({}) == get_prices({"prices": None}) == Prices.load()
