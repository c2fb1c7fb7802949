"""What the fields of a row are called: greval's own names, those of its neighbours, dotted ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rapidfuzz import process
from rapidfuzz.distance import OSA

from greval.case import Case, Chunk, Effort, Gold, Traversal, Triple

NEIGHBOURS: Mapping[str, Mapping[str, str]] = {
    "ragas": {
        "user_input": "question",
        "response": "answer",
        "reference": "expected_answer",
        "retrieved_contexts": "chunks",
    },
    "ragas before 0.2": {
        "ground_truth": "expected_answer",
        "ground_truths": "expected_answer",
        "contexts": "chunks",
    },
    "deepeval": {
        "input": "question",
        "actual_output": "answer",
        "expected_output": "expected_answer",
        "retrieval_context": "chunks",
    },
    "others": {
        "query": "question",
        "prediction": "answer",
        "output": "answer",
        "reference_answer": "expected_answer",
        "gold_answers": "expected_answer",
        "context": "chunks",
        "documents": "chunks",
    },
}
"""The names that other tools give to a field of a case; of several in one row the first here counts."""

FIELD_OF: Mapping[str, str] = {
    **{own: own for own in Case.model_fields},
    **{name: own for names in NEIGHBOURS.values() for name, own in names.items()},
}
"""Each known name and the field it stands for, in the order in which they count."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "chunks": tuple(Chunk.model_fields),
    "triples": tuple(Triple.model_fields),
    "traversal": tuple(Traversal.model_fields),
    "gold": tuple(Gold.model_fields),
    "usage": tuple(Effort.model_fields),
}
"""The fields of the records inside a case."""

PREFIXES: Mapping[str, str] = {
    "gold.": "gold",
    "usage.": "usage",
    "traversal.": "traversal",
    "tags.": "tags",
    "tag:": "tags",
}
"""How dotted columns begin, such as `gold.essential_docs` or `tag:movie`, and the field they nest in."""

DOTTED = tuple(f"{own}.{part}" for own in ("gold", "usage", "traversal") for part in PARTS[own])

DEEPEVAL_MARKS = frozenset({"actual_output", "expected_output", "retrieval_context"})
"""Beside these a `context` is deepeval's: what should have been retrieved, not what was."""

MAX_SLIPS = 2
MAX_SHOWN = 60


@dataclass
class Settled:
    """The fields of one row: their values, what each was called, and the names that were left out."""

    values: dict[str, object] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)


def settle(row: Mapping[str, object]) -> Settled:
    """Give the fields of a case that a row holds; None is taken as not recorded.

    Args:
        row: The values by the names they have in the file.

    Returns:
        Values and names by field, and the names that were ignored, each with the reason, or with ""
        where the name is simply unknown.

    Example:
        >>> settle({"input": "Who?", "level": 3}).values
        {'question': 'Who?'}
    """
    settled = Settled()
    ideal = "context" in row and not DEEPEVAL_MARKS.isdisjoint(row)
    for name, own in FIELD_OF.items():
        if row.get(name) is None:
            continue
        if name == "context" and ideal:
            settled.ignored[name] = "deepeval's ideal context, not what was retrieved"
        elif own in settled.values:
            settled.ignored[name] = f"{settled.names[own]} is there"
        else:
            settled.values[own], settled.names[own] = row[name], name
    _nest(row, settled)
    return settled


def dotted(name: str) -> tuple[str, str] | None:
    """Give the field and the part that a dotted name stands for, or None where it is no such name.

    Example:
        >>> dotted("tag:movie")
        ('tags', 'movie')
    """
    for prefix, own in PREFIXES.items():
        if name.startswith(prefix) and len(name) > len(prefix):
            return own, name.removeprefix(prefix)
    return None


def known(name: str) -> bool:
    """Tell whether a name stands for a field of a case or for a part of one."""
    return name in FIELD_OF or dotted(name) is not None


def nearest(name: str, among: Iterable[str]) -> str | None:
    """Give the name among others that one or two slips of the keyboard are away, or None.

    Example:
        >>> nearest("Qestion", ["answer", "question"])
        'question'
    """
    slips = min(MAX_SLIPS, len(name) // 3)
    found = process.extractOne(name[:MAX_SHOWN], [*among], processor=str.lower, scorer=OSA.distance, score_cutoff=slips)
    return found[0] if found else None


def names_of(own: str) -> tuple[str, ...]:
    """Give all the names of a field, greval's own first."""
    return tuple(name for name, stands_for in FIELD_OF.items() if stands_for == own)


def shown(text: str, most: int = MAX_SHOWN) -> str:
    """Give a text of a file as it can be printed: cut, and free of control characters and half characters."""
    cut = text if len(text) <= most else f"{text[: most - 3]}..."
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def _nest(row: Mapping[str, object], settled: Settled) -> None:
    """Put dotted columns into the fields they are parts of, and note the unknown names."""
    for name, value in row.items():
        if name in FIELD_OF:
            continue
        if not (place := dotted(name)):
            settled.ignored[name] = ""
        elif value is not None and not _put(settled, *place, value):
            settled.ignored[name] = f"{place[0]} is there"


def _put(settled: Settled, own: str, part: str, value: object) -> bool:
    """Add a part to a field, unless the field itself says it already."""
    whole = settled.values.get(own, {})
    if not isinstance(whole, Mapping) or whole.get(part) is not None:
        return False
    settled.values[own] = {**whole, part: value}
    settled.names.setdefault(own, own)
    return True
