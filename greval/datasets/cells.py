"""The one reader of cells: what a text stands for by the kind of its field, in rows of every source.

A cell of a table, a text in JSON and a value that a program passes are read alike, so that a row gives the same case at
every door.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from greval.datasets.conversations import CONVERSATION_NAMES, HISTORY_NAMES, holds_messages
from greval.datasets.field_names import (
    ALIAS_NAMES,
    CACHED_NAMES,
    FIELD_BY_NAME,
    OWN_FIELDS,
    PARSED_WRAPPERS,
    WRAPPERS,
    expects_answer,
    find_known_name,
    find_main,
    fold_name,
    split_dotted,
    split_wrapped,
)
from greval.datasets.field_values import list_accepted_answers
from greval.datasets.json_files import InvalidJsonError, RawRow, find_faults, parse_json
from greval.records.case import CLAIM_FIELDS
from greval.records.scale_values import NOT_GIVEN

CellKind = Literal["list", "passages", "turns", "answers", "wrapper", "message", "text"]
"""How a text is read: as a list or an object; as one if it looks like one; as accepted answers; as an object; as is.

Accepted answers, questions and answers may also be messages, or an object of fields, if their names say so.
"""
CELL_KINDS: Mapping[str, CellKind] = {
    "question": "message",
    "answer": "message",
    "expected_answer": "answers",
    "chunks": "passages",
}
"""The kinds of the texts of some fields; those of the others are lists or texts."""
TURN_NAMES = frozenset((*HISTORY_NAMES, *CONVERSATION_NAMES))
TEXT_KINDS = frozenset({"answers", "message"})
"""The kinds of texts that are lists or objects only if these are what such a field may hold."""
STRUCTURED = frozenset({"triples", *CLAIM_FIELDS, "tags", "traversal", "gold", "usage"})
PLURALS = ("answers", "truths")
"""The ends of names of columns with several accepted answers."""
TUPLE_STARTS = ("('", '("')
COLLECTION_STARTS = ("array(", "frozenset(", "deque(")
LIST_STARTS = ("[", "{", *COLLECTION_STARTS, *TUPLE_STARTS)
PASSAGE_STARTS = ('["', "['", "[b'", '[b"', "[{", "[[", "[(", '{"', "{'", "[Document(", *COLLECTION_STARTS)
"""The beginnings of lists and objects in JSON and in Python's repr; plain text may begin with "[1]"."""
ENCODED_STARTS = ('"[', '"{')
"""The beginnings of a list or an object that was written as JSON twice."""
MAX_MISSING = max(map(len, NOT_GIVEN))
"""The length of the longest word for nothing in the place of a list or an object, such as `NA` from R."""
NO_NAME = "column "
"""The beginning of the name that a column without one gets, before its number."""
INDEX_NAMES = frozenset({"", f"{NO_NAME}1", "Unnamed: 0", "__index_level_0__"})
"""The names of the column that pandas writes for an index without a name."""
DEEPEVAL_EXPORT = frozenset({"actual_output", "context", "source_file"})
"""Columns that only deepeval's own export has together."""
PASSAGES = "retrieval_context"
_PASSAGE_BAR = re.compile(r"(?<=[^\s|])\|(?=[^\s|])")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?", re.MULTILINE)
"""The line below the header of a Markdown table."""


def read_cells(row: RawRow) -> RawRow:
    """Return a row with its texts read by the kinds of their fields, and without an index of pandas.

    A blank text, or a word for nothing such as `nan` or `NA`, in the place of a list or an object is not recorded.

    Example:
        >>> read_cells(RawRow(1, {"contexts": "['By Ada.', 'It rained.']", "answer": "['Ada']"})).values
        {'contexts': ['By Ada.', 'It rained.'], 'answer': "['Ada']"}
    """
    values: dict[str, object] | None = None
    faults = dict(row.faults)
    for name, cell in row.values.items():
        if name in faults:
            continue
        if name in INDEX_NAMES or (cell is None and name.startswith(NO_NAME)):
            values = dict(row.values) if values is None else values
            del values[name]
        elif isinstance(cell, str) and (kind := find_cell_kind(name)) != "text":
            content = _read_cell(name, cell, kind, faults)
            if content is not cell:
                # A row is copied only if one of its cells changes.
                values = dict(row.values) if values is None else values
                values[name] = content
    values = _read_expected(row.values if values is None else values, faults) or values
    # deepeval's `save_as` joins passages by bars; no other export has these columns together.
    if isinstance(passages := row.values.get(PASSAGES), str) and row.values.keys() >= DEEPEVAL_EXPORT:
        values = dict(row.values) if values is None else values
        if values[PASSAGES] is passages:
            values[PASSAGES] = split_passages(passages)
    return (
        row
        if values is None and len(faults) == len(row.faults)
        else replace(row, values=row.values if values is None else values, faults=faults)
    )


