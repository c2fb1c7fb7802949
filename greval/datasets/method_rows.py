"""Rows that hold a question with the responses of several methods, as `greval eval` writes them: a row per response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from greval.datasets.field_names import FIELD_BY_NAME, list_names, split_dotted
from greval.datasets.json_text import RawRow

METHODS = "methods"
RENAMED: Mapping[str, str] = {"response": "answer", "efficiency": "usage"}


def split_methods(row: RawRow, position: int) -> Iterator[RawRow]:
    """Yield a row for each method of a row that holds several, and any other row unchanged.

    Plain columns of the row, such as the one that groups the questions, become tags. The reason of a failed response
    becomes its `error`. The rows of a question without an id share an id made from its position.

    Example:
        >>> row = RawRow(1, {"question": "Who?", "methods": {"walk": {"response": "Ada"}, "flat": {"response": "Bob"}}})
        >>> [(one.values["method"], one.values["answer"]) for one in split_methods(row, 1)]
        [('walk', 'Ada'), ('flat', 'Bob')]
    """
    methods = row.values.get(METHODS)
    if not isinstance(methods, Mapping) or not all(isinstance(one, Mapping) for one in methods.values()):
        yield row
        return
    shared = {_name_tag(name, value): value for name, value in row.values.items() if name != METHODS}
    if not any(shared.get(name) for name in list_names("id")):
        shared["id"] = f"row-{position}"
    for method, given in methods.items():
        values = {RENAMED.get(name, name): value for name, value in given.items() if name != "failures"}
        yield replace(row, values={**shared, **values, "method": method, **_read_error(given.get("failures"))})


def _name_tag(name: str, value: object) -> str:
    plain = isinstance(value, str | int | float) and name not in FIELD_BY_NAME and split_dotted(name) is None
    return f"tags.{name}" if plain else name


def _read_error(failures: object) -> dict[str, object]:
    """Return the reason why there is no response, as a field of a case."""
    failure = failures.get("response") if isinstance(failures, Mapping) else None
    message = failure.get("message") if isinstance(failure, Mapping) else None
    return {} if message is None else {"error": message}
