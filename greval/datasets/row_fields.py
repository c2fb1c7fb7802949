"""The fields of a row: replies of systems and retrieval recorded as ids are spread over the fields of a case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from greval.datasets.field_names import (
    CHUNKS,
    DOTTED_NAMES,
    GOLD_TEXTS,
    METADATA,
    OWN_FIELDS,
    MappedRow,
    find_field,
    fold_name,
    map_fields,
    split_dotted,
)
from greval.datasets.field_values import (
    DOCUMENT_IDS,
    as_text,
    find_first,
    list_marked_documents,
    may_be_several,
)
from greval.errors import MethodError
from greval.records.case import Response, is_grade_mapping

if TYPE_CHECKING:
    from greval.datasets.replies.forms import SystemReply

RANKING_NAMES = frozenset(
    {
        *("retrieved", "retrieved_docs", "retrieved_documents", "retrieved_chunks", "retrieved_passages"),
        *("docs", "source_documents", "ctxs"),
    }
)
"""Names under which systems are recorded to retrieve texts as well as ids."""
MESSAGES = "messages"
"""The name of an agent's messages, which in a row are a conversation if the user takes part in it."""
MAX_ID = 200
MAX_NAME = 120
_SENTENCE_END = re.compile(r"(\d|\b[a-z]{2,}|\w{4,})[.!?。]$")
"""The end of a sentence, which is not that of `Washington D.C.`"""
_ID = re.compile(r"[!-~]+", re.ASCII)
"""An id has no blank, and no letter of a script that is written without blanks."""
_ID_MARK = re.compile(r"[\d_/:#@\\-]|\.(?=\w)")
"""What is in most ids and in few words."""


def read_fields(row: Mapping[str, object]) -> MappedRow:
    """Map the values of a row to the fields of a case, as `map_fields` does, with its replies and rankings read.

    A reply of a system may be the row itself, or the value of any column. Ids of retrieved documents become chunks:
    with the texts of the row if there is one for each id, and without a text otherwise.

    Example:
        >>> read_fields({"question": "Who?", "retrieved_ids": ["d3", "d1"], "relevant_docs": ["d1"]}).values["chunks"]
        [{'doc_id': 'd3', 'id': 'd3'}, {'doc_id': 'd1', 'id': 'd1'}]
    """
    if row.keys() <= OWN_FIELDS and not any(map(_may_be_reply, (row.get(CHUNKS), row.get("answer")))):
        # By far the most common.
        settled = map_fields(row)
        _settle_chunks(settled)
        return settled
    fields, places, columns = _spread_replies(row)
    settled = map_fields(columns)
    for field, value in fields.items():
        if field not in settled.values:
            settled.values[field], settled.names[field] = value, places[field]
    _settle_chunks(settled)
    return settled


def _may_be_reply(value: object) -> bool:
    if isinstance(value, str):
        return "```" in value
    if isinstance(value, list | tuple):
        return len(value) == 2 and isinstance(value[1], Mapping | list | tuple)  # noqa: PLR2004 - an answer, a context
    return isinstance(value, Mapping)


def _spread_replies(row: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str], dict[str, object]]:
    """Return the fields of the replies in a row, the place of each, and the columns that are no replies."""
    from greval.datasets.conversations import read_turns, split_conversation
    from greval.datasets.replies.forms import REPLY_NAMES, join_place

    fields: dict[str, object] = {}
    places: dict[str, str] = {}
    columns = dict(row)
    parsed = None if REPLY_NAMES.isdisjoint(row) else _read_form(row)
    # Messages in which the user takes part are a conversation, and not the reply of an agent.
    if parsed is not None and not (parsed.used == {MESSAGES} and split_conversation(read_turns(row[MESSAGES]) or ())):
        columns = {name: value for name, value in row.items() if name not in parsed.used}
        fields |= parsed.fields
        places |= {name: parsed.places.get(name) or name for name in parsed.fields}
    for name, value in [*columns.items()]:
        if not _may_be_reply(value):
            continue
        known_field = find_field(name)
        if not _may_hold_reply(name, known_field) or (isinstance(value, str) and known_field != CHUNKS):
            continue
        parsed = _read_form(value)
        if parsed is None or (known_field != "answer" and parsed.fields.keys() == {"answer"}):
            continue
        del columns[name]
        beside = _read_beside(value, parsed)
        for field, part in {**beside.values, **parsed.fields}.items():
            path = parsed.places.get(field, "") if field in parsed.fields else beside.names[field]
            if field not in fields:
                fields[field], places[field] = part, join_place(name, path)
    return fields, places, columns


