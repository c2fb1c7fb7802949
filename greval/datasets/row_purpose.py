"""What the rows of a source are read as, such as cases or labels: their names in messages, and what each must have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from greval._util.wording import find_typo
from greval.datasets.field_names import find_known_name, fold_name, format_printable, list_names, split_wrapped
from greval.errors import DataError

ColumnCheck = Callable[[Sequence[str], str], None]
"""Raises `DataError` if the names of the columns, at a place, lack what every row needs."""
LIST_KEYS = ("cases", "data", "results", "testCases", "test_results", "examples", "samples", "goldens", "items", "rows")
"""The names under which a JSON object may hold the list of its rows."""
MAX_NAMES_SHOWN = 200
TEXT_NAMES = frozenset({"question", "query", "document", "doc"})
"""Names of texts rather than of ids in a table that could hold cases."""
JUDGED_NAMES = ("relevant_docs", "qrels")
TRACE_LISTS = ("traces", "spans", "runs", "observations")
"""The names under which a JSON object may hold the list of its spans or traces."""
SPAN_HINTS = frozenset(
    {
        *("resourceSpans", "resource_spans", "traceId", "trace_id", "context.trace_id", "context", "run_type"),
        *("info", *TRACE_LISTS),
    }
)
"""The names of which each form of spans has one; most rows have none, and are looked at no further."""
SPAN_FORMS: tuple[frozenset[str], ...] = (
    frozenset({"resource_spans"}),
    *(frozenset({"trace_id", "span_id", start}) for start in ("start_time", "start_time_unix_nano")),
    frozenset({"context.trace_id", "context.span_id", "start_time"}),
    frozenset({"run_type", "id", "start_time"}),
    frozenset({"trace_id", "id", "type", "start_time"}),
    *(frozenset({"observations", other}) for other in ("trace", "timestamp")),
    *(frozenset({"spans", trace}) for trace in ("trace_id", "request_id")),
)
"""The names of which a span, or an object of spans, has all of one form at least."""
SPAN_PARTS: Mapping[str, tuple[str, ...]] = {"context": ("trace_id", "span_id"), "data": ("spans",)}
"""Objects inside a span or a trace by which it is recognised, too, and the names that each has."""
SPAN_COLUMNS = ("attributes", "context", "inputs", "outputs", "input", "output", "spans", "events", "extra", "metadata")
"""The beginnings of the columns that a table of spans may have as lists or objects."""


def check_question(names: Sequence[str], location: str) -> None:
    """Raise `DataError` if a table has no column for the question."""
    prefixes = (wrapped[0] for name in names if (wrapped := split_wrapped(name)))
    if not set(list_names("question")) & {find_known_name(name) for name in (*names, *prefixes)}:
        message = f"{location}: {describe_missing('question', list_names('question'), names)}"
        raise DataError(message, columns=map(format_printable, names))


def describe_missing(field: str, field_names: Sequence[str], columns: Sequence[str], *, kind: str = "columns") -> str:
    """Describe that a table has no column for a field, which may have some names; `columns` are those it has."""
    suggestion = next((name for name in columns if find_typo(name, field_names)), None)
    hint = f"is it {format_printable(suggestion)!r}?" if suggestion else f"it may be called {', '.join(field_names)}"
    listing = format_printable(", ".join(columns), MAX_NAMES_SHOWN)
    return f"no column for the {field}; {hint} ({kind}: {listing}); name it with --column {field}=NAME"


def check_known(names: Sequence[str], location: str) -> None:
    """Raise `DataError` if a table has no column of a known name."""
    if not any(map(find_known_name, names)):
        columns = format_printable(", ".join(names), MAX_NAMES_SHOWN)
        raise DataError(
            f"{location}: no column has a known name (columns: {columns}); name one with --column FIELD=NAME"
        )


def accept_any_columns(_names: Sequence[str], _place: str) -> None:
    """Accept the columns of any table."""


def read_query_set(content: Mapping[str, object]) -> list[object] | None:
    """Return a row for each query of a data set, as LlamaIndex keeps them for fine-tuning; None for other content.

    Example:
        >>> read_query_set({"queries": {"q1": "Who?"}, "corpus": {"d1": "Ada."}, "relevant_docs": {"q1": ["d1"]}})
        [{'id': 'q1', 'question': 'Who?', 'gold': {'essential_docs': ['d1']}}]
    """
    queries = content.get("queries")
    judged = next((content[name] for name in JUDGED_NAMES if isinstance(content.get(name), Mapping)), None)
    if not isinstance(queries, Mapping) or not isinstance(judged, Mapping):
        return None
    gold = {
        name: {"gold": documents if isinstance(documents, Mapping) else {"essential_docs": documents}}
        for name, documents in judged.items()
    }
    return [{"id": name, "question": text, **gold.get(name, {})} for name, text in queries.items()]


def holds_spans(record: object) -> bool:
    """Return whether a row is a span, a trace, or an object of spans, in any of the known forms.

    A table is recognised by the names of its columns.

    Example:
        >>> holds_spans({"traceId": "t", "spanId": "s", "startTimeUnixNano": "1"}), holds_spans({"question": "Who?"})
        (True, False)
    """
    if not isinstance(record, Mapping) or SPAN_HINTS.isdisjoint(record):
        return False
    names = {fold_name(name) for name in record}
    if any(form <= names for form in SPAN_FORMS):
        return True
    parts = ((record.get(name), inner) for name, inner in SPAN_PARTS.items() if name in names)
    return any(isinstance(part, Mapping) and part.keys() >= {*inner} for part, inner in parts)


def expand_cases(content: Mapping[str, object]) -> list[object] | None:
    """Return the rows of an object in which traces or a query set are kept; None for other content."""
    if holds_spans(content):
        return [content]
    lists = (content.get(name) for name in TRACE_LISTS)
    spans = next((rows for rows in lists if isinstance(rows, list) and rows and holds_spans(rows[0])), None)
    return read_query_set(content) if spans is None else spans


@dataclass(frozen=True)
class RowPurpose:
    """What the rows of a source are read as: one row and what it has in messages, and the check of a table's columns.

    A JSON object with one of the `main_names` is a row; another may hold its rows as a list under the `list_keys`, or
    in another form, from which `expand` returns them. `spread` returns the values of a row with those inside of lists
    and objects as columns. A TREC file has a row for each question, or for each line if `trec_columns` are given, as
    which files of unknown endings are read too. A table with a row for each document of a question is brought together
    by question if `ranked_as` says what it then is, and spans by trace if rows `may_be_traced`. If the main value of a
    row may be a list (`has_listed_values`), an object of lists is a row and no table by column.
    """

    noun: str
    content: str
    main_names: tuple[str, ...] = ()
    check: ColumnCheck = accept_any_columns
    list_keys: tuple[str, ...] = LIST_KEYS
    spread: Callable[[Mapping[str, object]], Mapping[str, object]] | None = field(default=None)
    expand: Callable[[Mapping[str, object]], list[object] | None] = field(default=read_query_set)
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trec_columns: tuple[str, ...] = ()
    ranked_as: Literal["", "run", "qrels"] = ""
    may_be_traced: bool = False
    has_listed_values: bool = False


CASE_ROWS = RowPurpose(
    "case",
    "a question",
    (*list_names("question"),),
    check_question,
    expand=expand_cases,
    ranked_as="run",
    may_be_traced=True,
)
GOLD_ROWS = RowPurpose("case", "a question", (*list_names("question"),), check_known, ranked_as="qrels")
