"""Conversion of rows to cases, with all faults of a row by field, and which column seems to name the method."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval._util.wording import find_typo
from greval.datasets.field_names import (
    FIELD_BY_NAME,
    ID_NAMES,
    MAX_SHOWN,
    METHOD_NAMES,
    SUBFIELDS,
    TYPO_PREFIX,
    MappedRow,
    find_known_name,
    fold_name,
    format_printable,
    is_traversal_log,
    list_names,
)
from greval.datasets.field_values import as_text, convert_value, drop_unknown_parts
from greval.datasets.json_files import RawRow, RefusedLiteral, describe_type
from greval.records.case import TAG, Case

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


METHODS = "methods"
RETRIEVED = "retrieved"
"""The name of what was retrieved, which may be an object with a list for each method."""
RENAMED: Mapping[str, str] = {"response": "answer", "efficiency": "usage"}
MAX_FAULTS = 50
MAX_PATH = 200
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


def split_methods(row: RawRow, position: int) -> Iterator[RawRow]:
    """Yield a row for each method of a row that holds several, and any other row unchanged.

    Plain columns of the row, such as the one that groups the questions, become tags. The reason of a failed response
    becomes its `error`. The rows of a question without an id share an id made from its position.
    """
    methods = row.values.get(METHODS) or _read_rankings(row.values.get(RETRIEVED))
    if not isinstance(methods, Mapping) or not all(isinstance(response, Mapping) for response in methods.values()):
        yield row
        return
    column = METHODS if METHODS in row.values else RETRIEVED
    shared = {_name_tag(name, value): value for name, value in row.values.items() if name != column}
    if not any(shared.get(name) for name in list_names("id")):
        shared["id"] = f"row-{position}"
    for method, response in methods.items():
        values = {RENAMED.get(name, name): value for name, value in response.items() if name != "failures"}
        yield replace(row, values={**shared, **values, "method": method, **_read_error(response.get("failures"))})


def has_methods(values: Mapping[str, object]) -> bool:
    """Return whether a row holds the responses, or the retrieved documents, of several methods."""
    return METHODS in values or _read_rankings(values.get(RETRIEVED)) is not None


def _read_rankings(retrieved: object) -> Mapping[str, Mapping[str, object]] | None:
    """Return the responses of methods of which a list of documents is recorded for each; None if it is none."""
    if (
        not isinstance(retrieved, Mapping)
        or not retrieved
        or not all(isinstance(listed, list) for listed in retrieved.values())
    ):
        return None
    return {str(name): {RETRIEVED: documents} for name, documents in retrieved.items()}


def _name_tag(name: str, value: object) -> str:
    plain = isinstance(value, str | int | float) and find_known_name(name) is None
    return f"tags.{name}" if plain else name


def _read_error(failures: object) -> dict[str, object]:
    """Return the reason why there is no response, as a field of a case."""
    failure = failures.get("response") if isinstance(failures, Mapping) else None
    message = failure.get("message") if isinstance(failure, Mapping) else None
    return {} if message is None else {"error": message}


def build_case(row: RawRow, settled: MappedRow, made_id: str, method: str | None) -> Case | str:
    """Return the case of a row, or all its faults; `made_id` and `method` are used if the row has none."""
    if "" in row.faults:
        return row.faults[""]
    values = {field: convert_value(field, value) for field, value in settled.values.items()}
    values["id"] = get_id(settled, made_id)
    drop_unknown_parts(values, settled)
    values.setdefault("method", method or "")
    if "question" not in values and is_traversal_log(row.values):
        # A traversal log names its question by the id alone.
        values["question"] = values["id"]
    reported = {**row.faults, **settled.faults}
    faults = [f"{format_printable(name, MAX_PATH)}: {why}" for name, why in reported.items()]
    refused = {FIELD_BY_NAME.get(name) for name in row.faults}
    try:
        case = Case.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        faults += [_describe_fault(detail, settled) for detail in details if not _is_reported(detail, refused)]
    else:
        if not faults:
            return case
    more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    return "; ".join([*faults[:MAX_FAULTS], *more])


def get_id(settled: MappedRow, made_id: str) -> object:
    """Return the id of a row, a number as text, or `made_id` if it has none."""
    row_id = as_text(settled.values.get("id"))
    return made_id if row_id in (None, "") else row_id


def _is_reported(detail: ErrorDetails, refused: Collection[str | None]) -> bool:
    """Return whether a fault only follows from a value that the reader of the file already rejected."""
    return isinstance(detail["input"], RefusedLiteral) or (detail["type"] == "missing" and detail["loc"][0] in refused)


def _describe_fault(detail: ErrorDetails, settled: MappedRow) -> str:
    """Describe in one clause which field is wrong, and how."""
    field_name, *parts = detail["loc"]
    name = settled.names.get(str(field_name), str(field_name))
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{format_printable(part)}" for part in parts if part != "[key]"
    )
    field = f"{name}{path}" if name == field_name else f"{name}{path} ({field_name})"
    return f"{field}: {_explain_fault(detail, settled)}"


def _explain_fault(detail: ErrorDetails, settled: MappedRow) -> str:
    match detail["type"]:
        case "missing":
            return _explain_missing(detail, settled)
        case "extra_forbidden":
            subfields = SUBFIELDS[str(detail["loc"][0])]
            suggestion = find_typo(str(detail["loc"][-1]), subfields)
            return f"is unknown{f', nearest: {suggestion}' if suggestion else ''}; known are {', '.join(subfields)}"
        case "model_type" | "dict_type":
            item = "an object or a list of three" if detail["loc"][0] == "triples" else "an object"
            return f"must be {item}, got {_format_value(detail['input'])}"
        case "tuple_type":
            return f"must be a list, got {_format_value(detail['input'])}"
        case "float_parsing" if _DECIMAL_COMMA.fullmatch(text := str(detail["input"])):
            # Spreadsheets of many languages write a decimal comma.
            return f"must be a valid number, got {text!r}; write {text.replace(',', '.')}"
        case _:
            must = detail["msg"].replace("Input should be", "must be", 1).replace("a valid string", "a text", 1)
            return f"{must[:1].lower()}{must[1:]}, got {_format_value(detail['input'])}"


def _explain_missing(detail: ErrorDetails, settled: MappedRow) -> str:
    """Return the message that a field is missing, with the unknown name that may have been meant."""
    if detail["loc"] == ("question",):
        names = list_names("question")
        unknown = (name for name, why in settled.ignored.items() if not why or why.startswith(TYPO_PREFIX))
        suggestion = next((name for name in unknown if find_typo(name, names)), None)
        return (
            f"is missing, nearest: {format_printable(suggestion)}"
            if suggestion
            else f"is missing; it may be called {', '.join(names)}, or named with --column question=NAME"
        )
    value, name = detail["input"], str(detail["loc"][-1])
    suggestion = (
        next((key for key in value if find_typo(str(key), [name])), None) if isinstance(value, Mapping) else None
    )
    return f"is missing, nearest: {format_printable(str(suggestion))}" if suggestion else "is missing"


def _format_value(value: object) -> str:
    """Format a value if it is short; others may be nested too deeply to be printed."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return describe_type(value)
    return format_printable(repr(value[:MAX_SHOWN] if isinstance(value, str) else value))


