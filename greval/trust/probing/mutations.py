"""What a metric judges of a case, and the mutations of it: changed texts, blanks, content of another question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from greval.records.case import Case, Chunk, Triple
from greval.records.metric import JudgedMetric
from greval.records.metric_input import Item, list_items

Target = Literal["answer", "context", "chunks", "triples"]
SOURCES = frozenset({"context", "chunks", "triples"})
_WORD = re.compile(r"\w{3,}|\d+")


def find_target(metric: JudgedMetric) -> Target | None:
    """Return what a metric judges: its items, else the answer, else the context. None if it uses none of these.

    Example:
        >>> from greval.records.metric import ValueMetric
        >>> find_target(ValueMetric(name="m", description="d", needs=["question", "context"], steps=["s"],
        ...                         range=(0, 1), levels={0: "No.", 1: "Yes."}))
        'context'
    """
    if metric.over:
        return metric.over
    if "answer" in metric.needs:
        return "answer"
    return "context" if SOURCES & {*metric.needs} else None


def change_texts(case: Case, what: Target, change: Callable[[str], str]) -> Case:
    """Return the case with changed texts: the answer, every chunk, or the object of every triple.

    In a context the chunks are changed, or the triples if there are no chunks.
    """
    if what == "answer":
        return case.model_copy(update={"answer": change(case.answer or "")})
    if what == "triples" or (what == "context" and not case.chunks):
        found = (one.model_copy(update={"object": change(one.object)}) for one in case.triples or ())
        return case.model_copy(update={"triples": tuple(found)})
    changed = (one.model_copy(update={"text": change(one.text)}) for one in case.chunks or ())
    return case.model_copy(update={"chunks": tuple(changed)})


def blank_target(case: Case, what: Target) -> Case:
    """Return the case with what is judged emptied: an empty answer, or items without text."""
    if what == "answer":
        return case.model_copy(update={"answer": ""})
    chunks = tuple(one.model_copy(update={"text": ""}) for one in case.chunks or ())
    triples = tuple(one.model_copy(update={"subject": "", "predicate": "", "object": ""}) for one in case.triples or ())
    parts: dict[str, object] = {"chunks": chunks, "triples": triples}
    if what == "context":
        return case.model_copy(
            update={name: part for name, part in parts.items() if getattr(case, name) is not None}
            | {"aggregates": None}
        )
    return case.model_copy(update={what: parts[what]})


def swap_target(case: Case, other: Case, what: Target) -> Case:
    """Return the case with what is judged taken from another case. Items keep their ids, so that verdicts match."""
    if what == "answer":
        return case.model_copy(update={"answer": other.answer})
    if what == "context":
        update = {"chunks": other.chunks, "triples": other.triples, "aggregates": other.aggregates}
        return case.model_copy(update=update)
    own, theirs = list_items(what, case), list_items(what, other)
    return case.model_copy(update={what: tuple(_copy_id(theirs[n % len(theirs)], one) for n, one in enumerate(own))})


def reorder_items(case: Case, what: Literal["chunks", "triples"], shift: int | None) -> Case:
    """Return the case with its items rotated by `shift` places, or reversed for a `shift` of None."""
    found = list_items(what, case)
    return case.model_copy(update={what: found[::-1] if shift is None else (*found[shift:], *found[:shift])})


def find_foreign_case(case: Case, pool: Sequence[Case], what: Target) -> Case | None:
    """Return the case of another question whose content shares the fewest words with this one, or None.

    Answers that state something from their own sources are preferred, because a refusal would fit any
    question.

    Args:
        case: The case that needs foreign content.
        pool: The cases to choose from.
        what: The part to be taken.
    """
    own = extract_words(" ".join((case.question, case.expected_answer or "", *iter_texts(case, what))))
    strangers = [
        one
        for one in pool
        if one.question != case.question
        and any(map(str.strip, iter_texts(one, what)))
        and [*iter_texts(one, what)] != [*iter_texts(case, what)]
    ]
    return min(
        strangers,
        key=lambda one: (not is_grounded(one, what), len(own & extract_words(" ".join(iter_texts(one, what))))),
        default=None,
    )


def is_grounded(case: Case, what: Target) -> bool:
    """Return whether an answer states something from its sources or the expected answer that is not in the question."""
    if what != "answer":
        return True
    sources = " ".join((case.expected_answer or "", *iter_texts(case, "context")))
    return bool((extract_words(case.answer or "") & extract_words(sources)) - extract_words(case.question))


def iter_texts(case: Case, what: Target) -> Iterator[str]:
    """Yield the texts of what is judged."""
    if what == "answer":
        yield case.answer or ""
    if what in {"chunks", "context"}:
        yield from (one.text for one in case.chunks or ())
    if what in {"triples", "context"}:
        yield from (f"{one.subject} {one.predicate} {one.object}" for one in case.triples or ())
    if what == "context":
        yield from case.aggregates or ()


def extract_words(text: str) -> set[str]:
    """Return the content words of a text: numbers, and words of three letters or more.

    Example:
        >>> sorted(extract_words("It is 12 hours."))
        ['12', 'hours']
    """
    return set(_WORD.findall(text.casefold()))


def _copy_id(item: Item, like: Item) -> Chunk | Triple:
    return item.model_copy(update={"id": like.id})
