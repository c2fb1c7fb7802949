"""Traces as rows of cases: one row for each trace, made of its spans, in every form in which tools export them.

These are spans of OpenTelemetry with the names of OpenInference or of GenAI (OTLP in JSON, JSON of the SDK, frames of
Phoenix), observations and traces of Langfuse, runs of LangSmith, and traces of MLflow. They differ in the names of the
same few things, so that tables of names read them all. What a span holds is read as the fields of any other row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any

from greval.datasets.cells import LIST_STARTS, parse_cell
from greval.datasets.conversations import read_turns, split_conversation
from greval.datasets.field_names import FIELD_NAMES, fold_name, is_tag_value
from greval.datasets.json_files import MAX_DIGITS, InvalidJsonError, RawRow
from greval.datasets.row_faults import RowFault
from greval.datasets.row_purpose import holds_spans
from greval.records.case import Case

OTHER_SIGNALS = frozenset({"resourceMetrics", "resourceLogs"})
"""What a collector may write to the same file."""
ROW_COLUMNS = frozenset({"id", "inputs", "outputs", "metadata", "method", "expectations"})
"""The columns of a row made of a trace that spans may have, too."""

RETRIEVER, RERANKER, MODEL, TOOL, GRAPH, STEP, ASIDE = "retriever", "reranker", "llm", "tool", "graph", "step", "aside"
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("retriever", "retrieval"), RETRIEVER),
    **dict.fromkeys(("reranker", "rerank"), RERANKER),
    **dict.fromkeys(("llm", "chat_model", "chat", "generation", "text_completion", "generate_content"), MODEL),
    **dict.fromkeys(("tool", "execute_tool"), TOOL),
    "graph": GRAPH,
    # They answer nothing, and nobody asks them.
    **dict.fromkeys(("embedding", "embeddings", "evaluator", "guardrail", "parser", "prompt", "event"), ASIDE),
}
"""What a span is, by the names of kinds in all tools; a span of any other kind is a step."""
NO_KINDS = frozenset({"span", "unknown", "trace"})
"""Kinds that say nothing; what a span is, its attributes say."""
KIND_NAMES = (
    *("openinference.span.kind", "langfuse.observation.type", "mlflow.spanType", "gen_ai.operation.name"),
    *("langsmith.span.kind", "traceloop.span.kind"),
)
INPUT_NAMES = (
    *("llm.input_messages", "langfuse.trace.input", "langfuse.observation.input", "mlflow.spanInputs", "input.value"),
    *("gen_ai.input.messages", "gen_ai.retrieval.query.text", "gen_ai.prompt", "gen_ai.tool.call.arguments"),
    "traceloop.entity.input",
)
OUTPUT_NAMES = (
    *("llm.output_messages", "langfuse.trace.output", "langfuse.observation.output", "mlflow.spanOutputs"),
    *("output.value", "gen_ai.output.messages", "gen_ai.completion", "gen_ai.tool.call.result"),
    "traceloop.entity.output",
)
DOCUMENT_NAMES = ("retrieval.documents", "reranker.output_documents", "gen_ai.retrieval.documents")
TOKEN_NAMES = (
    *("llm.token_count", "gen_ai.usage", "mlflow.chat.tokenUsage", "langfuse.observation.usage_details", "llm.usage"),
)
"""Attributes that are objects of numbers of tokens."""
COST_NAMES = ("langfuse.observation.cost_details", "llm.cost", "mlflow.llm.cost")
"""Attributes that are objects of costs."""
PROMPT_NAMES = ("prompt_tokens", "input_tokens", "prompt", "input")
OUTPUT_TOKEN_NAMES = ("completion_tokens", "output_tokens", "completion", "output")
TOTAL_NAMES = ("total_cost", "calculated_total_cost", "total", "cost")
SESSION_NAMES: Mapping[str, tuple[str, ...]] = {
    "session_id": ("session.id", "langfuse.session.id", "gen_ai.conversation.id", "mlflow.trace.session"),
    "user_id": ("user.id", "langfuse.user.id", "mlflow.trace.user"),
    "trace_name": ("langfuse.trace.name", "langsmith.trace.name", "mlflow.traceName"),
    "service": ("service.name",),
}
"""The tags that are made of attributes."""
LABEL_NAMES = ("tag.tags", "langfuse.trace.tags")
INTERNAL_PREFIXES = ("ls_", "LANGSMITH_", "LANGCHAIN_", "langgraph_", "mlflow.")
"""The beginnings of metadata that tools write for themselves."""
METADATA_NAMES = ("metadata", "langfuse.trace.metadata")
DOCUMENT_FIELDS = ("id", "content", "page_content", "text")
"""The id of a document, and the names of its text."""
PASSAGE_NAMES = (
    "documents",
    "output",
    "results",
    "result",
    "chunks",
    "nodes",
    "matches",
    "hits",
    *FIELD_NAMES["chunks"],
)
"""The names of the list of documents in the output of a retriever."""
OUTPUT_WRAPPERS = ("choices", "generations", "message", "output")
INPUT_WRAPPERS = ("inputs", "input", "args", "kwargs", "prompts")
"""Names of what an output or an input is inside of, if it is no message itself."""
BESIDE_INPUTS = ("tags", "metadata", "config")
"""What callbacks record beside an input."""
MOMENT_DIVISORS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From which number a time is in nanoseconds, microseconds and milliseconds, and what makes it seconds."""
MAX_DEPTH = 1_000
MAX_NUMBER = 1e18
NO_REASON = "failed, and no reason was recorded"
NOTE = "read each trace as a case, from its spans"
_INDEX = re.compile(r"\d+")