def _read_beside(reply: object, parsed: SystemReply) -> MappedRow:
    """Return the fields of a response that a reply has under known names beside what its form reads."""
    unread = (
        {name: value for name, value in reply.items() if name not in parsed.used} if isinstance(reply, Mapping) else {}
    )
    settled = map_fields(unread)
    settled.values = {field: value for field, value in settled.values.items() if field in Response.model_fields}
    return settled


def _may_hold_reply(name: str, field: str | None) -> bool:
    """Return whether a column may hold a reply: an answer, chunks, or one whose name is not known."""
    return field in {None, "answer", CHUNKS} and split_dotted(name) is None and fold_name(name) != METADATA


def _read_form(value: object) -> SystemReply | None:
    """Return the reply that a value is, or None; a file may have a table that only looks like one."""
    from greval.datasets.replies.forms import read_reply

    try:
        return read_reply(value)
    except MethodError:
        return None


def _settle_chunks(settled: MappedRow) -> None:
    """Add the parts of chunks that are recorded apart from them, and read a ranking of ids as chunks without texts."""
    # Beside the texts of what is relevant, what was retrieved are texts, too, however short.
    gold = None if not GOLD_TEXTS.isdisjoint(map(fold_name, settled.parts)) else settled.values.get("gold")
    name = fold_name(settled.names.get(CHUNKS, "")).rpartition(".")[2]
    chunks = settled.values.get(CHUNKS)
    if (ranked := _read_ranking(chunks, is_expected=name in RANKING_NAMES, gold=gold)) is not None:
        settled.values[CHUNKS] = chunks = ranked
    elif "gold" not in settled.values and (documents := list_marked_documents(chunks)):
        settled.values["gold"] = {"essential_docs": documents}
        settled.names["gold"] = f"{settled.names[CHUNKS]}[*]"
    for part, (column, value) in settled.chunk_parts.items():
        scored = _read_scores(value) if chunks is None and part in {"id", "doc_id"} else None
        chunks = _join_part(settled, chunks, part, column, value) if scored is None else scored
        settled.values[CHUNKS] = chunks
        settled.names.setdefault(CHUNKS, column)


def _join_part(settled: MappedRow, chunks: object, part: str, column: str, value: object) -> object:
    """Return chunks with a part for each of them; a part for another number of chunks is a fault of the row."""
    parts = [*value] if isinstance(value, list | tuple) else [value]
    items = [chunks] if isinstance(chunks, str) else chunks
    if items is None:
        items = [{} for _ in parts]
    if not isinstance(items, list | tuple):
        return chunks
    if len(items) != len(parts):
        chunk_count = f"{settled.names.get(CHUNKS, CHUNKS)} has {len(items):,}"
        _refuse_part(settled, column, f"has {len(parts):,} where {chunk_count}; give one for each chunk")
        return chunks
    if isinstance(value, str) and may_be_several(value):
        _refuse_part(settled, column, 'must be a list, got a text; write ["d1", "d2"]')
        return chunks
    names = [as_text(chunk_part) for chunk_part in parts]
    # Ids of chunks are unique; those that repeat are ids of their documents.
    is_unique = len({*map(str, names)}) == len(names)
    joined: list[object] = []
    for item, chunk_part in zip(items, names, strict=True):
        chunk = {"text": item} if isinstance(item, str) else item
        if not isinstance(chunk, Mapping) or chunk_part is None or chunk_part == "":
            joined.append(chunk)
        elif part == "id" and is_unique:
            joined.append({"doc_id": chunk_part, **chunk, "id": chunk_part})
        elif part == "id":
            joined.append({"doc_id": chunk_part, **chunk})
        else:
            joined.append({**chunk, part: chunk_part})
    return joined


