"""What the fields of a row are called: greval's own names, those of its neighbours, dotted ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rapidfuzz import process
from rapidfuzz.distance import OSA

from greval.records.case import Case, Chunk, Effort, Gold, Traversal, Triple

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
        "query_id": "id",
        "question_id": "id",
        "query": "question",
        "prediction": "answer",
        "output": "answer",
        "generated_answer": "answer",
        "reference_answer": "expected_answer",
        "gold_answers": "expected_answer",
        "gt_answer": "expected_answer",
        "retrieved_context": "chunks",
        "context": "chunks",
        "context_text": "chunks",
        "documents": "chunks",
    },
}
"""The names that other tools give to a field of a case; of several in one row the first here counts."""

FIELD_OF: Mapping[str, str] = {
    **{own: own for own in Case.model_fields},
    **{name: own for names in NEIGHBOURS.values() for name, own in names.items()},
}
"""Each known name and the field it stands for, in the order in which they count."""
OWN = frozenset(Case.model_fields)

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

LOGGED = frozenset({"traversed_edges", "final_nodes"})
"""Names that stand alone in the log of a walk only."""
START = "start_nodes"
"""Where a walk began in a log, and where it should begin elsewhere."""
ALONE: Mapping[str, str] = {
    **dict.fromkeys(("essential_docs", "helpful_docs", "essential_repos", "expected_edges", "expected_nodes"), "gold"),
    START: "gold",
    **dict.fromkeys(LOGGED, "traversal"),
}
"""Parts of gold and of a traversal that may stand in a row by their own names, and the field they nest in."""

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
    if row.keys() <= OWN:
        settled.values = {name: value for name, value in row.items() if value is not None}
        settled.names = {name: name for name in settled.values}
        return settled
    passed_over = _passed_over(row)
    for name, own in FIELD_OF.items():
        if row.get(name) is None:
            continue
        if name in passed_over:
            settled.ignored[name] = passed_over[name]
        elif own in settled.values:
            settled.ignored[name] = f"{settled.names[own]} is there"
        else:
            settled.values[own], settled.names[own] = row[name], name
    _nest(row, settled)
    return settled


def is_log(names: Iterable[str]) -> bool:
    """Tell whether names are those of the log of a walk, which has no question: its id stands for it.

    Example:
        >>> is_log(["query_id", "start_nodes", "traversed_edges", "final_nodes"])
        True
    """
    given = {*names}
    return not LOGGED.isdisjoint(given) and not given.isdisjoint(names_of("id"))


def _passed_over(row: Mapping[str, object]) -> dict[str, str]:
    """Give the names that do not count in a row although they are known, each with the reason."""
    if row.get("context") is None:
        return {}
    if not DEEPEVAL_MARKS.isdisjoint(row):
        return {"context": "deepeval's ideal context, not what was retrieved"}
    text = row.get("context_text")
    if isinstance(text, str) and not _holds_passages(row["context"], text):
        return {"context": "context_text holds the text, this does not"}
    return {}


def _holds_passages(context: object, text: str) -> bool:
    """Tell whether a context holds at least half of a text in passages, rather than ids or tables."""
    items = context if isinstance(context, list | tuple) else [context]
    texts = [item.get("text") if isinstance(item, Mapping) else item for item in items]
    return all(isinstance(item, str) for item in texts) and 2 * sum(map(len, map(str, texts))) >= len(text)


def dotted(name: str) -> tuple[str, str] | None:
    """Return the field and the part that a name such as `gold.essential_docs` stands for, None if it is no such name.

    The names of `ALONE` stand for a part too; `start_nodes` is gold's, but beside the other names of a log the walk's.

    Example:
        >>> dotted("tag:movie")
        ('tags', 'movie')
    """
    for prefix, own in PREFIXES.items():
        if name.startswith(prefix) and len(name) > len(prefix):
            return own, name.removeprefix(prefix)
    return (ALONE[name], name) if name in ALONE else None


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
    walked = not LOGGED.isdisjoint(row)
    for name, value in row.items():
        if name in FIELD_OF:
            continue
        place = ("traversal", START) if walked and name == START else dotted(name)
        if not place:
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