@dataclass(slots=True)
class Span:
    """What a case needs of a span: `asked`, `answered`, `found` and `columns` are columns of the row of its trace."""

    trace: str
    id: str
    parent: str
    name: str
    kind: str
    start: float | None
    end: float | None
    error: str = ""
    asked: dict[str, object] = field(default_factory=dict)
    answered: dict[str, object] = field(default_factory=dict)
    found: dict[str, object] = field(default_factory=dict)
    reranked: frozenset[str] = frozenset()
    usage: dict[str, float] = field(default_factory=dict)
    columns: dict[str, object] = field(default_factory=dict)
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass
class _Trace:
    """The spans of a trace so far, the place of the first, and the faults of all."""

    number: int
    unit: str
    spans: list[Span] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    is_settled: bool = False

    def add(self, span: Span) -> None:
        """Add a span; when question and answer are known, the texts of its other spans are not held any longer."""
        self.spans.append(span)
        if not span.parent and span.asked and span.answered:
            self.is_settled = True
            for other in self.spans[:-1]:
                other.asked = other.answered = {}
        elif self.is_settled:
            span.asked = span.answered = {}


def group_spans(rows: Iterable[RawRow | Case | RowFault]) -> Iterator[RawRow | Case | RowFault]:
    """Yield a row of a case for each trace, in the order in which they begin; a row that is no span stays as it is.

    Spans of a trace may be anywhere in a file, so that its rows come when all are read. A trace that is one row, as
    those of MLflow are, comes at once.
    """
    traces: dict[str, _Trace] = {}
    note = NOTE
    for row in rows:
        if isinstance(row, RawRow) and not row.values.keys().isdisjoint(OTHER_SIGNALS):
            continue
        if not isinstance(row, RawRow) or not holds_spans(row.values):
            yield row
            continue
        spans = [*_iterate_spans(row.values)]
        alone = _Trace(row.number, row.unit) if len(spans) > 1 and _is_whole(row.values) else None
        for span in spans:
            trace = alone or traces.setdefault(span.trace, _Trace(row.number, row.unit))
            trace.add(span)
            trace.faults.update(row.faults)
        if alone:
            yield _build_row(alone, note)
            note = ""
    for trace in traces.values():
        yield _build_row(trace, note)
        note = ""


def _is_whole(values: Mapping[str, object]) -> bool:
    """Return whether a row has all spans of a trace."""
    return not values.keys().isdisjoint({"observations", "spans", "info", "child_runs"})


def _fold(record: Mapping[str, object]) -> dict[str, Any]:
    return {fold_name(name): value for name, value in record.items()}