OTHER_MEANINGS = frozenset(
    {
        *("repeat", "repetition", "run", "run_id", "trial", "seed", "attempt", "iteration", "round", "fold", "rep"),
        *("replicate", "annotator", "rater", "judge", "label", "grade", "score", "rank", "lang", "language", "split"),
    }
)
"""Names of columns with few values for each question that are no methods."""
MAX_VALUES = 20
MAX_ROWS = 50_000
"""The number of rows by which columns are chosen; the rows after them are like these."""
MIN_COVERAGE = 0.75
"""The share of the pairs of a question and a value that a column of methods has at least."""


class MethodColumnFinder:
    """Finds the column of the method in rows without one: each question occurs once for each of its few values."""

    def __init__(self) -> None:
        """Start without rows."""
        self._rows = 0
        self._questions: dict[int, int] = {}
        # The questions of each value of a column.
        self._columns: dict[str, dict[str, set[int]]] = {}
        self._ids: dict[str, dict[int, str]] = {}
        self._dead: set[str] = set()
        self._own_ids: dict[int, str] | None = {}

    def add(self, case: Case, settled: MappedRow) -> None:
        """Add a row that is a case."""
        if self._rows >= MAX_ROWS or case.other_response is not None:
            return
        self._rows += 1
        question = hash(case.question)
        self._questions[question] = self._questions.get(question, 0) + 1
        if self._own_ids is not None:
            has_id = (
                settled.values.get("id") not in (None, "") and self._own_ids.setdefault(question, case.id) == case.id
            )
            self._own_ids = self._own_ids if has_id else None
        for path, tag in _list_tags(settled):
            if path not in self._dead and not self._add_value(question, path, tag, case.tags.get(tag, "")):
                self._dead.add(path)
                self._columns.pop(path, None)
        for path, value in _list_ids(settled):
            id_by_question = self._ids.setdefault(path, {})
            if id_by_question.setdefault(question, value) != value:
                # Two ids of one question: it is no id of questions.
                id_by_question[question] = ""

    def _add_value(self, question: int, path: str, tag: str, value: str) -> bool:
        """Add a value; return False if the column is no method, such as with two answers to one question."""
        name = fold_name(tag)
        if name in OTHER_MEANINGS or name in ID_NAMES or (name not in METHOD_NAMES and _is_number(value)):
            return False
        column = self._columns.setdefault(path, {})
        questions = column.setdefault(value, set())
        if question in questions or len(column) > MAX_VALUES:
            return False
        questions.add(question)
        return True

    def find_columns(self) -> dict[str, str]:
        """Return the columns of the method and of the question's id, as far as rows are likely to have them."""
        methods = [path for path, column in self._columns.items() if self._is_method(column)]
        ids = [path for path, id_by_question in self._ids.items() if self._is_id(id_by_question)]
        columns: dict[str, str] = {}
        if methods:
            columns["method"] = min(methods, key=_rank_name)
        if ids and self._own_ids is None and (methods or len(self._questions) == self._rows):
            columns["id"] = ids[0]
        return columns

    def describe(self) -> str | None:
        """Ask whether the columns that were found are the method and the id; None if no column was found."""
        columns = self.find_columns()
        if "method" in columns:
            path, values = columns["method"], len(self._columns[columns["method"]])
            return f"{path} has {values} values and each question occurs once per value: is it the method?"
        return f"{columns['id']} has a value of its own for each question: is it the id?" if columns else None

    def _is_method(self, column: Mapping[str, set[int]]) -> bool:
        rows, questions = sum(map(len, column.values())), len(self._questions)
        if len(column) < 2 or rows < self._rows or questions == self._rows:  # noqa: PLR2004 - two methods
            return False
        return rows >= MIN_COVERAGE * len(column) * questions

    def _is_id(self, id_by_question: Mapping[int, str]) -> bool:
        return len(id_by_question) == len(self._questions) == len({*id_by_question.values()} - {""})


def _list_tags(settled: MappedRow) -> Iterator[tuple[str, str]]:
    """Yield the place of each tag of a row with its name: a column, or a value inside `metadata` or `tags`."""
    yield from settled.tagged.items()
    tags = settled.values.get("tags")
    if isinstance(tags, Mapping) and len(tags) > len(settled.tagged):
        columns = {*settled.tagged.values()}
        yield from ((f"{TAG}{name}", name) for name in tags if name not in columns)


def _list_ids(settled: MappedRow) -> Iterator[tuple[str, str]]:
    """Yield the columns that may be the id of the question but were not read as such, with their values."""
    tags = settled.values.get("tags")
    for path, tag in _list_tags(settled):
        is_id = fold_name(tag) in ID_NAMES or find_known_name(tag) in list_names("id")
        if is_id and isinstance(tags, Mapping) and tags.get(tag) is not None:
            yield path, str(tags[tag])


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return value in {"true", "false"}
    return True


def _rank_name(path: str) -> tuple[int, str]:
    name = fold_name(path.rpartition(".")[2])
    return (METHOD_NAMES.index(name) if name in METHOD_NAMES else len(METHOD_NAMES)), path
