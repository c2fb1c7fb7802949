"""Documents to index: from text and Markdown files, from rows of JSON, CSV and Parquet, and from folders of them.

A file or row that is no document is a `RowFault` with its place, and stops no other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from greval._util.wording import find_typo
from greval.datasets.conversations import unwrap_serialised
from greval.datasets.field_names import format_printable
from greval.datasets.field_values import as_text, find_first
from greval.datasets.json_files import BOM, describe_encoding_fault, describe_type
from greval.datasets.row_faults import RowFault
from greval.datasets.row_purpose import LIST_KEYS, RowPurpose
from greval.datasets.row_sources import JSON_READERS, TABLES, read_rows
from greval.errors import DataError
from greval.methods.reference_index import LEDGER_FILE
from greval.reference.records import Document
from greval.reference.triple_tables import (
    TripleColumns,
    build_triple_document,
    find_triple_columns,
    format_triple,
)

TEXT_SUFFIXES = frozenset({".txt", ".text"})
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
IDS = ("id", "doc_id", "document_id", "_id")
TEXTS = ("text", "content", "page_content", "body", "contents")
TITLES = ("title",)
SOURCES = ("repo", "version")
TAG_PREFIXES = ("tags.", "tag:")
BINARY_STARTS = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive, as .docx, .xlsx, .pptx, .odt and .epub are",
    b"\xd0\xcf\x11\xe0": "an old Office file, such as .doc or .xls",
}
"""How binary files begin that people take for texts, with what each is."""
UTF_16_STARTS = (b"\xff\xfe", b"\xfe\xff")
_OWN_NAMES = frozenset({*IDS, *TEXTS, *TITLES, *SOURCES, "tags", "metadata", "type"})
_TERMS = re.compile(r"(?:UN)?LICEN[CS]E(?:[-_.].*)?|COPYING(?:[-_.].*)?|NOTICE|PATENTS")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)(?:^|\n)---[ \t]*(?:\r?\n|$)", re.DOTALL)
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})")
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")


class _Place(NamedTuple):
    """A row of a file, or a whole file: how messages name it, and the id of a document without one."""

    name: str
    made_id: str


def read_documents(
    sources: str | Path | Document | RowFault | Iterable[str | Path | Document | RowFault],
) -> Iterator[Document | RowFault]:
    """Read documents from files and folders, or take those that a program passes.

    The id of a file is its path in the given folder, or its name. The id of a row is its own, or the file's and its
    number. Fields of rows that are not those of a document become tags if they are texts, numbers or flags. A file
    that is named is read as text if its ending is unknown; in folders such files are passed over, hidden ones, and
    the terms of a licence.
    """
    inputs = [sources] if isinstance(sources, str | Path | Document | RowFault) else sources
    places: dict[str, str] = {}
    for location, document in _read_sources(inputs):
        if isinstance(document, RowFault):
            yield document
            continue
        fault = _find_fault(document)
        if not fault and document.id in places:
            printable_id = format_printable(document.id)
            fault = f"id: {printable_id} is at {places[document.id]} already; give each document its own"
        if fault:
            yield RowFault(place=location, message=fault, id=document.id)
        else:
            places[document.id] = location
            yield document


def list_files(folder: Path) -> list[Path]:
    """List the files of a folder that hold documents, sorted by path.

    Hidden files and folders are passed over, the folders of indexes, and the terms of a licence, such as LICENSE.md.
    """
    return [path for path in _list_visible(folder) if _holds_documents(path)]


def count_files(sources: Iterable[str | Path]) -> tuple[dict[str, int], dict[str, int]]:
    """Count the visible files of folders that are documents, and those that are passed over.

    They are counted by their endings, the most frequent first; a file without one, or with terms, by its name.
    """
    files = [path for source in sources if Path(source).is_dir() for path in _list_visible(Path(source))]
    accepted = Counter(path.suffix.lower() for path in files if _holds_documents(path))
    skipped = (path for path in files if not _holds_documents(path))
    passed_over = Counter(path.name if _has_terms(path) else path.suffix.lower() or path.name for path in skipped)
    return dict(accepted.most_common()), dict(passed_over.most_common())


def _holds_documents(path: Path) -> bool:
    return path.suffix.lower() in READERS and not _has_terms(path)


def _has_terms(path: Path) -> bool:
    """Return whether a file has the terms of a licence, by its name, which is in capitals by convention."""
    return _TERMS.fullmatch(path.stem) is not None


def _list_visible(folder: Path) -> list[Path]:
    """List the files of a folder that are neither hidden nor those of an index, sorted by path."""
    paths = sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts)
    # An index may be in the folder of its documents, and is none of them.
    indexes = {path.parent for path in paths if path.name == LEDGER_FILE}
    return [
        path
        for path in paths
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not indexes & {*path.parents}
        and path.is_file()
    ]


def _read_sources(sources: Iterable[str | Path | Document | RowFault]) -> Iterator[tuple[str, Document | RowFault]]:
    """Yield documents and faults with their places."""
    for number, source in enumerate(sources, 1):
        if isinstance(source, Document):
            yield f"document {number}", source
        elif isinstance(source, RowFault):
            yield source.place, source
        else:
            yield from _read_path(Path(source))


def _read_path(path: Path) -> Iterator[tuple[str, Document | RowFault]]:
    if not path.exists():
        similar = find_typo(path.name, (sibling.name for sibling in path.parent.glob("*")))
        hint = f"; is it {format_printable(similar)}?" if similar else ""
        raise DataError(f"{format_printable(str(path), 4096)}: no such file or folder{hint}")
    files = list_files(path) if path.is_dir() else [path]
    for file in files:
        made_id = file.relative_to(path).as_posix() if path.is_dir() else file.name
        yield from _read_file(file, made_id)


def _read_file(path: Path, made_id: str) -> Iterator[tuple[str, Document | RowFault]]:
    """Read the documents of a file; a file that cannot be read is a fault."""
    name = format_printable(str(path), 4096)
    reader = READERS.get(path.suffix.lower(), _read_text)
    try:
        for location, item in reader(path, _Place(name, made_id)):
            yield location, RowFault(place=location, message=item) if isinstance(item, str) else item
    except DataError as error:
        # The message need not repeat the path, which the fault has as its place.
        yield name, RowFault(place=name, message=str(error).removeprefix(f"{path}: "), id=made_id)
    except OSError as error:
        yield name, RowFault(place=name, message=f"cannot be read: {error.strerror or error}", id=made_id)


def _decode(content: bytes) -> str:
    """Decode a text; raise `DataError` if it is not UTF-8 or not text."""
    if content.startswith(UTF_16_STARTS):
        raise DataError("is UTF-16; save the file as UTF-8")
    kind = next((kind for start, kind in BINARY_STARTS.items() if content.startswith(start)), None)
    if kind:
        raise DataError(f"is {kind}; convert it to text or Markdown first")
    try:
        text = content.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(describe_encoding_fault(content[error.start], f"in line {line}")) from error
    if "\0" in text:
        raise DataError("is no text, but a binary file; convert it to text first")
    return text


_ReadDocuments = Iterator[tuple[str, Document | str]]


def _read_text(path: Path, origin: _Place) -> _ReadDocuments:
    yield origin.name, Document(id=origin.made_id, text=_decode(path.read_bytes()))


def _read_markdown(path: Path, origin: _Place) -> _ReadDocuments:
    """Read a Markdown file, with its front matter if it has any."""
    text = _decode(path.read_bytes())
    fields: Mapping[str, object] = {}
    if (front := _FRONT_MATTER.match(text)) and (parsed := _parse_front_matter(front[1])) is not None:
        fields, text = parsed, text[front.end() :]
    title, body = split_title(text)
    values = {"title": title or path.stem, **_drop_nothing(fields), "text": body}
    yield origin.name, _build_document({**values, "id": origin.made_id}, origin)


def _parse_front_matter(text: str) -> Mapping[str, object] | None:
    """Parse front matter; None if it is text between two horizontal rules."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        parsed = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        # Lines count from 0, and the front matter begins on the line behind the first ---.
        mark = getattr(error, "problem_mark", None)
        line = f"in line {mark.line + 2}" if mark else "at its beginning"
        raise DataError(
            f"its front matter is no YAML {line}; correct it, or put an empty line before the first ---"
        ) from error
    return {str(name): value for name, value in parsed.items()} if isinstance(parsed, dict) else None