def _iterate_spans(values: Mapping[str, object]) -> Iterator[Span]:
    """Yield the spans of a row: its own, those of its trace, or those of an export of OpenTelemetry."""
    record = _fold(values)
    if "resource_spans" in record:
        for group in map(_fold, _list_objects(record["resource_spans"])):
            shared = _read_attributes(_read_object(group.get("resource")).get("attributes"))
            scopes = _list_objects(group.get("scope_spans") or group.get("instrumentation_library_spans"))
            spans = (span for scope in scopes for span in _list_objects(scope.get("spans")))
            yield from (_read_span(_fold(span), shared) for span in spans)
        return
    # Frames of MLflow have it as a text, files of Langfuse beside its observations.
    record |= _fold(_read_object(record.get("trace")))
    if "info" in record:
        record = {**_fold(_read_object(record.get("data"))), **_fold(_read_object(record["info"]))}
    if "spans" in record or "observations" in record:
        children = _list_objects(record.get("spans")) or _list_objects(record.get("observations"))
        yield from _iterate_trace(record, [*map(_fold, children)])
        return
    yield _read_span(record, {})
    for child in _list_objects(record.get("child_runs")):
        yield from _iterate_spans(child)


def _list_objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list, which may be written as a text; none for anything else."""
    content = _parse_text(value)
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _iterate_trace(record: dict[str, Any], children: Sequence[dict[str, Any]]) -> Iterator[Span]:
    """Yield a trace as the span above all others, and its spans."""
    name = str(record.get("trace_id") or record.get("request_id") or record.get("id") or "")
    top = _read_span({**record, "id": name, "trace_id": name, "type": "trace", "parent_id": None}, {})
    # It is no step of its own.
    top.name = ""
    noted = {**_read_object(record.get("trace_metadata") or record.get("request_metadata"))}
    noted |= _read_object(record.get("tags"))
    top.metadata |= {tag: value for tag, value in noted.items() if not tag.startswith(INTERNAL_PREFIXES)}
    top.metadata |= _read_session(noted)
    top.columns |= _read_expectations(record.get("assessments"))
    # The span at the root of MLflow's spans has whole texts.
    if "observations" not in record and children:
        top.asked = top.answered = {}
    yield top
    for child in children:
        span = _read_span(child, {})
        span.trace, span.parent = name, span.parent or top.id
        yield span


def _read_expectations(assessments: object) -> dict[str, object]:
    """Return what people expect of a trace of MLflow, as a column."""
    expected = {
        str(row.get("assessment_name") or row.get("name")): _parse_text(expectation.get("value"))
        for row in map(_fold, _list_objects(assessments))
        if (expectation := _read_object(row.get("expectation")))
    }
    return {"expectations": expected} if expected else {}


def _read_span(record: dict[str, Any], shared: Mapping[str, object]) -> Span:
    """Read a span from its fields, under folded names, and its attributes; `shared` are those of its resource."""
    own = record.get("attributes")
    if own is None:
        prefix = "attributes."
        own = {name.removeprefix(prefix): value for name, value in record.items() if name.startswith(prefix)}
    shared = {**shared, **_read_attributes(_read_object(record.get("resource")).get("attributes"))}
    attributes = {**shared, **_read_events(record.get("events")), **_read_attributes(own)}
    nested = _nest_names(attributes)
    record |= {f"context.{name}": value for name, value in _fold(_read_object(record.get("context"))).items()}
    kind = _find_kind(record, attributes, nested)
    inputs = _find_value(record, nested, ("inputs", "input", "request", "request_preview"), INPUT_NAMES)
    written = _find_value(record, nested, ("outputs", "output", "response", "response_preview"), OUTPUT_NAMES)
    outputs = _parse_text(written)
    start = _read_moment(record, ("start_time_unix_nano", "start_time", "timestamp", "request_time", "timestamp_ms"))
    span = Span(
        trace=_get_name(record, ("trace_id", "context.trace_id", "id")),
        id=_get_name(record, ("span_id", "context.span_id", "id")),
        parent=_get_name(
            record, ("parent_span_id", "parent_id", "parent_observation_id", "parent_run_id", "context.parent_id")
        ),
        name=str((attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or record.get("name")) or ""),
        kind=kind,
        start=start,
        end=_read_end(record, start),
        error=_read_error(record, attributes),
        usage=_read_usage(record, nested, outputs),
    )
    if kind not in {TOOL, ASIDE, RERANKER}:
        span.asked = _read_question(_parse_text(inputs)) or _read_question(inputs)
    if kind in {MODEL, STEP, GRAPH}:
        span.answered = _read_answer(outputs) or _read_answer(written)
    if kind in {RETRIEVER, RERANKER, TOOL, GRAPH}:
        span.found = _read_found(kind, nested, outputs)
    if kind == RERANKER:
        ranked = _list_documents(_walk(nested, "reranker.input_documents")) or ()
        span.reranked = frozenset(_get_identity(document)[0] for document in ranked)
    if kind == GRAPH and (node_name := attributes.get("graph.node.id") or attributes.get("graph.node.name")):
        span.name, span.columns["node_parent"] = str(node_name), attributes.get("graph.node.parent_id")
    if not span.parent:
        span.metadata = {**_read_metadata(record, nested), **_read_session(attributes)}
        span.columns |= _read_example(record, attributes)
    return span


def _read_example(record: Mapping[str, Any], attributes: Mapping[str, object]) -> dict[str, object]:
    """Return the columns of a trace that belongs to an example of a data set: the id, the method, what is expected."""
    example = record.get("reference_example_id") or attributes.get("langfuse.experiment.item.id")
    if not example:
        return {}
    method = record.get("session_name") or record.get("session_id") or attributes.get("langfuse.experiment.name")
    expected = _parse_text(attributes.get("langfuse.experiment.item.expected_output"))
    columns = {"id": str(example), "method": method and str(method), "reference": expected}
    return {name: value for name, value in columns.items() if value}


def _get_name(record: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((str(record[name]) for name in names if record.get(name)), "")


def _read_attributes(attributes: object) -> dict[str, Any]:
    """Read attributes: an object, or the list of OTLP, whose values have their types."""
    content = _parse_text(attributes)
    if isinstance(content, list):
        return {str(pair.get("key")): _read_typed(pair.get("value")) for pair in content if isinstance(pair, Mapping)}
    return {str(name): value for name, value in content.items()} if isinstance(content, Mapping) else {}


def _read_typed(value: object) -> object:
    """Read a value of OTLP, such as `{"intValue": "3"}`."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, content = next(iter(value.items()))
    match kind.replace("_v", "V"):
        case "intValue":
            with suppress(TypeError, ValueError):
                return int(content)
            return content
        case "arrayValue":
            return [_read_typed(part) for part in _as_list(_read_object(content).get("values"))]
        case "kvlistValue":
            return _read_attributes(_read_object(content).get("values"))
        case _:
            return content