def _read_cell(name: str, cell: str, kind: CellKind, faults: dict[str, str]) -> object:
    """Return what a text stands for, the text itself if it is no list and no object; record what is wrong with it."""
    text = cell.lstrip()
    if not text or (len(text) <= MAX_MISSING and text.rstrip().casefold() in NOT_GIVEN):
        # Of an answer, `none` may well be the accepted one.
        return cell if kind in TEXT_KINDS or kind == "wrapper" else None
    if text.startswith(ENCODED_STARTS) and (decoded := _decode_text(cell)):
        content = _read_cell(name, decoded, kind, faults)
        return cell if content is decoded else content
    if not text.startswith(LIST_STARTS):
        return cell
    try:
        content, doubtful = parse_cell(cell)
    except InvalidJsonError as error:
        if kind == "list" or (kind == "passages" and text.startswith(PASSAGE_STARTS)):
            faults[name] = f"begins like a list or an object but {error}; write JSON, with double quotes"
        return cell
    # A text in quotation marks and brackets is no tuple: ("Ada").
    if not _is_meant(name, content, kind) or (text.startswith(TUPLE_STARTS) and not isinstance(content, list)):
        return cell
    if doubtful:
        faults |= find_faults({name: content})
    return content


def _is_meant(name: str, content: object, kind: CellKind) -> bool:
    """Return whether a list or an object is what a column may hold, rather than a text that looks like one."""
    if kind == "wrapper":
        return isinstance(content, dict)
    if kind not in TEXT_KINDS or holds_messages(content):
        return True
    if kind == "answers" and (list_accepted_answers(content) is not None or _lists_numbers(name, content)):
        return True
    if not isinstance(content, dict) or (folded := fold_name(name)) not in WRAPPERS:
        return False
    main = find_main(content, folded)
    return isinstance(content.get(main or ""), str) or not TURN_NAMES.isdisjoint(map(fold_name, content))


def _lists_numbers(name: str, content: object) -> bool:
    """Return whether accepted answers are numbers; in a column for one answer, `[1, 2]` may be that answer."""
    return (
        fold_name(name).endswith(PLURALS)
        and isinstance(content, list)
        and all(isinstance(item, str | int | float) for item in content)
    )


def _read_expected(values: Mapping[str, object], faults: dict[str, str]) -> dict[str, object] | None:
    """Return a row with the accepted answers of its `answer` read, None if that is a text of the system under test."""
    if values.keys() <= OWN_FIELDS:
        # By far the most common: nothing is beside the answer.
        return None
    names = [name for name, cell in values.items() if isinstance(cell, str) and find_known_name(name) == "answer"]
    answer_faults: dict[str, str] = {}
    answers = {name: _read_cell(name, str(values[name]), "answers", answer_faults) for name in names}
    if not all(expects_answer(values, answer) for answer in answers.values()) or not answers:
        return None
    faults |= answer_faults
    return {**values, **answers}


def _decode_text(cell: str) -> str | None:
    """Return the text that a cell is in JSON, or None if it is not a text in JSON."""
    try:
        text, _ = parse_json(cell)
    except InvalidJsonError:
        return None
    return text if isinstance(text, str) else None


def parse_cell(cell: str) -> tuple[object, bool]:
    """Parse a list or an object, in JSON or as Python prints it, as `parse_json` does."""
    try:
        return parse_json(cell)
    except InvalidJsonError as error:
        from greval.datasets.python_literals import InvalidLiteralError, parse_literal

        try:
            # pandas and `datasets` write a list in a cell as Python's repr.
            return parse_literal(cell), True
        except InvalidLiteralError as literal_error:
            raise InvalidJsonError(
                f"{error}, nor a list of Python: it {literal_error}", error.line, error.column
            ) from error


@lru_cache(maxsize=CACHED_NAMES)
def find_cell_kind(name: str) -> CellKind:
    """Return how the texts of a column are read, by the field that its name stands for."""
    if (folded := fold_name(name)) in PARSED_WRAPPERS:
        return "wrapper"
    if folded in TURN_NAMES:
        return "turns"
    wrapped = split_wrapped(name)
    known_name = find_known_name(wrapped[1] if wrapped else name) or ""
    nested = split_dotted(known_name)
    field = FIELD_BY_NAME.get(known_name) or (nested[0] if nested else "")
    if nested and field == "tags":
        return "text"
    if known_name in ALIAS_NAMES:
        return "passages"
    if field in CELL_KINDS:
        return CELL_KINDS[field]
    return "list" if field in STRUCTURED else "text"


def split_passages(text: str) -> list[str]:
    r"""Split passages that deepeval's `save_as` joined by bars; bars of Markdown tables and within blanks stay."""
    has_table = _TABLE_RULE.search(text) is not None
    passages = [""]
    for line in text.splitlines(keepends=True):
        parts = _split_line(line, has_table=has_table)
        passages[-1] += parts[0]
        passages += parts[1:]
    return passages


def _split_line(line: str, *, has_table: bool) -> list[str]:
    """Split a line at the bars between passages: after a row of a table, before one, or between two texts."""
    if not has_table:
        return _PASSAGE_BAR.split(line)
    if line.lstrip().startswith("|"):
        row, bars, remaining = line.partition("||")
        return [f"{row}|", *_split_line(remaining, has_table=True)] if bars else [line]
    text, bars, row = line.partition("||")
    parts = _PASSAGE_BAR.split(text)
    return [*parts, f"|{row}"] if bars else parts
