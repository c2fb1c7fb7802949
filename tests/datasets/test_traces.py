"""Traces as cases: files made with the SDKs of five tools, read field by field, and what is odd about traces.

The files in `traces/` were made by one program, which asks a retriever, a tool and a model, with the SDK of each tool
against a local collector: openinference-instrumentation 0.1.72, opentelemetry-sdk 1.45.2, langfuse 5.0.4, langsmith
0.15.1 and mlflow-skinny 3.17.2. Frames of Phoenix have the columns that its documentation gives.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.analysis.data_summary import summarise_data
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.row_faults import RowFault
from greval.datasets.row_purpose import holds_spans
from greval.records.case import Case

FILES = Path(__file__).parent / "traces"
SPENT = {"prompt_tokens": 48, "output_tokens": 4, "llm_calls": 1}
CHUNKS = [
    {"id": "hours.md#1", "text": "We open at nine.", "doc_id": "hours.md", "score": 0.91},
    {"id": "hours.md#2", "text": "We close at six.", "doc_id": "hours.md", "score": 0.55},
]
ASKED = {"question": "When do you open?", "answer": "At nine.", "chunks": CHUNKS}
WALKED = {
    "start_nodes": ["ask"],
    "traversed_edges": [["ask", "calls", "calendar"]],
    "final_nodes": ["calendar"],
}
NAMES = (
    *(
        "traceId",
        "parentSpanId",
        "startTimeUnixNano",
        "end_time",
        "status",
        "level",
        "attributes",
        "events",
        "resource",
    ),
    *(
        "inputs",
        "outputs",
        "usage",
        "cost_details",
        "metadata",
        "tags",
        "extra",
        "context",
        "child_runs",
        "observations",
    ),
    *(
        "input.value",
        "output.value",
        "retrieval.documents",
        "llm.token_count",
        "gen_ai.input.messages",
        "run_type",
        "name",
    ),
    *(
        "openinference.span.kind",
        "scopeSpans",
        "spans",
        "key",
        "value",
        "stringValue",
        "kvlistValue",
        "role",
        "content",
    ),
)
LATE = "the index did not answer"


def dump(case):
    """Return what a case has, without its id and its latency, which differ between files."""
    assert not isinstance(case, RowFault), case
    values = case.model_dump(mode="json", exclude_defaults=True)
    values.pop("id")
    latency = values.get("usage", {}).pop("latency", None)
    assert latency is not None
    assert latency > 0
    if not values["usage"]:
        del values["usage"]
    return values


def read_by_question(*names):
    """Return the cases of a file by their questions."""
    return {case["question"]: case for case in map(dump, read_cases(FILES.joinpath(*names)))}


OPENINFERENCE = {
    "When do you open?": {
        **ASKED,
        "usage": SPENT,
        "tags": {
            "trace_name": "ask",
            "tenant": "north",
            "release": "3",
            "beta": "true",
            "session_id": "s-1",
            "user_id": "u-1",
            "service": "support-bot",
        },
    },
    "Is it open on Sunday?": {
        "question": "Is it open on Sunday?",
        "history": [{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Good day."}],
        "answer": "No, it is closed.",
        # the reranker returned one of the two
        "chunks": [{"id": "d7", "text": "Closed on Sunday.", "score": 0.97}],
        "traversal": WALKED,
        "usage": {"prompt_tokens": 70, "output_tokens": 12, "llm_calls": 2},
        "tags": {"trace_name": "ask", "service": "support-bot"},
    },
    "Who owns it?": {
        "question": "Who owns it?",
        "error": f"TimeoutError: {LATE}",
        "tags": {"trace_name": "ask", "service": "support-bot"},
    },
}


@pytest.mark.parametrize("name", ["openinference.jsonl", "openinference.json"])
def test_spans_of_openinference(name):
    """OTLP of a collector, in lines and as one object: chunks, a reranker, a tool, two calls of a model, a failure."""
    assert read_by_question(name) == OPENINFERENCE
    cases = [*read_cases(FILES / name)]
    assert [case.usage.latency for case in cases] == [1.0, 1.0, 1.0]
    assert len({case.id for case in cases}) == len(cases)


def test_spans_as_the_sdk_writes_them():
    """`to_json()` of OpenTelemetry's SDK gives the same cases; it has the name of the service in its resource."""
    assert read_by_question("opentelemetry_sdk.jsonl") == OPENINFERENCE