def _read_events(events: object) -> dict[str, Any]:
    """Return the attributes of events that belong to their span: messages, documents that were found, exceptions."""
    attributes: dict[str, Any] = {}
    messages: list[object] = []
    documents: list[object] = []
    for event in _list_objects(events):
        name, own = str(event.get("name")), _read_attributes(event.get("attributes"))
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if name.startswith("gen_ai.") and name.endswith(".message") and own.get("content"):
            messages.append({"role": role, "content": own["content"]})
        elif name == "gen_ai.choice":
            attributes["gen_ai.completion"] = own.get("message") or own.get("content")
        elif name in {"db.query.result", "db.search.result"}:
            documents.append({part.rpartition(".")[2]: value for part, value in own.items()})
        elif name == "exception" or name.startswith("gen_ai."):
            attributes |= own
    if messages:
        attributes.setdefault("gen_ai.input.messages", messages)
    return {**attributes, "retrieval.documents": documents} if documents else attributes


def _nest_names(attributes: Mapping[str, object]) -> dict[str, Any]:
    """Return attributes with dotted names as objects in objects.

    Example:
        >>> _nest_names({"input.value": "Who?", "documents.0.id": "d1"})
        {'input': {'value': 'Who?'}, 'documents': {'0': {'id': 'd1'}}}
    """
    nested: dict[str, Any] = {}
    for name, value in attributes.items():
        if value is None:
            # A table has the columns of all other spans.
            continue
        *steps, last = name.split(".")
        inner = nested
        for step in steps:
            part = inner.get(step)
            if not isinstance(part, dict):
                # A value beside its own parts is less than they are.
                part = inner[step] = {}
            inner = part
        if not isinstance(inner.get(last), dict):
            inner[last] = value
    return nested


def _walk(nested: Mapping[str, Any], path: str) -> object:
    """Return the value at a path of attributes, a list if its names are numbers; None without a value."""
    value: Any = nested
    for step in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    if isinstance(value, Mapping) and value and all(map(_INDEX.fullmatch, value)):
        return [value[number] for number in sorted(value, key=int)]
    return value