def split_title(text: str) -> tuple[str, str]:
    r"""Return the first heading of a Markdown text, and the text without it if it begins with it; "" if none.

    Example:
        >>> split_title("## The *ferry* of `Ada`\n\nIt leaves at nine.")
        ('The *ferry* of Ada', 'It leaves at nine.')
    """
    fence, begun, position, previous = "", False, 0, ""
    for line in text.splitlines(keepends=True):
        end = position + len(line)
        bare = line.rstrip("\r\n")
        if mark := _FENCE.match(line):
            fence = ("" if mark["mark"].startswith(fence) else fence) if fence else mark["mark"]
        elif not fence and (heading := _HEADING.match(bare)) and heading["title"]:
            return _strip_emphasis(heading["title"]), text if begun else text[end:].lstrip()
        elif not fence and previous and _UNDERLINE.match(bare):
            first = not text[: position - len(previous)].strip()
            return _strip_emphasis(previous.strip()), text[end:].lstrip() if first else text
        begun = begun or bool(line.strip())
        previous = "" if fence or mark or not line.strip() else line
        position = end
    return "", text


def _strip_emphasis(title: str) -> str:
    return _EMPHASIS.sub(r"\2", title).strip()


def _read_rows(path: Path, origin: _Place) -> _ReadDocuments:
    """Read the documents and triples of the rows of a table or of JSON."""
    lines: dict[str, list[str]] = {}
    for row in read_rows(path, DOCUMENT_ROWS):
        at = _Place(f"{origin.name}{row.unit}{row.number}", f"{origin.made_id}#{row.number}")
        if row.faults:
            faults = (f"{format_printable(name)}: {why}" if name else why for name, why in row.faults.items())
            yield at.name, "; ".join(faults)
        elif (columns := _find_triples(row.values)) is not None:
            try:
                document_id = as_text(row.values.get(columns.document)) if columns.document else None
                lines.setdefault(str(document_id or at.made_id), []).append(format_triple(row.values, columns))
            except ValueError as error:
                yield at.name, str(error)
        else:
            yield at.name, _build_document(row.values, at)
    for document, listed in lines.items():
        yield origin.name, build_triple_document(document, listed)