def test_a_frame_of_phoenix(tmp_path):
    """Spans in columns of attributes give the same cases, as a frame, and saved to Parquet, CSV and JSON."""
    pandas = pytest.importorskip("pandas")
    rows = []
    for line in (FILES / "opentelemetry_sdk.jsonl").read_text().splitlines():
        span = json.loads(line)
        documents, columns = {}, {}
        for name, value in span["attributes"].items():
            first, mark, rest = name.partition("retrieval.documents.")
            if mark and not first:
                number, _, part = rest.partition(".")
                documents.setdefault(int(number), {})[part] = value
            else:
                columns[f"attributes.{name}"] = value
        rows.append(
            {
                "name": span["name"],
                "span_kind": span["attributes"]["openinference.span.kind"],
                "parent_id": span["parent_id"],
                "start_time": span["start_time"],
                "end_time": span["end_time"],
                "status_code": span["status"]["status_code"],
                "status_message": span["status"].get("description", ""),
                "context.span_id": span["context"]["span_id"],
                "context.trace_id": span["context"]["trace_id"],
                **columns,
                "attributes.retrieval.documents": [*documents.values()] or None,
            }
        )
    frame = pandas.DataFrame(rows).set_index("context.span_id", drop=False)
    frame.index.name = None
    for moment in ("start_time", "end_time"):
        frame[moment] = pandas.to_datetime(frame[moment])
    expected = {
        question: {**case, "tags": {name: tag for name, tag in case["tags"].items() if name != "service"}}
        for question, case in OPENINFERENCE.items()
    }
    frame.to_parquet(tmp_path / "spans.parquet")
    frame.to_csv(tmp_path / "spans.csv")
    frame.to_json(tmp_path / "spans.json", orient="records", date_format="iso")
    readings = {"frame": read_records(frame)}
    readings |= {suffix: read_cases(tmp_path / f"spans.{suffix}") for suffix in ("parquet", "csv", "json")}
    for name, reading in readings.items():
        assert {case["question"]: case for case in map(dump, reading)} == expected, name
    assert read_cases(tmp_path / "spans.parquet").count() == len(expected)


def test_spans_of_genai():
    """Names of OpenTelemetry's own convention: ids of documents with scores, thoughts apart, messages as events."""
    assert read_by_question("otel_genai.jsonl") == {
        "When do you open?": {
            "question": "When do you open?",
            "answer": "At nine.",
            "chunks": [{"id": "hours.md", "score": 0.9}, {"id": "blog.md", "score": 0.3}],
            "traversal": {
                **WALKED,
                "start_nodes": ["POST /chat"],
                "traversed_edges": [["POST /chat", "calls", "calendar"]],
            },
            "usage": {"prompt_tokens": 50, "output_tokens": 5, "llm_calls": 1},
            "tags": {"trace_name": "POST /chat", "service": "support-bot"},
        },
        "Who wrote it?": {
            "question": "Who wrote it?",
            "answer": "Ada.",
            "usage": {"prompt_tokens": 20, "output_tokens": 3, "llm_calls": 1},
            "tags": {"trace_name": "chat small-1", "service": "support-bot"},
        },
    }


LANGFUSE = {
    "When do you open?": {
        **ASKED,
        "traversal": WALKED,
        "usage": {**SPENT, "cost": 0.00064},
        "tags": {
            "trace_name": "support",
            "tenant": "north",
            "beta": "true",
            "session_id": "s-1",
            "user_id": "u-1",
        },
    },
    "Who owns it?": {"question": "Who owns it?", "chunks": CHUNKS, "error": LATE, "tags": {"trace_name": "fail"}},
}


