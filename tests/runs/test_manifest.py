"""Metadata of a run folder: its metrics, what was spent on it, and whether it is a probe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Judgement, Result, Scored
from greval.errors import StoreError
from greval.judging import Prices
from greval.judging.model.budget import RunSpending
from greval.records import Usage
from greval.runs.manifest import (
    PROBE_TAG,
    PROBED_CASE_TAG,
    is_probe,
    read_spending,
    refuse_probe,
    store_metrics,
    store_spending,
    sum_spending,
)
from greval.runs.store.writer import StoreWriter

NAMES = st.lists(st.sampled_from("abcd"), max_size=4)
PRICES = Prices(models={"openai:m": {"input": 1000, "output": 0}}, as_of="today", source="mine")


def append(writer, number, **tags):
    """Append a result of one call with 1,000 input tokens."""
    outcome = Scored(judgements=(Judgement(value=1, number=1.0, reason="r"),))
    usage = Usage(calls=1, input_tokens=1000, output_tokens=0)
    result = Result(
        sample_id=f"q{number}", metric="m", fingerprint="f", judge="openai:m", tier="schema", outcome=outcome
    )
    writer.append(f"k{number}", result.model_copy(update={"usage": usage, "tags": tags}))


@given(st.lists(NAMES, max_size=4))
def test_metrics_of_all_commands_are_kept_in_their_first_order(tmp_path_factory, commands):
    """A later definition replaces the one of its name in its place, and leaves the others."""
    with StoreWriter.create(tmp_path_factory.mktemp("run")) as writer:
        newest: dict[str, int] = {}
        for number, names in enumerate(commands):
            store_metrics(writer, [{"name": name, "number": number} for name in names])
            newest |= dict.fromkeys(names, number)
        assert (writer.reader.fact("metrics") or []) == [{"name": name, "number": n} for name, n in newest.items()]


@pytest.mark.parametrize(
    ("tags", "probe"),
    [({PROBE_TAG: "padded", PROBED_CASE_TAG: "q1"}, True), ({PROBE_TAG: "x"}, False), ({"kind": "a"}, False)],
)
def test_a_probe_has_both_tags(tmp_path, tags, probe):
    """A user's tag of one of the names alone does not make a probe."""
    with StoreWriter.create(tmp_path) as writer:
        assert is_probe(writer.reader) is None
        refuse_probe(writer.reader)
        append(writer, 1, **tags)
        assert is_probe(writer.reader) is probe
        if probe:
            with pytest.raises(StoreError, match="holds a probe; choose another folder with out="):
                refuse_probe(writer.reader)
        else:
            refuse_probe(writer.reader)


def test_spending_is_what_was_noted_or_what_the_rows_cost(tmp_path):
    """Each of calls and cost is the larger of the note and the rows, and rows are read with prices only."""
    with StoreWriter.create(tmp_path) as writer:
        assert read_spending(writer.reader) == read_spending(writer.reader, PRICES) == RunSpending()
        append(writer, 1)
        append(writer, 2)
        assert read_spending(writer.reader) == RunSpending()
        assert read_spending(writer.reader, PRICES).calls == 2
        cost = read_spending(writer.reader, PRICES).cost
        assert cost == pytest.approx(2 * PRICES.cost("openai:m", Usage(calls=1, input_tokens=1000, output_tokens=0)))
        store_spending(writer, RunSpending(calls=5, cost=cost / 2))
        assert read_spending(writer.reader, PRICES) == RunSpending(calls=5, cost=cost)
        assert read_spending(writer.reader) == RunSpending(calls=5, cost=cost / 2)


def test_folders_are_summed_and_those_without_a_run_add_nothing(tmp_path):
    """A missing folder and a file that is no log do not stop the sum."""
    for name, calls in (("a", 2), ("b", 3)):
        with StoreWriter.create(tmp_path / name) as writer:
            store_spending(writer, RunSpending(calls=calls, cost=0.25))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "results.sqlite").write_text("no log", encoding="utf-8")
    folders = [tmp_path / name for name in ("a", "b", "c", "none")]
    assert sum_spending(folders, PRICES) == RunSpending(calls=5, cost=0.5)
    assert sum_spending([], PRICES) == RunSpending()