def _parse_text(value: object) -> object:
    """Return what a text stands for if it is JSON or a list of Python; anything else unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith((*LIST_STARTS, '"')):
        return value
    with suppress(InvalidJsonError):
        return parse_cell(value)[0]
    return value


def _read_object(value: object) -> dict[str, Any]:
    content = _parse_text(value)
    return {str(name): part for name, part in content.items()} if isinstance(content, Mapping) else {}


def _find_value(record: Mapping[str, Any], nested: Mapping[str, Any], own: Iterable[str], paths: Iterable[str]) -> Any:  # noqa: ANN401 - JSON
    """Return the first value that a span has under its own names or those of attributes."""
    values = (*(record.get(name) for name in own), *(_walk(nested, path) for path in paths))
    return next((value for value in values if value is not None and value != ""), None)


def _find_kind(record: Mapping[str, Any], attributes: Mapping[str, Any], nested: Mapping[str, Any]) -> str:
    """Return what a span is, by the kind that it names, else by its attributes."""
    names = [record.get(name) for name in ("run_type", "span_type", "type", "span_kind")]
    names += [attributes.get(name) for name in KIND_NAMES]
    kinds = [kind for name in names if name and (kind := str(name).strip('"').lower()) not in NO_KINDS]
    if matches := [KINDS[kind] for kind in kinds if kind in KINDS]:
        return matches[0]
    extra = _read_object(record.get("extra") or record.get("metadata"))
    node_name = _read_object(extra.get("metadata", extra)).get("langgraph_node")
    if "graph.node.id" in attributes or (node_name and node_name == record.get("name")):
        return GRAPH
    if kinds:
        return STEP
    if any(_walk(nested, path) for path in DOCUMENT_NAMES):
        return RETRIEVER
    return MODEL if "llm.model_name" in attributes or "gen_ai.request.model" in attributes else STEP


def _read_moment(record: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """Return a time in seconds, from a number of any unit or a text."""
    value = next((record[name] for name in names if record.get(name)), None)
    if isinstance(value, str) and value.isdigit() and len(value) <= MAX_DIGITS:
        value = int(value)
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / next((divisor for least, divisor in MOMENT_DIVISORS if value >= least), 1)


def _read_end(record: Mapping[str, Any], start: float | None) -> float | None:
    end = _read_moment(record, ("end_time_unix_nano", "end_time"))
    if end is not None or start is None:
        return end
    seconds = _as_number(record.get("latency"))
    names = ("execution_duration_ms", "execution_time_ms", "execution_duration")
    milliseconds = next((number for name in names if (number := _as_number(record.get(name))) is not None), None)
    if seconds is None and milliseconds is not None:
        seconds = milliseconds / 1000
    return None if seconds is None else start + seconds


def _as_number(value: object) -> float | None:
    """Return a number, also one that was written as a text; None for anything else."""
    if isinstance(value, str) and value:
        with suppress(ValueError):
            value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER
    return float(value) if is_number else None  # type: ignore[arg-type] # mypy does not know what is_number says


def _read_error(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """Return why a span failed, empty if it did not."""
    status = _read_object(record.get("status")) or {"code": record.get("status")}
    codes = (record.get("status_code"), record.get("level"), record.get("state"), status.get("code"))
    code = str(next(filter(None, (*codes, status.get("status_code"))), ""))
    message = status.get("message") or status.get("description")
    if "error" not in code.lower() and code != "2" and not record.get("error"):
        return ""
    texts = (
        record.get("error"),
        message,
        record.get("status_message"),
        attributes.get("exception.message"),
        attributes.get("error.type"),
    )
    reason = next((str(text) for text in texts if text and text is not True), NO_REASON)
    return reason.partition("Traceback (most recent call last)")[0].strip() or reason


def _read_usage(record: Mapping[str, Any], nested: Mapping[str, Any], outputs: object) -> dict[str, float]:
    """Return the tokens and the cost of a span, as far as they are recorded."""
    reply = _read_object(outputs)
    extra = _read_object(_read_object(record.get("extra")).get("metadata"))
    tokens = [record.get("usage_details"), record.get("usage"), *(_walk(nested, path) for path in TOKEN_NAMES)]
    tokens += [reply.get("usage_metadata"), reply.get("usage"), extra.get("usage_metadata")]
    tokens += [_read_object(reply.get("llm_output")).get("token_usage")]
    # Of a record itself, only names that cannot be those of its texts.
    own = {name: value for name, value in record.items() if "_" in name}
    costs = [own, record.get("cost_details"), *(_walk(nested, path) for path in COST_NAMES)]
    usage = {
        "prompt_tokens": _find_number([*tokens, own], PROMPT_NAMES),
        "output_tokens": _find_number([*tokens, own], OUTPUT_TOKEN_NAMES),
        "cost": _find_number(costs, TOTAL_NAMES),
    }
    # LangSmith writes 0 for every run that asks no model.
    return {name: number for name, number in usage.items() if number}


def _find_number(parts: Iterable[object], names: Sequence[str]) -> float | None:
    """Return the first number that one of some objects has under one of some names."""
    numbers = (_as_number(content.get(name)) for part in parts if (content := _read_object(part)) for name in names)
    return next((number for number in numbers if number is not None), None)


def _read_metadata(record: Mapping[str, Any], nested: Mapping[str, Any]) -> dict[str, object]:
    """Return what the root of a trace is labelled with: its metadata, and its tags as labels that are true."""
    extra = _read_object(record.get("extra"))
    parts = [record.get("metadata"), extra.get("metadata"), *(_walk(nested, path) for path in METADATA_NAMES)]
    metadata = {
        name: value
        for part in parts
        for name, text in _read_object(part).items()
        if is_tag_value(value := _parse_text(text)) and not name.startswith(INTERNAL_PREFIXES)
    }
    labels = [record.get("tags"), *(_walk(nested, path) for path in LABEL_NAMES)]
    for label in (label for listed in map(_parse_text, labels) if isinstance(listed, list) for label in listed):
        metadata[str(label)] = True
    named = {name: record.get(name) for name in ("session_id", "user_id", "environment", "trace_name")}
    metadata |= {name: value for name, value in named.items() if value}
    return {**({"trace_name": record["name"]} if record.get("name") else {}), **metadata}


def _read_session(attributes: Mapping[str, Any]) -> dict[str, object]:
    values = {
        tag: next((attributes[name] for name in names if attributes.get(name)), None)
        for tag, names in SESSION_NAMES.items()
    }
    return {tag: value for tag, value in values.items() if value is not None}


def _list_turns(value: object) -> list[dict[str, object]]:
    """Return the turns of messages; what is no message among them is left out."""
    if isinstance(value, Mapping):
        return read_turns(value) or read_turns([_unwrap_message(value)]) or []
    if not isinstance(value, list):
        return []
    if len(value) == 1 and isinstance(value[0], list):
        return _list_turns(value[0])
    return [turn for part in value for turn in read_turns([_unwrap_message(part)]) or ()]


def _unwrap_message(value: object) -> object:
    """Return the message of OpenInference, which is in an object, or has its names with dots."""
    if not isinstance(value, Mapping):
        return value
    inner = _nest_names(value) if any("." in str(name) for name in value) else value
    message = inner.get("message")
    if not isinstance(message, Mapping):
        return inner
    contents = _walk(message, "contents")
    if message.get("content") is None and isinstance(contents, list):
        texts = [_nest_names(part) if isinstance(part, Mapping) else {} for part in contents]
        return {**message, "content": [part.get("message_content", part) for part in texts]}
    return message


def _read_question(value: object) -> dict[str, object]:
    """Return the columns of what was asked: the question and the turns before it, or an object that holds it."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return {"question": str(value)}
    if parts := split_conversation(_list_turns(value)):
        history, question, _ = parts
        return {"question": question, **({"history": history} if history else {})}
    if not isinstance(value, Mapping) or not value:
        return {}
    if value.keys() <= {*INPUT_WRAPPERS, *BESIDE_INPUTS}:
        passed = (value.get(name) for name in INPUT_WRAPPERS)
        firsts = (part[0] if isinstance(part, list) and part and not _list_turns(part) else part for part in passed)
        return next((asked for part in firsts if (asked := _read_question(part))), {})
    return {"inputs": value}


