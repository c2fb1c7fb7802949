"""Conversion of rows to cases: short forms and the forms of other tools are read, and faults are reported by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval._util.wording import find_typo
from greval.datasets.field_names import (
    FIELD_BY_NAME,
    MAX_SHOWN,
    SUBFIELDS,
    TYPO_PREFIX,
    MappedRow,
    find_known_name,
    format_printable,
    is_traversal_log,
    list_names,
)
from greval.datasets.json_files import RawRow, RefusedLiteral, describe_type
from greval.records.case import Case, is_grade_mapping

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


METHODS = "methods"
RENAMED: Mapping[str, str] = {"response": "answer", "efficiency": "usage"}
IDS = ("id", "chunk_id", "_id")
DOC_IDS = ("doc_id", "document_id", "doc_uri", "source", "file_path", "url")
SCORES = ("score", "relevance_score", "similarity", "_score")
TEXTS = ("page_content", "content", "paragraph_text", "passage", "chunk_text", "body", "snippet")
"""Names of the text of a chunk other than `text`."""
TITLE, SENTENCES = "title", "sentences"
NEEDED_PARTS: Mapping[str, frozenset[str]] = {
    "chunks": frozenset({"text"}),
    "triples": frozenset({"subject", "predicate", "object"}),
}
CHUNK_FIELDS = frozenset(SUBFIELDS["chunks"])
USER, ASSISTANT = frozenset({"user", "human"}), frozenset({"assistant", "ai"})
"""The roles of messages whose text is the question, and the answer."""
MAX_FAULTS = 50
MAX_PATH = 200
LARGEST_EXACT = 2**53
_NAME_LISTS = frozenset(
    {"essential_docs", "helpful_docs", "essential_repos", "expected_nodes", "start_nodes", "final_nodes"}
)
"""The parts of gold and of a traversal that are lists of names."""
_SEPARATOR = re.compile(r"[,;|\n]")
_TEXT_FIELDS = ("id", "doc_id", "repo", "version")


def split_methods(row: RawRow, position: int) -> Iterator[RawRow]:
    """Yield a row for each method of a row that holds several, and any other row unchanged.

    Plain columns of the row, such as the one that groups the questions, become tags. The reason of a failed response
    becomes its `error`. The rows of a question without an id share an id made from its position.

    Example:
        >>> row = RawRow(1, {"question": "Who?", "methods": {"walk": {"response": "Ada"}, "flat": {"response": "Bob"}}})
        >>> [(one.values["method"], one.values["answer"]) for one in split_methods(row, 1)]
        [('walk', 'Ada'), ('flat', 'Bob')]
    """
    methods = row.values.get(METHODS)
    if not isinstance(methods, Mapping) or not all(isinstance(one, Mapping) for one in methods.values()):
        yield row
        return
    shared = {_name_tag(name, value): value for name, value in row.values.items() if name != METHODS}
    if not any(shared.get(name) for name in list_names("id")):
        shared["id"] = f"row-{position}"
    for method, given in methods.items():
        values = {RENAMED.get(name, name): value for name, value in given.items() if name != "failures"}
        yield replace(row, values={**shared, **values, "method": method, **_read_error(given.get("failures"))})


def _name_tag(name: str, value: object) -> str:
    plain = isinstance(value, str | int | float) and find_known_name(name) is None
    return f"tags.{name}" if plain else name


def _read_error(failures: object) -> dict[str, object]:
    """Return the reason why there is no response, as a field of a case."""
    failure = failures.get("response") if isinstance(failures, Mapping) else None
    message = failure.get("message") if isinstance(failure, Mapping) else None
    return {} if message is None else {"error": message}


def read_document(text: object, metadata: Mapping[str, object], own_id: object = None) -> dict[str, object]:
    """Return the chunk fields of a LangChain document.

    Of its metadata an id, `doc_id` or `source`, `repo`, `version` and a score are used; its own id takes precedence.

    Example:
        >>> read_document("Nine.", {"source": "hours.md", "page": 4})
        {'text': 'Nine.', 'doc_id': 'hours.md'}
    """
    found: dict[str, object] = {"text": text}
    if (given := own_id if own_id is not None else find_first(metadata, IDS)) is not None:
        found["id"] = str(given)
    if (doc_id := find_first(metadata, DOC_IDS)) is not None:
        found["doc_id"] = str(doc_id)
    found |= {name: str(metadata[name]) for name in ("repo", "version") if metadata.get(name) is not None}
    score = find_first(metadata, SCORES)
    return found if score is None else {**found, "score": score}


def read_chunk(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of a chunk; a document in JSON has its text under `page_content`, `content` or another name.

    Names that no chunk has are kept, see `drop_unknown_parts`. The title is the document if nothing else is.

    Example:
        >>> read_chunk({"page_content": "Nine.", "metadata": {"source": "hours.md"}, "type": "Document"})
        {'text': 'Nine.', 'doc_id': 'hours.md'}
    """
    if given.keys() <= CHUNK_FIELDS:
        return given
    given = unwrap_serialised(given)
    place = next((name for name in ("text", *TEXTS, SENTENCES) if given.get(name) is not None), None)
    text = given.get(place or "")
    if place == SENTENCES and isinstance(text, list | tuple) and all(isinstance(one, str) for one in text):
        text = "".join(map(str, text))
    if place is None:
        return given
    metadata = given.get("metadata")
    found = read_document(text, {**given, **metadata} if isinstance(metadata, Mapping) else given)
    if isinstance(given.get(TITLE), str):
        found.setdefault("doc_id", given[TITLE])
    used = {place, "metadata", "type", *IDS, *DOC_IDS, *SCORES, TITLE, *found}
    return {**found, **{name: value for name, value in given.items() if name not in used and value is not None}}


