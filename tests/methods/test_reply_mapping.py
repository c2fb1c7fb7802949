"""Replies of endpoints: paths into their JSON, and the fields of a response at these paths."""

from __future__ import annotations

import pytest

from greval.errors import MethodError
from greval.methods.endpoint import ReplyMapping

REPLY = {
    "data": {
        "text": "Wanda.",
        "hits": [
            {"ref": 17, "body": {"content": "One."}, "rank": 0.5, "file": "a.md"},
            {"ref": 18, "body": {"content": "Two."}, "rank": 0.25, "file": None},
        ],
        "facts": [{"s": "Tern", "p": "led by", "o": "Wanda"}],
        "walk": {"from": ["Tern"], "edges": [["Tern", "led by", "Wanda"]], "to": [4]},
        "rows": [{"a": "Tern", "is": "led by", "b": 7}],
    },
    "meta": {"tokens": {"in": 12, "out": 3}, "model.name": "m", "counts": ["leads: 1"]},
}


def test_edges_as_objects():
    """Edges may be objects; a path may go through every item of a list."""
    edges = {"traversal.traversed_edges": "data.rows"}
    parts = {"source": "a", "label": "is", "target": "b"}
    form = ReplyMapping(edges | {f"traversal.traversed_edges.{part}": path for part, path in parts.items()})
    assert form.read(REPLY) == {"traversal": {"traversed_edges": [["Tern", "led by", "7"]]}}
    assert ReplyMapping({"chunks": "data.hits[*].body", "chunks.text": "content"}).read(REPLY) == {
        "chunks": [{"text": "One."}, {"text": "Two."}]
    }
    assert ReplyMapping({"chunks": "data.hits[*].body.content"}).read(REPLY) == {"chunks": ["One.", "Two."]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"anwser": "a"}, "did you mean answer"),
        ({"chunks.text": "a"}, "add chunks, the path of the list"),
        ({"answer": "a["}, "is not a path"),
    ],
)
def test_wrong_mappings_are_refused_before_a_call(lines, message):
    """An unknown field, a field of items without their list, and a wrong path are errors of the mapping."""
    with pytest.raises(MethodError, match=message):
        ReplyMapping(lines)


def test_an_error_in_the_reply_replaces_the_response():
    """The path of the error is read first; other fields are read only if it has no value."""
    mapping = ReplyMapping({"answer": "text", "error": "fault?"})
    assert mapping.read({"fault": 503}) == {"error": "503"}
    assert mapping.read({"text": 7, "fault": None}) == {"answer": "7"}
