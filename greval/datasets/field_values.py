"""Values of fields in short forms and in the forms of other tools, converted to those of a case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from math import isfinite
from pathlib import PurePath
from uuid import UUID

from greval._util.wording import find_typo
from greval.datasets.conversations import unwrap_serialised
from greval.datasets.field_names import ANSWER_LISTS, MESSAGE_MARKS, SUBFIELDS, TYPO_PREFIX, MappedRow, find_aliased
from greval.records.case import CLAIM_FIELDS, is_grade_mapping

IDS = ("id", "chunk_id", "_id", "id_", "node_id", "passage_id")
DOC_IDS = (
    *("doc_id", "document_id", "doc_uri", "source", "file_path", "url", "page_url", "ref_doc_id", "docid"),
    "file_name",
)
DOCUMENT_IDS = (*DOC_IDS[:1], *IDS)
"""Names of the id of a document in gold."""
GRADES = ("grade", "relevance", "label", "gain", "rel", "relevance_label", "relevance_grade", "judgement")
"""Names of the grade of a document that was judged."""
SCORES = ("score", "relevance_score", "similarity", "_score")
TEXTS = (
    *("page_content", "content", "contents", "paragraph_text", "passage", "passage_text", "chunk_text", "body"),
    *("snippet", "page_snippet"),
)
"""Names of the text of a chunk other than `text`."""
GOLD_MARKS = ("is_supporting", "is_selected")
"""Where MuSiQue and MS MARCO mark the passages that answer the question."""
INNER = ("node", "document", "text_resource", "payload", "_source", "entity")
"""Names of an object inside an item that holds the text, as in the results of LlamaIndex and of databases."""
METADATA_NAMES = ("metadata", "meta", "extra_info", "payload")
"""Names of the object with what is known of a passage."""
LLAMA_SOURCE = "1"
"""The relationship of a LlamaIndex node to its document."""
TITLE, SENTENCES = "title", "sentences"
NEEDED_PARTS: Mapping[str, frozenset[str]] = {
    "chunks": frozenset({"text"}),
    "triples": frozenset({"subject", "predicate", "object"}),
    **dict.fromkeys(CLAIM_FIELDS, frozenset({"text"})),
}
CHUNK_NAMES = frozenset({"id", "doc_id"})
"""Either of these is enough for a chunk whose text is not recorded."""
MIN_PASSAGE = 40
"""The length from which a text under an unknown name may be that of a chunk."""
CHUNK_FIELDS = frozenset(SUBFIELDS["chunks"])
USER, ASSISTANT = frozenset({"user", "human"}), frozenset({"assistant", "ai"})
"""The roles of messages whose text is the question, and the answer."""
# Up to here a float holds each whole number.
LARGEST_EXACT = 2**53
_NAME_LISTS = frozenset(
    {"essential_docs", "helpful_docs", "essential_repos", "expected_nodes", "start_nodes", "final_nodes"}
)
"""The parts of gold and of a traversal that are lists of names."""
NAMING_PARTS = ("id", "doc_id", "repo", "version")
"""The parts of a chunk that are names."""
_SEPARATOR = re.compile(r"[,;|\n]")


def read_document(text: object, metadata: Mapping[str, object], own_id: object = None) -> dict[str, object]:
    """Return the chunk fields of a LangChain document.

    Of its metadata an id, `doc_id` or `source`, `repo`, `version` and a score are used; its own id takes precedence.
    """
    fields: dict[str, object] = {} if text is None else {"text": text}
    if (chunk_id := own_id if own_id is not None else find_first(metadata, IDS)) is not None:
        fields["id"] = str(chunk_id)
    if (doc_id := find_first(metadata, DOC_IDS)) is not None:
        fields["doc_id"] = str(doc_id)
    fields |= {name: str(metadata[name]) for name in ("repo", "version") if metadata.get(name) is not None}
    score = find_first(metadata, SCORES)
    return fields if score is None else {**fields, "score": score}


def read_chunk(item: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of a chunk; a document in JSON has its text under `page_content`, `content` or another name.

    Names that no chunk has are kept, see `drop_unknown_parts`. The title is the document if nothing else is.

    Example:
        >>> read_chunk({"page_content": "Nine.", "metadata": {"source": "hours.md"}, "type": "Document"})
        {'text': 'Nine.', 'doc_id': 'hours.md'}
    """
    if item.keys() <= CHUNK_FIELDS:
        return item
    item = _lift_inner(unwrap_serialised(item))
    text_name = next((name for name in ("text", *TEXTS, SENTENCES) if item.get(name) is not None), None)
    text = item.get(text_name or "")
    if (
        text_name == SENTENCES
        and isinstance(text, list | tuple)
        and all(isinstance(sentence, str) for sentence in text)
    ):
        text = "".join(map(str, text))
    if isinstance(text, Mapping):
        # neo4j-graphrag's formatters may return anything as the text.
        inner = find_first(text, ("text", *TEXTS))
        text = inner if isinstance(inner, str) else json.dumps(text, ensure_ascii=False, default=str)
    if text_name is None and find_first(item, (*IDS, *DOC_IDS, TITLE)) is None:
        return item
    name = next((name for name in METADATA_NAMES if isinstance(item.get(name), Mapping)), "metadata")
    metadata = item.get(name)
    properties = {**item, **metadata} if isinstance(metadata, Mapping) else item
    fields = read_document(text, properties, find_first(item, IDS))
    if (source := _find_llama_document(item)) is not None:
        fields.setdefault("doc_id", source)
    if isinstance(item.get(TITLE), str):
        fields.setdefault("doc_id", item[TITLE])
    used = {text_name, name, "type", *IDS, *DOC_IDS, *SCORES, *GOLD_MARKS, TITLE, *fields}
    return {**fields, **{name: value for name, value in item.items() if name not in used and value is not None}}