def drop_unknown_parts(values: dict[str, object], settled: MappedRow) -> None:
    """Drop the keys of chunks and triples that no field has, and record them as ignored.

    If a field that is needed is missing, an unknown key may be meant for it: then all stay, and are faults.
    """
    for own, needed in NEEDED_PARTS.items():
        items, known = values.get(own), {*SUBFIELDS[own]}
        if not isinstance(items, list):
            continue
        for place, item in enumerate(items):
            if isinstance(item, dict) and not item.keys() <= known and needed <= item.keys():
                items[place] = {key: part for key, part in item.items() if key in known}
                for name in item.keys() - known:
                    near = find_typo(str(name), known)
                    column = f"{settled.names.get(own, own)}[*].{name}"
                    settled.ignored.setdefault(column, f"{TYPO_PREFIX}{near}?" if near else "")


def read_message(value: object) -> object:
    """Return the text of a message, a mapping with `content` and a `role` or `type`; return anything else unchanged.

    Example:
        >>> read_message({"role": "assistant", "content": [{"type": "text", "text": "At nine."}]})
        'At nine.'
    """
    if isinstance(value, str) or not isinstance(value, Mapping):  # the first test is faster
        return value
    given = unwrap_serialised(value)
    content = given.get("content")
    if content is None or given.keys().isdisjoint({"role", "type"}):
        return value
    blocks = content if isinstance(content, list | tuple) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    return "".join(text for text in texts if isinstance(text, str))


def _read_turn(value: object, roles: Collection[str]) -> object:
    """Return the text of a message, or of the only message with one of the roles in a list; anything else unchanged."""
    if isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
        messages = [unwrap_serialised(one) for one in value]
        meant = [one for one in messages if one.get("role", one.get("type")) in roles]
        return read_message(meant[0]) if len(meant) == 1 else value
    return read_message(value)