def _refuse_part(settled: MappedRow, column: str, why: str) -> None:
    """Record why a part does not fit the chunks: a fault if it was meant so or is all there is, else it is not read."""
    if column in DOTTED_NAMES or CHUNKS not in settled.names:
        settled.faults[column] = why
    else:
        settled.ignored[column] = why
        settled.parts.pop(column, None)


def _read_ranking(value: object, *, is_expected: bool, gold: object) -> list[dict[str, object]] | None:
    """Return the documents that are recorded by their ids as chunks; None if the value holds texts or chunks."""
    if isinstance(value, list) and value and isinstance(value[0], str) and " " in value[0] and not gold:
        # By far the most common.
        return None
    if (scored := _read_scores(value)) is not None:
        return scored
    if not isinstance(value, list | tuple) or not value or not all(map(_is_name, value)):
        return None
    names = [str(as_text(document)) for document in value]
    expected = _list_gold_documents(gold)
    if not (is_expected or expected or all(isinstance(document, str) for document in value)):
        # Numbers may be anything.
        return None
    are_ids = all(len(name) <= MAX_ID and _ID.fullmatch(name) for name in names)
    are_marked = are_ids and all(map(_ID_MARK.search, names))
    if are_marked or (are_ids and is_expected and expected):
        return _build_ranking(names)
    are_names = bool(expected) and all(map(_is_short_name, names))
    is_ranking = are_names and (not expected.isdisjoint(names) or (is_expected and all(map(_is_short_name, expected))))
    return _build_ranking(names) if is_ranking else None


def _is_short_name(name: str) -> bool:
    """Return whether a text may be the title of a document, and not a passage: it is short and no sentence."""
    return len(name) <= MAX_NAME and "\n" not in name and not _SENTENCE_END.search(name)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _read_scores(value: object) -> list[dict[str, object]] | None:
    """Return the documents of a mapping of ids to scores, the highest first, or of pairs of an id and a score."""
    if isinstance(value, Mapping) and is_grade_mapping(value):
        pairs: Sequence[Any] = sorted(value.items(), key=lambda pair: -pair[1])
    elif isinstance(value, list | tuple) and value and all(map(_is_scored_name, value)):
        pairs = value
    else:
        return None
    return [
        {**chunk, "score": score}
        for chunk, (_, score) in zip(_build_ranking([str(n) for n, _ in pairs]), pairs, strict=True)
    ]


def _is_scored_name(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:  # noqa: PLR2004 - an id and its score
        return False
    name, score = value
    is_id = isinstance(name, int) or (isinstance(name, str) and len(name) <= MAX_ID and _ID.fullmatch(name) is not None)
    return is_id and not isinstance(name, bool) and isinstance(score, int | float) and not isinstance(score, bool)


def _build_ranking(names: Sequence[str]) -> list[dict[str, object]]:
    """Return a chunk without a text for each document; ids of chunks are unique, those of documents need not be."""
    if len({*names}) < len(names):
        return [{"doc_id": name} for name in names]
    return [{"doc_id": name, "id": name} for name in names]


def _list_gold_documents(gold: object) -> frozenset[str]:
    """Return the names of the documents in gold as it was read."""
    if not isinstance(gold, Mapping):
        return frozenset()
    if is_grade_mapping(gold):
        return frozenset(map(str, gold))
    names: set[str] = set()
    for part in ("essential_docs", "helpful_docs", "grades"):
        listed = gold.get(part)
        if isinstance(listed, str | int):
            names.add(str(listed))
        elif isinstance(listed, list | tuple | Mapping):
            documents = (find_first(item, DOCUMENT_IDS) if isinstance(item, Mapping) else item for item in listed)
            names.update(str(as_text(document)) for document in documents if isinstance(document, str | int | float))
    return frozenset(names)
