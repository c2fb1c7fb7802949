"""What a case must keep to be judged: limits, the same for a request and for a row of a data set, and some content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from greval.datasets.field_names import find_field
from greval.records.case import TAG, Case, Over
from greval.records.record import Record
from greval.records.recorded_fields import list_recorded_fields
from greval.serve.settings import ServerLimits

ITEM_FIELDS: tuple[str, ...] = get_args(Over)
"""The fields whose items may be judged separately."""
MAX_LISTED = 10
MAX_NAME_LENGTH = 60
_Place = tuple["_Place", object] | None
"""A place in a case: the place around it, and a name or a position. No text is made of places without a fault."""


def explain_refusal(case: Case, limits: ServerLimits) -> str | None:
    """Return why a row of a data set is not judged: it exceeds the limits or holds nothing; None if it is judged."""
    if not _holds_content(case):
        return "question: is empty, and there is nothing else to judge; write a question"
    faults = [f"{path}: {message}" for path, message in find_excess(case, limits)]
    more = [f"and {len(faults) - MAX_LISTED:,} more"] if len(faults) > MAX_LISTED else []
    return "; ".join([*faults[:MAX_LISTED], *more]) or None


def _holds_content(case: Case) -> bool:
    """Return whether a case holds anything beside its name and its tags, such as a question that is not empty."""
    if case.question.strip():
        return True
    return any(name not in {"id", "method"} and not name.startswith(TAG) for name in list_recorded_fields(case))


def find_excess(case: object, limits: ServerLimits) -> Iterator[tuple[str, str]]:
    """Find the texts and lists that exceed the limits, each with its place and a message.

    The case may also be JSON that was sent as one.
    """
    content = dict(case) if isinstance(case, Record) else case
    for name, items in _iterate_values(content):
        if isinstance(items, list | tuple) and len(items) > limits.items and find_field(name) in ITEM_FIELDS:
            yield name, f"holds {len(items):,}, at most {limits.items:,} are allowed (items)"
    stack: list[tuple[_Place, object]] = [(None, content)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            if len(value) > limits.text:
                message = f"holds {len(value):,} characters, at most {limits.text:,} are allowed (text)"
                yield _format_place(path), message
        elif isinstance(value, Record):
            stack.extend([((path, name), part) for name, part in value.__dict__.items() if part is not None])
        elif isinstance(value, dict):
            stack.extend([((path, name), part) for name, part in value.items()])
        elif isinstance(value, list | tuple):
            stack.extend([((path, n), part) for n, part in enumerate(value)])


def _format_place(path: _Place) -> str:
    names: list[str] = []
    while path:
        path, name = path
        # A name may be a key that the client made up.
        names.append(str(name)[:MAX_NAME_LENGTH])
    return ".".join(reversed(names))


def _iterate_values(case: object) -> Iterator[tuple[str, object]]:
    """Yield the values of a case by name, and those inside objects such as `inputs` and `other_response`."""
    for name, value in case.items() if isinstance(case, dict) else ():
        yield name, value
        yield from dict(value).items() if isinstance(value, dict | Record) else ()