@pytest.mark.parametrize("name", ["langfuse_otlp.jsonl", "langfuse.json"])
def test_observations_of_langfuse(name):
    """What the SDK sends to a collector, and what the API lists, newest first."""
    cases = read_by_question(name)
    for case in cases.values():
        case["tags"].pop("service", None)
        case["tags"].pop("environment", None)
    assert cases == LANGFUSE


def test_a_trace_of_langfuse_with_its_observations(tmp_path):
    """A download of the UI, and the trace of the older API, are the same trace as its observations."""
    observations = [row for row in json.loads((FILES / "langfuse.json").read_text())["data"] if row["userId"] == "u-1"]
    trace = {
        "id": observations[0]["traceId"],
        "name": "support",
        "timestamp": min(row["startTime"] for row in observations),
        "input": {"args": ["When do you open?"], "kwargs": {}},
        "output": "At nine.",
        "latency": 0.5,
        "sessionId": "s-1",
        "userId": "u-1",
        "tags": ["beta"],
        "metadata": {"tenant": "north"},
        "totalCost": 0.00064,
    }
    (tmp_path / "ui.json").write_text(json.dumps({"trace": trace, "observations": observations}))
    (tmp_path / "api.jsonl").write_text(json.dumps({**trace, "observations": observations}))
    (tmp_path / "list.json").write_text(json.dumps({"data": [{**trace, "observations": ["o1"]}], "meta": {}}))
    for name in ("ui.json", "api.jsonl"):
        (case,) = map(dump, read_cases(tmp_path / name))
        case["tags"].pop("environment", None)
        assert case == LANGFUSE["When do you open?"], name
    (alone,) = map(dump, read_cases(tmp_path / "list.json"))
    assert (alone["question"], alone["answer"], alone["usage"]) == ("When do you open?", "At nine.", {"cost": 0.00064})


def test_runs_of_langsmith():
    """Runs as `list_runs` gives them: totals that are repeated above count once, an error is its first line."""
    cases = read_by_question("langsmith.jsonl")
    for case in cases.values():
        case["tags"].pop("session_id")
    assert cases == {
        "When do you open?": {
            **ASKED,
            "traversal": WALKED,
            "usage": {**SPENT, "cost": 0.00064},
            "tags": {"trace_name": "ask", "tenant": "north", "beta": "true"},
        },
        "Who owns it?": {
            "question": "Who owns it?",
            "error": f"TimeoutError('{LATE}')",
            "tags": {"trace_name": "ask"},
        },
    }


def test_runs_of_langsmith_in_an_experiment():
    """A run of an example has its id and its project as method, so that two projects are compared; runs may nest."""
    runs = [json.loads(line) for line in (FILES / "langsmith.jsonl").read_text().splitlines()]
    root = {**runs[0], "reference_example_id": "example-1", "session_name": "prompt-2"}
    nested = {**root, "child_runs": [run for run in runs[1:] if run["parent_run_id"] == root["id"]]}
    for rows in ([root, *runs[1:]], [nested]):
        case = next(iter(read_records(rows)))
        assert (case.id, case.method, case.tags["trace_id"]) == ("example-1", "prompt-2", root["id"])
        assert len(case.chunks) == len(CHUNKS)


def test_traces_of_mlflow():
    """`Trace.to_json()`: documents with their place under `doc_uri`, an expectation, the session and the failure."""
    cases = read_by_question("mlflow.jsonl")
    assert cases["When do you open?"] == {
        **ASKED,
        "expected_answer": "At nine.",
        "traversal": WALKED,
        "usage": SPENT,
        "tags": {"tenant": "north", "session_id": "s-1", "user_id": "u-1", "trace_name": "ask"},
    }
    assert cases["Who owns it?"] == {
        "question": "Who owns it?",
        "error": f"TimeoutError: {LATE}",
        "tags": {"trace_name": "fail"},
    }


