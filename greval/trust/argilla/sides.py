"""What both responses of a pair have of one kind, such as their answers, as one field with two columns.

The field is a text field with a table of escaped texts. It has no end tag: Argilla shows a text with one in a frame of
its own, in which it neither marks what people search for nor adjusts to the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from greval.trust.annotations.rendering import SIDES

FIRST, SECOND = SIDES
CELL = "width:50%;vertical-align:top;text-align:start;overflow-wrap:anywhere;padding:0.2em"
RIGHT = f"{CELL} 0 0.2em 1em;border-inline-start:1px solid #8888"
LEFT = f"{CELL} 1em 0.2em 0"
START = (
    f'<table style="width:100%;table-layout:fixed;border-collapse:collapse"><tr><th style="{LEFT}">{FIRST.upper()}'
    f'<th style="{RIGHT}">{SECOND.upper()}<tr><td dir="auto" style="{LEFT}">'
)
MIDDLE = f'<td dir="auto" style="{RIGHT}">'


def join_titles(titles: Mapping[str, str]) -> dict[str, str]:
    """Return the titles of the fields in which the two fields of a pair are one.

    Example:
        >>> join_titles({"question": "Question", "answer_a": "Answer A", "answer_b": "Answer B"})
        {'question': 'Question', 'answer_ab': 'Answer'}
    """
    return _join_pairs(titles, lambda title, _: title.removesuffix(f" {FIRST.upper()}"))


def join_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the escaped texts of the fields in which the two fields of a pair are one."""
    return _join_pairs(texts, lambda first, second: f"{START}{first}{MIDDLE}{second}")


def split_texts(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts that `join_texts` joined. Other contents of fields stay as they are.

    Example:
        >>> split_texts(join_texts({"question": "Who?", "answer_a": "Ada.", "answer_b": "Bob."}))
        {'question': 'Who?', 'answer_a': 'Ada.', 'answer_b': 'Bob.'}
    """
    separate: dict[str, Any] = {}
    for name, text in texts.items():
        if isinstance(text, str) and text.startswith(START):
            first, _, second = text.removeprefix(START).partition(MIDDLE)
            base = name.removesuffix(f"{FIRST}{SECOND}")
            separate |= {f"{base}{FIRST}": first, f"{base}{SECOND}": second}
        else:
            separate[name] = text
    return separate


def _join_pairs(texts: Mapping[str, str], join: Callable[[str, str], str]) -> dict[str, str]:
    """Replace each two texts whose names end with the letters of the sides by one."""
    joined = {}
    for name, text in texts.items():
        base = name[: -len(FIRST)]
        first, second = f"{base}{FIRST}", f"{base}{SECOND}"
        if first not in texts or second not in texts or not base.endswith("_"):
            joined[name] = text
        elif name == first:
            joined[f"{base}{FIRST}{SECOND}"] = join(text, texts[second])
    return joined
