"""Rendering of a judged item for people: the same input that the judge saw, as fields of a record.

The texts are for pages that render HTML and collapse whitespace, such as Argilla's. Texts are escaped, and line
breaks are kept.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence

from greval.records.case import RESPONSE_FIELDS, TAG, Case, Traversal, Triple, format_history, swap_responses
from greval.records.metric import JudgedMetric, is_preference
from greval.records.metric_input import Item, format_item, list_items

NOTHING = "(none)"
CUT = " ... (cut)"
TITLES = {
    "question": "Question",
    "expected_answer": "Expected answer",
    "answer": "Answer",
    "chunks": "Chunks",
    "triples": "Triples",
    "context": "Context",
    "traversal": "Walk through the graph",
    "chunk": "Chunk to judge",
    "triple": "Triple to judge",
    "claim": "Claim of the answer to judge",
    "expected_claim": "Claim of the expected answer to judge",
}
SIDES = ("a", "b")
"""The letters of both responses of a pair, at the end of the names of their fields."""


def list_titles(metric: JudgedMetric) -> dict[str, str]:
    """Return the fields of a metric's records in order, each with its title; the judged item comes last.

    A preference has a field for each of the two responses, one after the other.

    Example:
        >>> from greval.metrics.library import predefined
        >>> list_titles(predefined()["chunk_evaluation"])
        {'question': 'Question', 'chunk': 'Chunk to judge'}
        >>> list_titles(predefined()["comprehensiveness"])
        {'question': 'Question', 'answer_a': 'Answer A', 'answer_b': 'Answer B'}
    """
    titles = {
        name: need.removeprefix(TAG) if need.startswith(TAG) else f"{TITLES[need]} {side.upper()}".rstrip()
        for name, need, side in _iterate_field_names(metric)
    }
    if metric.over:
        item_field = metric.over.removesuffix("s")
        titles[item_field] = TITLES[item_field]
    return titles


def format_fields(metric: JudgedMetric, case: Case, item: Item | None) -> dict[str, str]:
    """Return the content of each field: the inputs that the metric needs, and the judged item."""
    swapped = swap_responses(case) if is_preference(metric) else case
    fields = {
        name: _format_need(need, swapped if side == SIDES[1] else case)
        for name, need, side in _iterate_field_names(metric)
    }
    if metric.over and item is not None:
        fields[metric.over.removesuffix("s")] = _format_item(item)
    return {name: escape_text(text) for name, text in fields.items()}


def escape_text(text: str) -> str:
    r"""Escape a text for HTML so that a page shows it unchanged, with its line breaks.

    Example:
        >>> escape_text("if a < b:\n\tgo & <i>stop</i>")
        'if a &lt; b:<br>&emsp;go &amp; &lt;i&gt;stop&lt;/i&gt;'
    """
    encodable = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    lines = html.escape(encodable, quote=False).strip().splitlines()
    return "<br>".join(_keep_indent(line) for line in lines) or "(empty)"


def unescape_text(escaped: str) -> str:
    r"""Return the text of a field as it was before `escape_text`, for pages that do not render HTML.

    Example:
        >>> unescape_text("if a &lt; b:<br>&emsp;go &amp; &lt;i&gt;stop&lt;/i&gt;")
        'if a < b:\n\tgo & <i>stop</i>'
    """
    return html.unescape(escaped.replace("<br>", "\n").replace("&emsp;", "\t").replace("&nbsp;", " "))


def cut_text(text: str, max_length: int) -> str:
    """Return a text that is not longer than a program takes, with a mark at its end if it was cut."""
    return text if len(text) <= max_length else text[: max_length - len(CUT)] + CUT


def _keep_indent(line: str) -> str:
    """Replace leading whitespace with entities, because a page would collapse it."""
    content = line.lstrip(" \t")
    return line[: len(line) - len(content)].replace("\t", "&emsp;").replace(" ", "&nbsp;") + content


def _iterate_field_names(metric: JudgedMetric) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the need and the side of each field; the side is empty for what both responses share."""
    tags = [need for need in metric.needs if need.startswith(TAG)]
    for need in metric.needs:
        if is_preference(metric) and need in RESPONSE_FIELDS:
            yield from ((f"{need}_{side}", need, side) for side in SIDES)
        elif need != metric.over:
            # Tags are numbered, because their names may have characters that field names may not.
            yield (f"tag_{tags.index(need) + 1}" if need in tags else need), need, ""


def _format_need(need: str, case: Case) -> str:
    """Format the input that a metric needs."""
    if need.startswith(TAG):
        return case.tags[need.removeprefix(TAG)]
    if need == "context":
        parts = {field: list_items(field, case) for field in ("chunks", "triples") if getattr(case, field) is not None}
        return _format_context(parts, case.aggregates or ())
    if need in {"chunks", "triples"}:
        return _format_numbered(map(_format_item, list_items(need, case)))
    if need == "traversal":
        return _format_traversal(case.traversal or Traversal())
    # The history goes into the field of the question, because the fields of a dataset are the same for all cases.
    if need == "question" and case.history:
        return f"{format_history(case.history)}\n\n{case.question}"
    return str(getattr(case, need))


def _format_context(parts: Mapping[str, Iterable[Item]], aggregates: Sequence[str]) -> str:
    """Format all that an answer was generated from, each kind under its title."""
    sections = {TITLES[field]: _format_numbered(map(_format_item, items)) for field, items in parts.items()}
    sections |= {"Computed": _format_numbered(aggregates)} if aggregates else {}
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()) or NOTHING


def _format_numbered(texts: Iterable[str]) -> str:
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1)) or NOTHING


def _format_item(item: Item) -> str:
    """Format a chunk, a triple or a claim."""
    if not isinstance(item, Triple):
        return format_item(item)
    return f"{item.subject} \u2014 {item.predicate} \u2014 {item.object}"


def _format_traversal(walk: Traversal) -> str:
    """Format the edges of a traversal, with its start and end nodes."""
    edges = (f"{n}. {a} \u2014 {label} \u2014 {b}" for n, (a, label, b) in enumerate(walk.traversed_edges, 1))
    return "\n".join([f"start: {', '.join(walk.start_nodes)}", *edges, f"end: {', '.join(walk.final_nodes)}"])
