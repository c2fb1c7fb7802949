"""Names of other tools are mapped to the fields of a case, and what is passed over is reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.field_names import (
    FIELD_BY_NAME,
    FIELD_NAMES,
    format_printable,
    is_known,
    is_traversal_log,
    list_names,
    map_fields,
    split_dotted,
)
from greval.records.case import Case


@pytest.mark.parametrize(("name", "field"), FIELD_BY_NAME.items())
def test_each_name_alone_is_mapped(name, field):
    """A row with one known name has the value in its field."""
    value = [{"role": "user", "text": "x"}] if field == "history" else "x"
    mapped = map_fields({name: value})
    assert (mapped.values, mapped.names, mapped.ignored) == ({field: value}, {field: name}, {})


def test_aliases_stand_for_fields():
    """Each name of another tool stands for a field, and greval's own name comes first."""
    assert FIELD_NAMES.keys() <= Case.model_fields.keys()
    assert all(list_names(field)[0] == field for field in Case.model_fields)


def test_the_first_of_several_names_is_used():
    """Greval's own name wins over that of a tool; the other is reported with the reason."""
    mapped = map_fields({"response": "b", "answer": "a", "level": 3})
    assert mapped.values == {"answer": "a", "tags": {"level": 3}}
    assert (mapped.ignored, mapped.tagged) == ({"response": "answer is there"}, {"level": "level"})
    assert map_fields({"answer": None, "response": "b"}).values == {"answer": "b"}


def test_the_tags_of_a_row_have_a_limit():
    """A row of very many columns keeps the first hundred as tags and reports the others."""
    mapped = map_fields({f"note {n}": n for n in range(150)})
    assert (len(mapped.tagged), len(mapped.ignored)) == (100, 50)


def test_dotted_names_are_nested():
    """Dotted and bare subfields are put into their field; a part that is given twice is ignored."""
    mapped = map_fields({"question": "?", "gold.answers": ["a"], "essential_docs": ["d"], "tag:kind": "x"})
    assert mapped.values["gold"] == {"answers": ["a"], "essential_docs": ["d"]}
    assert mapped.values["tags"] == {"kind": "x"}
    repeated = map_fields({"gold": {"answers": ["a"]}, "gold.answers": ["b"]})
    assert (repeated.values["gold"], repeated.ignored) == ({"answers": ["a"]}, {"gold.answers": "gold is there"})


def test_start_nodes_belong_to_the_log():
    """In a traversal log `start_nodes` are those of the walk, elsewhere those of the gold."""
    assert map_fields({"start_nodes": ["a"]}).values == {"gold": {"start_nodes": ["a"]}}
    log = {"start_nodes": ["a"], "final_nodes": ["b"]}
    assert map_fields(log).values == {"traversal": log}
    assert is_traversal_log(["query_id", *log])
    assert not is_traversal_log(["question", *log])


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ({"latency_ms": 1828}, "usage", {"latency": 1.828}),
        ({"responseTimeMs": "1828"}, "usage", {"latency": 1.828}),
        ({"Elapsed seconds": "2"}, "usage", {"latency": 2.0}),
        ({"latency_ms": 1828, "usage": {"cost": 1}}, "usage", {"latency": 1.828, "cost": 1}),
        *(({"latency_ms": value}, "tags", {"latency_ms": value}) for value in (-1, "nan", "n/a", True)),
        ({"latency": 1828}, "tags", {"latency": 1828}),
    ],
)
def test_a_time_is_read_by_its_unit(row, field, value):
    """A time under a name with a unit is in seconds; what is no time, or has no unit, stays a tag."""
    assert map_fields({"question": "Who?", **row}).values[field] == value


@pytest.mark.parametrize(
    ("name", "is_known_name"), [("gold.answers", True), ("tags.x", True), ("tags.", False), ("x", False)]
)
def test_known_names(name, is_known_name):
    """A field, a subfield and a tag are known; a prefix alone is not."""
    assert is_known(name) is is_known_name
    assert (split_dotted(name) is not None) is is_known_name


@given(text=st.text(max_size=80), limit=st.integers(4, 60))
def test_printable_texts(text, limit):
    """What is shown of a file can be printed; a short printable text is shown as it is."""
    printable = format_printable(text, limit)
    assert printable.isprintable()
    if len(text) <= limit and text.isprintable():
        assert printable == text