def _read_answer(value: object) -> dict[str, object]:
    """Return the columns of what was answered: the answer, or an object that holds it."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return {"answer": str(value)}
    if answers := [turn["text"] for turn in _list_turns(value) if turn["role"] == "assistant"]:
        return {"answer": answers[-1]}
    if isinstance(value, list):
        return _read_answer(value[0]) if len(value) == 1 else {}
    if not isinstance(value, Mapping) or not value:
        return {}
    inner = next((value[name] for name in OUTPUT_WRAPPERS if isinstance(value.get(name), list | Mapping)), None)
    return (_read_answer(inner) if inner else {}) or {"outputs": value}


def _read_found(kind: str, nested: Mapping[str, Any], outputs: object) -> dict[str, object]:
    """Return the columns of what a retriever, a tool or a step of a graph found: chunks, triples, a walk."""
    documents = next(
        (listed for path in DOCUMENT_NAMES if (listed := _list_documents(_walk(nested, path))) is not None), None
    )
    if documents is not None:
        return {"chunks": documents}
    from greval.datasets.replies.forms import read_reply
    from greval.errors import MethodError

    with suppress(MethodError):
        if isinstance(outputs, Mapping | str) and (reply := read_reply(outputs)):
            found: dict[str, object] = {
                name: reply.fields[name] for name in ("chunks", "triples", "traversal") if name in reply.fields
            }
            if found:
                return found
    documents = _list_documents(outputs) if kind in {RETRIEVER, RERANKER} else None
    return {} if documents is None else {"chunks": documents}


def _list_documents(value: object) -> list[object] | None:
    """Return documents as a chunk may be written, in a list or an object that has the list; None for other values."""
    value = _parse_text(value)
    if isinstance(value, Mapping):
        lists = [value.get(name) for name in PASSAGE_NAMES]
        lists += [part for part in value.values() if isinstance(part, list)]
        value = next((listed for listed in lists if isinstance(listed, list)), None)
    return [*map(_read_document, value)] if isinstance(value, list) else None


def _read_document(value: object) -> object:
    """Return a document of OpenInference, or one that is written as JSON, as an object of its fields."""
    document = _parse_text(value)
    if not isinstance(document, Mapping):
        return value
    inner = _nest_names(document) if any(str(name).startswith("document.") for name in document) else dict(document)
    if isinstance(inner.get("document"), Mapping) and len(inner) == 1:
        inner = dict(inner["document"])
    elif isinstance(inner.get("document"), str):
        inner["text"] = inner.pop("document")
    if isinstance(value, str) and inner.keys().isdisjoint(DOCUMENT_FIELDS):
        # It is a passage of JSON.
        return value
    return {name: _parse_text(part) if name == "metadata" else part for name, part in inner.items()}


def _get_identity(document: object) -> tuple[str, str]:
    """Return by what a document is known, its id or else its text, and its text."""
    if not isinstance(document, Mapping):
        return str(document), str(document)
    values = [str(document[name]) for name in DOCUMENT_FIELDS if document.get(name) is not None]
    return (values[0], values[-1]) if values else (str(document), "")


def _build_row(trace: _Trace, note: str) -> RawRow:
    """Return the row of a trace, at the place of its first span."""
    values = _build_values(trace.spans)
    return RawRow(trace.number, values, trace.faults, trace.unit, note)


def _build_values(spans: Sequence[Span]) -> dict[str, object]:
    """Return the columns of the row of a trace: what its root was asked and answered, and what its spans found."""
    by_id = {span.id: span for span in spans}
    lines = {span.id: [*_iterate_ancestors(span, by_id)] for span in spans}
    ordered = sorted(spans, key=lambda span: (len(lines[span.id]), span.start if span.start is not None else inf))
    root = ordered[0]
    values: dict[str, object] = {"id": root.trace, **root.columns}
    values |= _choose_question(ordered)
    answering = ordered[:1] if root.error else ordered
    values |= _choose_answer(answering, lines)
    timed = sorted(spans, key=lambda span: span.start if span.start is not None else inf)
    values |= _join_found([span for span in timed if span.found and not _is_inside(span, lines[span.id])])
    if steps := _build_steps(timed, lines, root):
        values.setdefault("traversal", steps)
    if usage := _sum_usage(spans, lines, root):
        values["usage"] = usage
    if root.error:
        # What stands above all spans, as the trace of MLflow, has no reason of its own.
        values["error"] = next((span.error for span in ordered if span.error not in {"", NO_REASON}), NO_REASON)
    metadata = {name: value for span in reversed(ordered) if not span.parent for name, value in span.metadata.items()}
    metadata |= root.metadata | ({"trace_id": root.trace} if values["id"] != root.trace else {})
    values.pop("node_parent", None)
    return values | ({"metadata": metadata} if metadata else {})


def _iterate_ancestors(span: Span, by_id: Mapping[str, Span]) -> Iterator[Span]:
    """Yield the spans above a span, the nearest first."""
    parent = by_id.get(span.parent)
    for _ in range(MAX_DEPTH):
        if parent is None or parent is span:
            return
        yield parent
        parent = by_id.get(parent.parent)


def _is_inside(span: Span, ancestors: Collection[Span]) -> bool:
    """Return whether what a span found was passed on by a span around it of the same kind."""
    return any(other.kind == span.kind and "chunks" in other.found for other in ancestors)


def _choose_question(ordered: Sequence[Span]) -> dict[str, object]:
    """Return what the highest span was asked; prompts of a model, which may hold more than the question, come last."""
    asked = [span for span in ordered if span.asked]
    return next((span.asked for span in asked if span.kind != MODEL), asked[0].asked if asked else {})


def _choose_answer(ordered: Sequence[Span], lines: Mapping[str, Sequence[Span]]) -> dict[str, object]:
    """Return what the highest span answered, the last of those that are equally high."""
    answered = [span for span in ordered if span.answered]
    depth = min((len(lines[span.id]) for span in answered), default=0)
    highest = [span for span in answered if len(lines[span.id]) == depth]
    return max(highest, key=lambda span: span.end or 0.0).answered if highest else {}


def _join_found(spans: Iterable[Span]) -> dict[str, object]:
    """Join what the spans found, in order: a document once, and those that were reranked at their new ranks."""
    chunks: dict[tuple[str, str], object] = {}
    values: dict[str, object] = {}
    for span in spans:
        chunks = {key: document for key, document in chunks.items() if key[0] not in span.reranked}
        for document in _as_list(span.found.get("chunks")):
            chunks.setdefault(_get_identity(document), document)
        if "chunks" in span.found:
            names = Counter(name for name, _ in chunks)
            values["chunks"] = [_name_document(document, names) for document in chunks.values()]
        if "triples" in span.found:
            values["triples"] = [*_as_list(values.get("triples")), *_as_list(span.found["triples"])]
        if "traversal" in span.found:
            values["traversal"] = span.found["traversal"]
    return values


def _name_document(document: object, names: Mapping[str, int]) -> object:
    """Return a document; an id that several passages have is that of what they are from."""
    if not isinstance(document, Mapping) or names.get(str(document.get("id")), 0) < 2:  # noqa: PLR2004 - several
        return document
    return {"doc_id": document["id"], **{name: part for name, part in document.items() if name != "id"}}


def _as_list(value: object) -> list[object]:
    return [*value] if isinstance(value, list | tuple) else []


def _build_steps(timed: Sequence[Span], lines: Mapping[str, Sequence[Span]], root: Span) -> dict[str, object] | None:
    """Return the calls of tools and the steps of a graph as a walk: an edge from what called to what was called."""
    steps = [span for span in timed if span.kind in {TOOL, GRAPH} and span is not root]
    if not steps:
        return None
    edges = []
    for span in steps:
        callers = [other.name for other in lines[span.id] if other.kind in {TOOL, GRAPH}]
        # Else it is the highest span, which a trace without a name is not.
        callers += [other.name for other in reversed(lines[span.id]) if other.name]
        caller = span.columns.get("node_parent") or next(iter(callers), root.trace)
        edges.append([str(caller), "calls" if span.kind == TOOL else "leads to", span.name])
    return {"start_nodes": [edges[0][0]], "traversed_edges": edges, "final_nodes": [steps[-1].name]}


def _sum_usage(spans: Sequence[Span], lines: Mapping[str, Sequence[Span]], root: Span) -> dict[str, object]:
    """Sum what the spans used; what a span above others repeats of theirs does not count."""
    usage: dict[str, object] = {}
    for name in ("prompt_tokens", "output_tokens", "cost"):
        repeated = {other.id for span in spans if name in span.usage for other in lines[span.id]}
        amounts = [span.usage[name] for span in spans if name in span.usage and span.id not in repeated]
        if amounts:
            total = sum(amounts)
            usage[name] = total if name == "cost" else round(total)
    models = [span for span in spans if span.kind == MODEL]
    outer = {other.id for span in models for other in lines[span.id]}
    if models:
        usage["llm_calls"] = sum(span.id not in outer for span in models)
    timed = [root] if root.start is not None and root.end is not None else spans
    starts = [span.start for span in timed if span.start is not None]
    ends = [span.end for span in timed if span.end is not None]
    if starts and ends and max(ends) >= min(starts):
        usage["latency"] = round(max(ends) - min(starts), 6)
    return usage