def test_a_frame_of_mlflow():
    """`search_traces()` has a row for each trace, with its spans as a list and the trace as a text."""
    traces = [json.loads(line) for line in (FILES / "mlflow.jsonl").read_text().splitlines()]
    rows = [
        {
            "trace_id": trace["info"]["trace_id"],
            "trace": json.dumps(trace),
            "state": trace["info"]["state"],
            "request": None,
            "response": None,
            "spans": trace["data"]["spans"],
            **{name: trace["info"].get(name) for name in ("request_time", "trace_metadata", "tags", "assessments")},
        }
        for trace in traces
    ]
    assert {case["question"]: case for case in map(dump, read_records(rows))} == read_by_question("mlflow.jsonl")


def build_span(number, parent=None, trace="t", **fields):
    """Return a span that took a second."""
    times = {"startTimeUnixNano": str(10**18 + number), "endTimeUnixNano": str(10**18 + number + 10**9)}
    parents = {} if parent is None else {"parentSpanId": f"s{parent}"}
    return {"traceId": trace, "spanId": f"s{number}", **parents, "name": f"span {number}", **times, **fields}


def test_spans_may_be_anywhere(tmp_path):
    """Spans of two traces are mixed, the root comes last or first, and a line of metrics is no case."""
    spans = [
        build_span(2, 1, trace="a", attributes={"input.value": "a prompt with much more", "output.value": "x"}),
        build_span(1, trace="b", attributes={"input.value": "Two?", "output.value": "2"}),
        build_span(2, 1, trace="b", attributes={"retrieval.documents": [{"document.content": "Two."}]}),
        build_span(1, trace="a", attributes={"input.value": "One?", "output.value": "1"}),
    ]
    lines = [json.dumps(span) for span in spans] + [json.dumps({"resourceMetrics": []})]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    reading = read_cases(tmp_path / "a.jsonl")
    first, second = reading
    assert [(case.id, case.question, case.answer) for case in (first, second)] == [
        ("a", "One?", "1"),
        ("b", "Two?", "2"),
    ]
    assert second.chunks[0].text == "Two."
    assert reading.count() is None
    assert "read each trace as a case, from its spans" in reading.notice()
    assert [field.field for field in summarise_data(reading).fields][:3] == ["id", "question", "answer"]


def test_what_is_no_trace_stays_a_row():
    """A case with the id of its trace is a case, and so is a span of which a column is named."""
    row = {"question": "Who?", "answer": "Ada", "trace_id": "t1", "span_id": "s1", "context": "By Ada."}
    assert not holds_spans(row)
    (case,) = read_records([row])
    assert (case.question, case.chunks[0].text) == ("Who?", "By Ada.")
    spans = [
        build_span(1, attributes={"input": {"value": "One?"}}),
        build_span(2, 1, attributes={"input": {"value": "2?"}}),
    ]
    columns = {"question": "attributes.input.value", "id": "spanId"}
    assert [case.question for case in read_records(spans, columns=columns)] == ["One?", "2?"]


def test_the_question_may_be_named():
    """An input of several texts is no question until its name is given; the message names the way."""
    attributes = {"input.value": json.dumps({"language": "en", "wish": "Who wrote it?"}), "output.value": "Ada"}
    (fault,) = read_records([build_span(1, attributes=attributes)])
    assert "name" in fault.message
    assert "question" in fault.message
    (case,) = read_records([build_span(1, attributes=attributes)], columns={"question": "inputs.wish"})
    assert (case.question, case.answer) == ("Who wrote it?", "Ada")


def test_arguments_of_a_function_are_its_input():
    """What was passed by position, by name, or to a callback, beside its settings."""
    for passed in (
        {"args": ["Who?"], "kwargs": {"k": 5}},
        {"args": [], "kwargs": {"question": "Who?"}},
        {"inputs": {"question": "Who?"}, "tags": [], "metadata": {}, "kwargs": {"name": "LangGraph"}},
        {"prompts": ["Who?"]},
    ):
        (case,) = read_records([build_span(1, attributes={"input.value": json.dumps(passed)})])
        assert case.question == "Who?"