def unwrap_serialised(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return the content of an object serialised by LangChain's `dumpd`, and any other mapping unchanged."""
    inner = given.get("kwargs") if "lc" in given else None
    return inner if isinstance(inner, Mapping) else given


def find_first(record: Mapping[str, object], names: Iterable[str]) -> object:
    """Return the value of the first of several names that is recorded, or None."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def build_case(row: RawRow, settled: MappedRow, made_id: str, method: str | None) -> Case | str:
    """Return the case of a row, or all its faults; `made_id` and `method` are used if the row has none."""
    if "" in row.faults:
        return row.faults[""]
    values = {own: _CONVERTERS.get(own, _keep_value)(value) for own, value in settled.values.items()}
    values["id"] = get_id(settled, made_id)
    drop_unknown_parts(values, settled)
    values.setdefault("method", method or "")
    if "question" not in values and is_traversal_log(row.values):
        values["question"] = values["id"]
    faults = [f"{format_printable(name, MAX_PATH)}: {why}" for name, why in row.faults.items()]
    refused = {FIELD_BY_NAME.get(name) for name in row.faults}
    try:
        case = Case.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        faults += [_describe_fault(detail, settled) for detail in details if not _is_reported(detail, refused)]
    else:
        if not faults:
            return case
    return _join_faults(faults)


def get_id(settled: MappedRow, made_id: str) -> object:
    """Return the id of a row, a number as text, or `made_id` if it has none."""
    given = as_text(settled.values.get("id"))
    return made_id if given in (None, "") else given


def as_text(value: object) -> object:
    """Convert a number to text if a name is expected; equal numbers give equal text.

    Example:
        >>> as_text(17.0)
        '17'
    """
    if isinstance(value, str | bool) or not isinstance(value, int | float) or not isfinite(value):
        return value
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT
    return str(int(value) if whole else value)


def _keep_value(value: object) -> object:
    return value


def _join_answers(value: object) -> object:
    """Join several acceptable answers, one per line, which is the format that the metrics expect.

    They may be in an object, as in SQuAD (`text`) and TriviaQA (`value` and `aliases`).
    """
    if isinstance(value, Mapping) and isinstance(value.get("text"), list | tuple):
        value = value["text"]
    elif isinstance(value, Mapping) and isinstance(value.get("aliases"), list | tuple) and "value" in value:
        value = [value["value"], *value["aliases"]]
    if not isinstance(value, list | tuple):
        return _read_turn(value, ASSISTANT)
    answers = [as_text(item) for item in value]
    if not all(isinstance(answer, str) for answer in answers):
        return value
    return "\n".join(dict.fromkeys(" ".join(str(answer).splitlines()) for answer in answers))


def _convert_chunks(value: object) -> object:
    """Convert chunks to mappings, so that a fault is reported with the chunk's index; a text is one chunk."""
    items = [value] if isinstance(value, str) else _transpose_chunks(value)
    return [_convert_chunk(item) for item in items] if isinstance(items, list | tuple) else items


def _transpose_chunks(value: object) -> object:
    """Return a list of chunks if they are an object of lists, as the Hugging Face hub stores lists of objects."""
    if not isinstance(value, Mapping) or not {"text", SENTENCES, *TEXTS} & {*value}:
        return value
    columns = [*value.values()]
    if not all(isinstance(column, list | tuple) and len(column) == len(columns[0]) for column in columns):
        return value
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _convert_chunk(item: object) -> object:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, dict):  # by far the most common
        return _convert_chunk_fields(item)
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], Mapping):  # noqa: PLR2004 - with its score
        return {**_convert_chunk_fields(item[0]), "score": item[1]}
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], list):  # noqa: PLR2004 - HotpotQA
        return _convert_chunk_fields({TITLE: item[0], SENTENCES: item[1]})
    return _convert_chunk_fields(item) if isinstance(item, Mapping) else item


def _convert_chunk_fields(item: Mapping[str, object]) -> dict[str, object]:
    return {
        key: as_text(part) if key in _TEXT_FIELDS else part for key, part in _drop_missing(read_chunk(item)).items()
    }


def _convert_triples(value: object) -> object:
    return [_convert_triple(item) for item in value] if isinstance(value, list | tuple) else value


def _convert_triple(item: object) -> object:
    if isinstance(item, dict | Mapping):
        return {key: as_text(part) for key, part in _drop_missing(item).items()}
    return _convert_texts(item)


def _convert_graph(value: object) -> object:
    """Convert gold or a traversal, in which all values but the grades of documents are names."""
    if not isinstance(value, Mapping) or is_grade_mapping(value):
        return value
    return {
        key: _convert_nodes(part)
        if key == "nodes"
        else _convert_texts(_wrap_name(part) if key in _NAME_LISTS else part)
        for key, part in _drop_missing(value).items()
    }


def _wrap_name(value: object) -> object:
    """Return a single name as a list; a text that may be several names stays a text, which is a fault."""
    return [value.strip()] if isinstance(value, str) and value.strip() and not _SEPARATOR.search(value) else value