def list_marked_documents(chunks: object) -> list[object]:
    """Return the ids of the passages that a data set marks as those that answer the question, or their texts.

    Example:
        >>> list_marked_documents([{"title": "Notes", "paragraph_text": "By Ada.", "is_supporting": True}])
        ['Notes']
    """
    items = _transpose_chunks(chunks)
    if not isinstance(items, list | tuple):
        return []
    marked = (item for item in items if isinstance(item, Mapping) and find_first(item, GOLD_MARKS) in (True, 1))
    return [*dict.fromkeys(find_first(read_chunk(item), ("doc_id", "id", "text")) for item in marked)]


def _lift_inner(item: Mapping[str, object]) -> Mapping[str, object]:
    """Return an item with the content of the object inside it, such as the node of a `NodeWithScore`."""
    for _ in INNER:
        if find_first(item, ("text", *TEXTS)) is not None:
            break
        name = next((name for name in INNER if isinstance(item.get(name), Mapping)), None)
        if name is None:
            break
        inner = item[name]
        assert isinstance(inner, Mapping)  # noqa: S101 - selected above
        item = {**{key: value for key, value in item.items() if key != name}, **unwrap_serialised(inner)}
    return item


def _find_llama_document(node: Mapping[str, object]) -> object:
    """Return the id of the document of a LlamaIndex node, or None."""
    related = node.get("relationships")
    source = related.get(LLAMA_SOURCE) if isinstance(related, Mapping) else None
    return source.get("node_id") if isinstance(source, Mapping) else None


def drop_unknown_parts(values: dict[str, object], settled: MappedRow) -> None:
    """Drop the keys of chunks, triples and claims that no field has, and record them as ignored.

    If a field that is needed is missing, an unknown key may be meant for it: then all stay, and are faults.
    """
    for field in NEEDED_PARTS:
        items, subfields = values.get(field), {*SUBFIELDS[field]}
        if not isinstance(items, list):
            continue
        for position, item in enumerate(items):
            if isinstance(item, dict) and not item.keys() <= subfields and _has_needed_parts(field, item):
                items[position] = {key: part for key, part in item.items() if key in subfields}
                for name in item.keys() - subfields:
                    suggestion = find_typo(str(name), subfields)
                    column = f"{settled.names.get(field, field)}[*].{name}"
                    settled.ignored.setdefault(column, f"{TYPO_PREFIX}{suggestion}?" if suggestion else "")