def _find_triples(names: Iterable[str]) -> TripleColumns | None:
    """Find the columns of triples of a table that has no column for a text."""
    columns = [*names]
    return None if {*TEXTS} & {*columns} else find_triple_columns(columns)


def _check_columns(names: Sequence[str], location: str) -> None:
    """Raise `DataError` if a table has no column for the text, as every row would be wrong."""
    columns = [*names]
    if not {*TEXTS} & {*columns} and not find_triple_columns(columns):
        similar = next((name for name in columns if find_typo(name, TEXTS)), None)
        hint = f"; is it {format_printable(similar)!r}?" if similar else f"; it may be called {', '.join(TEXTS)}"
        listed = format_printable(", ".join(columns), 200)
        raise DataError(
            f"{location}: no column for the text{hint} (columns: {listed}); triples have head, relation and tail"
        )


def _build_document(values: Mapping[str, object], origin: _Place) -> Document | str:
    """Build the document of a row; return what is wrong with it if it is none."""
    row = unwrap_serialised(values)
    metadata = row.get("metadata")
    inner = metadata if isinstance(metadata, Mapping) else {}
    # Columns of a row go before the keys of its metadata.
    merged: dict[str, object] = {**_drop_nothing(inner), **_drop_nothing(row)}
    text = find_first(row, TEXTS)
    if text is None and (empty := next((name for name in TEXTS if name in row), None)):
        return f"{empty}: is empty"
    if text is None:
        similar = next((name for name in row if find_typo(str(name), TEXTS)), None)
        return "text: is missing" + (
            f", nearest: {format_printable(similar)}" if similar else f"; it may be called {', '.join(TEXTS)}"
        )
    if not isinstance(text, str):
        return f"text: must be a text, got {describe_type(text)}"
    own_id = as_text(find_first(merged, IDS))
    fields = {name: as_text(merged[name]) for name in (*TITLES, *SOURCES) if name in merged}
    tags = _collect_tags(merged)
    if isinstance(tags, str):
        return tags
    try:
        return Document.model_validate(
            {"id": origin.made_id if own_id in (None, "") else own_id, "text": text, "tags": tags, **fields}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        return f"{format_printable(at)}: must be a text, got {describe_type(first['input'])}"


def _collect_tags(values: Mapping[str, object]) -> dict[str, object] | str:
    """Return the tags of a row: those it names, and its other columns that are plain; a text if they are wrong."""
    tags: dict[str, object] = {}
    for name, value in values.items():
        if name not in _OWN_NAMES and (plain := _convert_plain(value)) is not None:
            prefix = next((prefix for prefix in TAG_PREFIXES if name.startswith(prefix)), "")
            tags[name.removeprefix(prefix) or name] = plain
    tag_field = values.get("tags")
    if isinstance(tag_field, Mapping):
        return {
            **tags,
            **{str(name): _convert_plain(value) or value for name, value in _drop_nothing(tag_field).items()},
        }
    # Front matter lists its keywords so.
    if isinstance(tag_field, list | tuple):
        return {**tags, **{str(as_text(name)): "true" for name in tag_field if isinstance(name, str | int | float)}}
    if isinstance(tag_field, str | int | float):
        return {**tags, "tags": str(as_text(tag_field))}
    return tags if tag_field is None else f"tags: must be an object of texts, got {describe_type(tag_field)}"


def _convert_plain(value: object) -> str | None:
    """Return the text of a text, number, flag or date; None for anything else."""
    # Before numbers, because a flag is an integer to Python.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    converted = as_text(value)
    if isinstance(converted, float):
        return str(converted)
    return converted if isinstance(converted, str) else None


def _drop_nothing(values: Mapping[str, object]) -> dict[str, object]:
    return {str(name): value for name, value in values.items() if value is not None}


def _find_fault(document: Document) -> str:
    """Return why a document cannot be indexed; "" if it can."""
    if not document.text.strip() and not document.title.strip():
        return "text: is empty"
    try:
        # JSON can hold half a surrogate pair, which cannot be stored as UTF-8.
        f"{document.id}{document.title}{document.text}".encode()
    except UnicodeEncodeError:
        return "text: holds half a character (a lone surrogate); write the whole character"
    return "" if document.id.strip() else "id: is empty"


DOCUMENT_ROWS = RowPurpose("document", "a text", TEXTS, _check_columns, ("documents", "docs", *LIST_KEYS))
READERS: Mapping[str, Callable[[Path, _Place], _ReadDocuments]] = {
    **dict.fromkeys(TEXT_SUFFIXES, _read_text),
    **dict.fromkeys(MARKDOWN_SUFFIXES, _read_markdown),
    **dict.fromkeys((*JSON_READERS, *TABLES), _read_rows),
}
"""The readers by the endings of files."""
