"""The OpenAPI document as programs read it: the names that generated clients have."""

from __future__ import annotations

import re

from golden_files import GOLDEN, same
from shell_app import client

from greval.serve.app import create_app
from greval.serve.settings import ServerSettings

DOCUMENT = create_app(ServerSettings()).openapi()
OPERATIONS = [
    (method.upper(), path, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]


def test_operation_ids_are_stable():
    """Each operation has the short id of the golden file, by which generated clients name their functions."""
    lines = [f"{method:6} {path} {operation['operationId']}" for method, path, operation in OPERATIONS]
    assert len({line.rpartition(" ")[2] for line in lines}) == len(lines)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", line.rpartition(" ")[2]) for line in lines)
    same(GOLDEN / "openapi-operations.txt", "\n".join([*sorted(lines), ""]))


def test_schema_names_are_plain():
    """No two classes share a name: FastAPI would put their modules into it, and generators drop such schemas."""
    names = [*DOCUMENT["components"]["schemas"]]
    assert "Problem" in names
    assert "Fault" in names
    assert not [name for name in names if not re.fullmatch("[A-Z][A-Za-z]+", name)]


def test_references_are_there():
    """Each schema that an operation refers to is in the document."""
    references = set(re.findall(r"'\$ref': '#/components/schemas/([^']+)'", str(DOCUMENT["paths"])))
    assert references <= DOCUMENT["components"]["schemas"].keys()


def test_streams_have_a_schema():
    """Streams of events are described by the words of OpenAPI 3.1, which has no schema of items."""
    assert DOCUMENT["openapi"].startswith("3.1.")
    contents = [operation["responses"].get("200", {}).get("content", {}) for *_, operation in OPERATIONS]
    streams = [content["text/event-stream"] for content in contents if "text/event-stream" in content]
    assert [[*described] for described in streams] == [["schema"], ["schema"]]


def test_every_route_knows_its_parameters(tmp_path):
    """Each parameter of the document is taken by its route, whatever its value."""
    with client(create_app(ServerSettings(runs=tmp_path))) as http_client:
        for method, path, operation in OPERATIONS:
            names = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
            answer = http_client.request(method, path, params=dict.fromkeys(names, "x"))
            faults = answer.json()["faults"] if answer.is_error else ()
            assert not [fault for fault in faults if fault["place"].startswith("query.") and fault["code"] == "unknown"]