def _has_needed_parts(field: str, item: Mapping[str, object]) -> bool:
    """Return whether an item has what it needs; the id of a chunk is enough if nothing else may be its text."""
    if NEEDED_PARTS[field] <= item.keys():
        return True
    if field != "chunks" or CHUNK_NAMES.isdisjoint(item):
        return False
    unknown_parts = {str(name): part for name, part in item.items() if name not in CHUNK_FIELDS}
    return not any(find_typo(name, ["text"]) or _is_passage(part) for name, part in unknown_parts.items())


def _is_passage(value: object) -> bool:
    return isinstance(value, str) and len(value) >= MIN_PASSAGE and len(value.split()) > 1


def read_message(value: object) -> object:
    """Return the text of a message, a mapping with `content` and a `role` or `type`; return anything else unchanged."""
    # The first test is faster, and enough for most values.
    if isinstance(value, str) or not isinstance(value, Mapping):
        return value
    message = unwrap_serialised(value)
    content = message.get("content")
    if content is None or message.keys().isdisjoint({"role", "type"}):
        return value
    blocks = content if isinstance(content, list | tuple) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    return "".join(text for text in texts if isinstance(text, str))


def _read_turn(value: object, roles: Collection[str]) -> object:
    """Return the text of a message, or of the only message with one of the roles in a list; anything else unchanged."""
    if isinstance(value, list | tuple) and value and all(isinstance(message, Mapping) for message in value):
        messages = [unwrap_serialised(message) for message in value]
        meant = [message for message in messages if message.get("role", message.get("type")) in roles]
        return read_message(meant[0]) if len(meant) == 1 else value
    return read_message(value)


def _read_answer(value: object) -> object:
    """Return the text of an answer: a text, a number, a flag or a message; anything else unchanged."""
    return write_answer(_read_turn(value, ASSISTANT))