def _convert_nodes(value: object) -> object:
    """Convert the origins of nodes, in which all values are names."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: {key: as_text(part) for key, part in _drop_missing(node).items()} if isinstance(node, Mapping) else node
        for name, node in value.items()
    }


def _convert_tags(value: object) -> object:
    """Convert a list of labels to tags that are true."""
    if isinstance(value, list | tuple) and all(isinstance(label, str) for label in value):
        return dict.fromkeys(value, True)
    return _convert_mapping(value)


def _convert_mapping(value: object) -> object:
    return _drop_missing(value) if isinstance(value, Mapping) else value


def _convert_texts(value: object, depth: int = 2) -> object:
    """Convert the numbers in a list, or in a list of edges, to text."""
    if depth and isinstance(value, list | tuple):
        return [_convert_texts(item, depth - 1) for item in value]
    return as_text(value)


def _drop_missing(mapping: Mapping[str, object]) -> dict[str, object]:
    """Drop None values, because tables give every record the fields of all others."""
    return {key: value for key, value in mapping.items() if value is not None}


_CONVERTERS: Mapping[str, Callable[[object], object]] = {
    "question": partial(_read_turn, roles=USER),
    "answer": partial(_read_turn, roles=ASSISTANT),
    "method": as_text,
    "expected_answer": _join_answers,
    "chunks": _convert_chunks,
    "triples": _convert_triples,
    "tags": _convert_tags,
    "traversal": _convert_graph,
    "gold": _convert_graph,
    "usage": _convert_mapping,
}


def _join_faults(faults: Sequence[str]) -> str:
    more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    return "; ".join([*faults[:MAX_FAULTS], *more])


def _is_reported(detail: ErrorDetails, refused: Collection[str | None]) -> bool:
    """Return whether a fault only follows from a value that the reader of the file already rejected."""
    return isinstance(detail["input"], RefusedLiteral) or (detail["type"] == "missing" and detail["loc"][0] in refused)


def _describe_fault(detail: ErrorDetails, settled: MappedRow) -> str:
    """Describe in one clause which field is wrong, and how."""
    own, *rest = detail["loc"]
    name = settled.names.get(str(own), str(own))
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{format_printable(part)}" for part in rest if part != "[key]"
    )
    field = f"{name}{path}" if name == own else f"{name}{path} ({own})"
    return f"{field}: {_explain_fault(detail, settled)}"


def _explain_fault(detail: ErrorDetails, settled: MappedRow) -> str:
    match detail["type"]:
        case "missing":
            return _explain_missing(detail, settled)
        case "extra_forbidden":
            known = SUBFIELDS[str(detail["loc"][0])]
            near = find_typo(str(detail["loc"][-1]), known)
            return f"is unknown{f', nearest: {near}' if near else ''}; known are {', '.join(known)}"
        case "model_type" | "dict_type":
            item = "an object or a list of three" if detail["loc"][0] == "triples" else "an object"
            return f"must be {item}, got {_format_value(detail['input'])}"
        case "tuple_type":
            return f"must be a list, got {_format_value(detail['input'])}"
        case _:
            must = detail["msg"].replace("Input should be", "must be", 1).replace("a valid string", "a text", 1)
            return f"{must[:1].lower()}{must[1:]}, got {_format_value(detail['input'])}"


def _explain_missing(detail: ErrorDetails, settled: MappedRow) -> str:
    """Return the message that a field is missing, with the unknown name that may have been meant."""
    if detail["loc"] == ("question",):
        names = list_names("question")
        unknown = (name for name, why in settled.ignored.items() if not why or why.startswith(TYPO_PREFIX))
        near = next((name for name in unknown if find_typo(name, names)), None)
        return (
            f"is missing, nearest: {format_printable(near)}"
            if near
            else f"is missing; it may be called {', '.join(names)}, or named with --column question=NAME"
        )
    given, name = detail["input"], str(detail["loc"][-1])
    near = next((key for key in given if find_typo(str(key), [name])), None) if isinstance(given, Mapping) else None
    return f"is missing, nearest: {format_printable(str(near))}" if near else "is missing"


def _format_value(value: object) -> str:
    """Format a value if it is short; others may be nested too deeply to be printed."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return describe_type(value)
    return format_printable(repr(value[:MAX_SHOWN] if isinstance(value, str) else value))
