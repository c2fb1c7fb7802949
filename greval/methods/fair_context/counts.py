"""Counts over the facts of retrieved documents: aggregates that every method can be given alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

from greval._util.wording import did_you_mean
from greval.datasets.case_reader import translate_errors
from greval.datasets.json_files import read_json_lines
from greval.datasets.row_purpose import RowPurpose
from greval.errors import DataError
from greval.methods.fair_context import Aggregate
from greval.records.case import Chunk, Sample

Fact = Mapping[str, tuple[str, ...]]
"""A statement about a document: the values of each of its fields."""
Facts = Mapping[str, tuple[Fact, ...]]
FACT_ROWS = RowPurpose("line", "doc_id, and with facts or fields of one fact")
TRIPLE_LENGTH = 3
MAX_VALUES = 20
FACT_FORMS = "an object of fields, a list of such objects, or a list of (subject, predicate, object)"


def create_fact_counter(
    facts: Mapping[str, object] | str | Path, by: Sequence[str | Sequence[str]] | None = None, *, most: int = MAX_VALUES
) -> Aggregate:
    """Return a function that counts the facts of the retrieved documents.

    A document counts once for each of its values. Its id is the chunk's `doc_id`, or the chunk's own id if it has no
    `doc_id`.

    Args:
        facts: The facts of each document id: an object such as `{"feature": ["battery"], "sentiment":
            "negative"}`, a list of such objects, or a list of (subject, predicate, object), which counts
            objects by predicate. Or a file of facts, see `read_facts`.
        by: The groupings to count: a field, or a list of fields for their combinations. By default every
            single field and every pair of fields that occur in one fact.
        most: The maximum number of values listed per grouping, most frequent first. The others are counted.

    Returns:
        A function for `generate_answers(..., aggregate=)` that returns one text for each grouping.

    Raises:
        DataError: If the facts have an unknown form, or no fact has a field of `by`.

    Example:
        >>> count = create_fact_counter({"d1": {"feature": ["battery", "price"]}, "d2": {"feature": "battery"}})
        >>> count(Sample(question="What fails?"), [Chunk(id="c1", text="", doc_id=d) for d in ("d1", "d2", "d3")])
        ('feature, told by 2 of 3 documents: battery: 2, price: 1',)
    """
    facts_by_document = read_facts(facts) if isinstance(facts, str | Path) else _normalise_facts(facts.items())
    groups = None if by is None else [(grouping,) if isinstance(grouping, str) else tuple(grouping) for grouping in by]
    _check_fields(groups or (), facts_by_document)

    def aggregate(_: Sample, chunks: Sequence[Chunk]) -> tuple[str, ...]:
        # A document counts once, however many of its chunks were retrieved.
        documents = {chunk.doc_id or chunk.id: None for chunk in chunks}
        document_facts = [facts_by_document[document] for document in documents if document in facts_by_document]
        groupings = (
            groups if groups is not None else _list_groupings(fact for facts_of in document_facts for fact in facts_of)
        )
        lines = (_format_counts(group, document_facts, len(documents), most) for group in groupings)
        return tuple(text for text in lines if text)

    return aggregate


def read_facts(path: str | Path) -> Facts:
    """Read facts by document from JSON lines, each with `doc_id` and either `facts` or the fields of one fact.

    `facts` has any form that `create_fact_counter` accepts. Lines of the same document are combined.
    """
    file = Path(path)
    with translate_errors(str(file)):
        return _normalise_facts(_read_lines(file), f"{file}:")


def _read_lines(file: Path) -> Iterator[tuple[tuple[int, str], object]]:
    """Read the document and its facts of each line; each document comes with its line number."""
    for row in read_json_lines(file, FACT_ROWS):
        for name, why in row.faults.items():
            raise DataError(f"{file}:{row.number}: {f'{name}: ' if name else ''}{why}")
        if not isinstance(row.values.get("doc_id"), str | int):
            raise DataError(f"{file}:{row.number}: must be an object with {FACT_ROWS.content}")
        fields = {name: value for name, value in row.values.items() if name != "doc_id"}
        yield (row.number, str(row.values["doc_id"])), fields["facts"] if [*fields] == ["facts"] else fields


def _normalise_facts(entries: Iterable[tuple[str | tuple[int, str], object]], prefix: str = "facts: ") -> Facts:
    """Convert facts to their normal form; raise if the facts of a document have an unknown form."""
    facts: dict[str, tuple[Fact, ...]] = {}
    for key, content in entries:
        where, document = (f"{prefix}{key[0]}: ", key[1]) if isinstance(key, tuple) else (prefix, str(key))
        parts = [content] if isinstance(content, Mapping) else content
        if not isinstance(parts, list | tuple):
            raise DataError(f"{where}document {document!r}: must be {FACT_FORMS}")
        facts[document] = (
            *facts.get(document, ()),
            *(_parse_fact(part, f"{where}document {document!r}") for part in parts),
        )
    return facts


def _parse_fact(part: object, where: str) -> Fact:
    if isinstance(part, Mapping):
        return {
            str(name): values for name, value in part.items() if (values := _parse_values(value, f"{where}: {name}"))
        }
    if isinstance(part, list | tuple) and len(part) == TRIPLE_LENGTH:
        return {str(part[1]): _parse_values(part[2], where)}
    raise DataError(f"{where}: must be {FACT_FORMS}")


def _parse_values(value: object, where: str) -> tuple[str, ...]:
    """Return the values of a field as single-line texts; None gives no values."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(text for item in value for text in _parse_values(item, where))
    if isinstance(value, str | int | float):
        return (" ".join((str(value).lower() if isinstance(value, bool) else str(value)).split()),)
    raise DataError(f"{where}: must be a text, a number or a list of these")


def _check_fields(groups: Iterable[tuple[str, ...]], facts_by_document: Facts) -> None:
    """Raise if no fact has one of the fields to count."""
    fields = {name: None for facts in facts_by_document.values() for fact in facts for name in fact}
    for name in (name for group in groups for name in group if name not in fields):
        raise DataError(f"facts: no document has the field {name!r} to count{did_you_mean(name, fields)}")


def _list_groupings(facts: Iterable[Fact]) -> list[tuple[str, ...]]:
    """Return every single field, then every pair of fields that occur in one fact, in order of first occurrence."""
    alone: dict[tuple[str, ...], None] = {}
    pairs: dict[tuple[str, ...], None] = {}
    for fact in facts:
        alone.update(dict.fromkeys((name,) for name in fact))
        pairs.update(dict.fromkeys(tuple(sorted(pair)) for pair in combinations(fact, 2)))
    return [*alone, *pairs]


def _format_counts(
    group: tuple[str, ...], document_facts: Sequence[Sequence[Fact]], documents: int, max_values: int
) -> str:
    """Format the number of documents per value of a grouping; empty if no document has a value."""
    counts: Counter[str] = Counter()
    telling = 0
    for facts in document_facts:
        values = {
            " / ".join(combination)
            for fact in facts
            for combination in product(*(fact.get(name, ()) for name in group))
        }
        telling += bool(values)
        counts.update(values)
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    listed = ", ".join(f"{value}: {count}" for value, count in ranked[:max_values])
    more = f", and {len(ranked) - max_values} more values" if len(ranked) > max_values else ""
    return f"{' / '.join(group)}, told by {telling} of {documents} documents: {listed}{more}" if ranked else ""