def test_a_prompt_is_the_last_choice():
    """Without texts of the root, the query of a retriever is the question; of a model alone it is its prompt."""
    kind = "openinference.span.kind"
    spans = [
        build_span(1),
        build_span(2, 1, attributes={kind: "RETRIEVER", "input.value": "Who?", "retrieval.documents": []}),
        build_span(3, 1, attributes={kind: "LLM", "input.value": "Passages ... Who?", "output.value": "Ada."}),
    ]
    (case,) = read_records(spans)
    assert (case.question, case.answer, case.chunks) == ("Who?", "Ada.", ())
    (alone,) = read_records(spans[2:])
    assert alone.question == "Passages ... Who?"


def test_steps_of_a_graph_are_a_walk():
    """Nodes of a graph lead to each other, as far as they say so, and a tool is called by the node around it."""
    spans = [
        build_span(1, attributes={"input.value": "Who?", "output.value": "Ada."}),
        build_span(2, 1, attributes={"graph.node.id": "plan"}),
        build_span(3, 1, attributes={"graph.node.id": "act", "graph.node.parent_id": "plan"}),
        build_span(4, 3, attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}),
    ]
    (case,) = read_records(spans)
    edges = [("span 1", "leads to", "plan"), ("plan", "leads to", "act"), ("act", "calls", "search")]
    assert [*case.traversal.traversed_edges] == edges
    assert (case.traversal.start_nodes, case.traversal.final_nodes) == (("span 1",), ("search",))


def test_what_a_graph_retriever_found_is_read_as_its_reply():
    """The output of a tool that is a reply of LightRAG gives chunks and triples, as a column of a row does."""
    found = {
        "entities": [{"entity_name": "Ada", "entity_type": "person", "description": "d"}],
        "relationships": [{"src_id": "Ada", "tgt_id": "Notes", "description": "wrote", "keywords": "wrote"}],
        "chunks": [{"chunk_id": "c-1", "content": "By Ada.", "file_path": "notes.md"}],
    }
    attributes = {"openinference.span.kind": "TOOL", "output.value": json.dumps(found)}
    (case,) = read_records([build_span(1, attributes={"input.value": "Who?"}), build_span(2, 1, attributes=attributes)])
    assert [chunk.text for chunk in case.chunks] == ["By Ada."]
    assert case.triples


def test_a_faulty_span_is_a_fault_of_its_trace(tmp_path):
    """A value that no case can hold makes the trace a row that is reported, with the line of its first span."""
    lines = [json.dumps(build_span(1, attributes={"input.value": "One?"})), "{", json.dumps(build_span(1, trace="u"))]
    lines[0] = lines[0].replace("One?", "One \\ud800?")
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    faults = [*read_cases(tmp_path / "a.jsonl")]
    assert all(isinstance(fault, RowFault) for fault in faults)
    assert sorted(fault.place.rpartition(":")[2] for fault in faults) == ["1", "2", "3"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), json_values, max_size=8), min_size=1, max_size=3))
def test_no_value_stops_the_reader(records):
    """Whatever the fields of spans hold, each trace is a case or a row that is reported."""
    spans = [{**build_span(1), **record} for record in records]
    for row in [
        *read_records([*spans, {"resourceSpans": records[0]}, {"info": records[0], "data": {"spans": records}}])
    ]:
        assert isinstance(row, Case | RowFault)


def test_an_id_of_several_passages_is_their_document():
    """Passages that a retriever returns under one id stay apart; a passage that two retrievers return is one chunk."""
    passages = [
        {"id": "a.md", "content": "One."},
        {"id": "a.md", "content": "Two."},
        {"id": "b", "content": '{"n": 3}'},
    ]
    attributes = {"openinference.span.kind": "RETRIEVER", "output.value": json.dumps(passages)}
    spans = [build_span(number, 1, attributes=attributes) for number in (2, 3)]
    (case,) = read_records([build_span(1, attributes={"input.value": "Who?"}), *spans])
    assert [(chunk.doc_id, chunk.text) for chunk in case.chunks] == [
        ("a.md", "One."),
        ("a.md", "Two."),
        (None, '{"n": 3}'),
    ]