def find_first(record: Mapping[str, object], names: Iterable[str]) -> object:
    """Return the value of the first of several names that is recorded, or None."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def as_text(value: object) -> object:
    """Convert a number to text if a name is expected; equal numbers give equal text."""
    if isinstance(value, str | bool) or not isinstance(value, int | float) or not isfinite(value):
        return value
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT
    return str(int(value) if is_whole else value)


def write_answer(value: object) -> object:
    """Convert a number or a flag in the place of an answer to text: pandas reads a column of years as numbers."""
    return str(value).lower() if isinstance(value, bool) else as_text(value)


def format_scalar(value: object) -> object:
    """Return a date, a time, a UUID or a path as text and a decimal number as a float, as in CSV; else the value."""
    if isinstance(value, UUID | PurePath):
        return str(value)
    if isinstance(value, datetime):
        # Spreadsheets keep a date as its midnight.
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def convert_value(field: str, value: object) -> object:
    """Convert the value of a field; short forms and the forms of other tools are known for some fields."""
    return _CONVERTERS[field](value) if field in _CONVERTERS else value


def _join_answers(value: object) -> object:
    """Join several acceptable answers, one per line, which is the format that the metrics expect.

    They may be in objects, see `list_accepted_answers`.
    """
    answers = list_accepted_answers(value)
    if answers is None and isinstance(value, list | tuple):
        texts = [write_answer(item) for item in value]
        answers = [str(text) for text in texts] if all(isinstance(text, str) for text in texts) else None
    if answers is None:
        return _read_answer(value)
    # Lines separate the answers, so that each must be one line.
    return "\n".join(dict.fromkeys(" ".join(answer.splitlines()) for answer in answers))


def list_accepted_answers(value: object) -> list[str] | None:
    """List the accepted answers of a value: texts, or objects as data sets hold them; None if it is anything else.

    SQuAD has the texts under `text`, DROP under `spans`, TriviaQA under `value` and `aliases` (`answer` may be there
    for `value`). Each answer of a list may also be an object with one `text`.

    Example:
        >>> list_accepted_answers({"text": ["Ada", "Lovelace"], "answer_start": [0, 4]})
        ['Ada', 'Lovelace']
        >>> list_accepted_answers([{"text": "Ada", "tokens": ["Ada"]}]), list_accepted_answers({"year": 1843})
        (['Ada'], None)
    """
    if isinstance(value, Mapping):
        if (aliased := find_aliased(value)) is not None:
            return list_accepted_answers([aliased, *value["aliases"]])
        if isinstance(value.get("text"), str) and "answer_start" in value:
            return [value["text"]]
        texts = next((value[name] for name in ANSWER_LISTS if isinstance(value.get(name), list | tuple)), None)
        return None if texts is None else [str(write_answer(text)) for text in texts]
    if not isinstance(value, list | tuple) or not value:
        return None
    answers = [_list_item_answers(item) for item in value]
    return None if None in answers else [text for listed in answers for text in listed or ()]


def _list_item_answers(item: object) -> list[str] | None:
    """List the accepted answers of an item of a list: a text, or an object that is no message."""
    if isinstance(item, str):
        return [item]
    if not isinstance(item, Mapping):
        return None
    if isinstance(text := item.get("text"), str) and MESSAGE_MARKS.isdisjoint(item):
        return [text]
    return list_accepted_answers(item)


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
    if isinstance(item, dict):
        # By far the most common.
        return _convert_chunk_fields(item)
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], Mapping):  # noqa: PLR2004 - with its score
        return {**_convert_chunk_fields(item[0]), "score": item[1]}
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], list):  # noqa: PLR2004 - HotpotQA
        return _convert_chunk_fields({TITLE: item[0], SENTENCES: item[1]})
    return _convert_chunk_fields(item) if isinstance(item, Mapping) else item


def _convert_chunk_fields(item: Mapping[str, object]) -> dict[str, object]:
    fields = _clean(read_chunk(item), NAMING_PARTS)
    # A blank id would meet no other, and count as one.
    blank_names = [name for name in NAMING_PARTS if fields.get(name) == ""]
    return {name: part for name, part in fields.items() if name not in blank_names} if blank_names else fields


def _convert_items(value: object, convert: Callable[[object], object]) -> object:
    return [convert(item) for item in value] if isinstance(value, list | tuple) else value


def _convert_triple(item: object) -> object:
    if isinstance(item, dict | Mapping):
        return _clean(item, item)
    return _convert_texts(item)


def _convert_claim(item: object) -> object:
    """Convert a claim to a mapping; a list of texts, as RAGChecker writes it, is these texts in a row."""
    if isinstance(item, Mapping):
        return _clean(item, ("id",))
    if isinstance(item, list | tuple) and item and all(isinstance(part, str) for part in item):
        item = " ".join(item)
    return {"text": item} if isinstance(item, str) else item


def _convert_graph(value: object) -> object:
    """Convert gold or a traversal, in which all values but the grades of documents are names."""
    if not isinstance(value, Mapping) or is_grade_mapping(value):
        return value
    parts = _clean(value)
    if "grades" not in parts and (grades := _read_grades(parts.get("essential_docs"))):
        del parts["essential_docs"]
        parts["grades"] = grades
    return {
        key: _convert_nodes(part)
        if key == "nodes"
        else _convert_texts(_convert_names(part) if key in _NAME_LISTS else part)
        for key, part in parts.items()
    }


def _read_grades(value: object) -> dict[str, object] | None:
    """Return the grades of a list of documents that have one each, as not all of them need be relevant; else None."""
    if not isinstance(value, list | tuple):
        return None
    grades: dict[str, object] = {}
    for item in value:
        document = find_first(item, DOCUMENT_IDS) if isinstance(item, Mapping) else None
        grade = find_first(item, GRADES) if isinstance(item, Mapping) else None
        if document is None or not isinstance(grade, int | float):
            return None
        grades[str(as_text(document))] = grade
    return grades


def _convert_names(value: object) -> object:
    """Convert a single name to a list, and documents with an id to their ids; a blank text names nothing.

    Lists of one name each, in which AutoRAG has what a question needs, are these names; alternatives are a fault. Of
    titles with the number of a sentence in each, as HotpotQA has them, each title is a name.
    """
    if isinstance(value, Mapping) and isinstance(titles := value.get(TITLE), list | tuple):
        return [*dict.fromkeys(map(str, titles))]
    if isinstance(value, list | tuple):
        if value and all(map(_is_sentence_place, value)):
            return [*dict.fromkeys(title for title, _ in value)]
        is_nested = all(isinstance(item, list | tuple) and len(item) == 1 for item in value)
        return [
            find_first(item, DOCUMENT_IDS) or item if isinstance(item, Mapping) else item
            for item in ([item[0] for item in value] if is_nested else value)
            if not (isinstance(item, str) and not item.strip())
        ]
    # A text that may be several names stays a text, which is a fault.
    return [value.strip()] if isinstance(value, str) and value.strip() and not may_be_several(value) else value


def _is_sentence_place(item: object) -> bool:
    """Return whether an item is a title and the number of a sentence."""
    if not isinstance(item, list | tuple) or len(item) != 2:  # noqa: PLR2004 - a title, a number
        return False
    title, number = item
    return isinstance(title, str) and isinstance(number, int) and not isinstance(number, bool)


def may_be_several(text: str) -> bool:
    """Return whether a text may be several names rather than one: ids of one shape are, with blanks between.

    Example:
        >>> [may_be_several(text) for text in ("d1;d2", "d1 d2", "Ada Lovelace", "Apollo 11", "Q3 2023.pdf")]
        [True, True, False, False, False]
    """
    words = text.split()
    if len(words) < 2 or _SEPARATOR.search(text.strip()):  # noqa: PLR2004 - one word is one name
        return _SEPARATOR.search(text.strip()) is not None
    # Imported where it is called: most texts are one word or have a separator.
    from greval._util.joins import NAME_SHAPE, find_shape

    shapes = {find_shape(word) for word in words}
    return len(shapes) == 1 and NAME_SHAPE not in shapes


def _convert_nodes(value: object) -> object:
    """Convert the origins of nodes, in which all values are names."""
    if not isinstance(value, Mapping):
        return value
    return {name: _clean(node, node) if isinstance(node, Mapping) else node for name, node in value.items()}


def _convert_tags(value: object) -> object:
    """Convert a list of labels to tags that are true."""
    if isinstance(value, list | tuple) and all(isinstance(label, str) for label in value):
        return dict.fromkeys(value, True)
    return _convert_mapping(value)


def _convert_mapping(value: object) -> object:
    return _clean(value) if isinstance(value, Mapping) else value


def _convert_texts(value: object, depth: int = 2) -> object:
    """Convert the numbers in a list, or in a list of edges, to text."""
    if depth and isinstance(value, list | tuple):
        return [_convert_texts(item, depth - 1) for item in value]
    return as_text(value)


def _clean(mapping: Mapping[str, object], names: Collection[str] = ()) -> dict[str, object]:
    """Return a mapping without None values, and with numbers as texts under keys that hold names."""
    # Tables give every record the fields of all others.
    return {key: as_text(value) if key in names else value for key, value in mapping.items() if value is not None}


_CONVERTERS: Mapping[str, Callable[[object], object]] = {
    "question": partial(_read_turn, roles=USER),
    "answer": _read_answer,
    "method": as_text,
    "expected_answer": _join_answers,
    "chunks": _convert_chunks,
    "triples": partial(_convert_items, convert=_convert_triple),
    **dict.fromkeys(CLAIM_FIELDS, partial(_convert_items, convert=_convert_claim)),
    "tags": _convert_tags,
    "traversal": _convert_graph,
    "gold": _convert_graph,
    "usage": _convert_mapping,
}
