"""Argument checks: reject a string instead of a list, unknown options and unknown names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from greval._util.wording import did_you_mean, name_nearest
from greval.errors import DataError

T = TypeVar("T")


def require_iterable(value: object, what: str, example: str) -> None:
    """Raise `DataError` if an argument is a single object instead of an iterable of them.

    Example:
        >>> require_iterable("cases.jsonl", "cases", "read_cases('cases.jsonl')")
        Traceback (most recent call last):
        greval.errors.DataError: cases: expected several, got str; pass them as read_cases('cases.jsonl')
    """
    # A string, such as the name of a file, would be iterated character by character.
    if isinstance(value, str | bytes | Path | Mapping | BaseModel) or not isinstance(value, Iterable):
        raise DataError(f"{what}: expected several, got {type(value).__name__}; pass them as {example}")


def require_any(rows: Iterable[T], is_met: Callable[[T], bool], refuse: Callable[[], Exception]) -> Iterator[T]:
    """Yield all rows, but none before one of them meets a condition; if none does, raise the error from `refuse`.

    Rows before the first match are buffered.

    Example:
        >>> [*require_any([1, 2, 3], lambda row: row == 2, lambda: ValueError("no 2"))]
        [1, 2, 3]
    """
    source = iter(rows)
    buffered: list[T] = []
    for row in source:
        buffered.append(row)
        if is_met(row):
            break
    else:
        raise refuse()
    yield from buffered
    # The rows can be freed while the others are read.
    buffered.clear()
    yield from source


def resolve_run_folder(run: object, example: str = "its folder, such as 'runs/first'") -> Path:
    """Return the folder of one run, given by its path or as the object that `evaluate` returned.

    Example:
        >>> resolve_run_folder("runs/first").name
        'first'
        >>> resolve_run_folder(["runs/first"])
        Traceback (most recent call last):
        greval.errors.DataError: run: expected one run, got list; pass it as its folder, such as 'runs/first'
    """
    folder = Path(run) if isinstance(run, str) else getattr(run, "folder", run)
    if not isinstance(folder, Path):
        raise DataError(f"run: expected one run, got {type(run).__name__}; pass it as {example}")
    return folder


def check_options(names: Iterable[str], shape: type, function: str) -> None:
    """Raise `TypeError`, as Python does, if a keyword option is not one of a `TypedDict`.

    Example:
        >>> from typing import TypedDict
        >>> check_options(["concurency"], TypedDict("Options", {"concurrency": int}), "evaluate")
        Traceback (most recent call last):
        TypeError: evaluate() has no option 'concurency'; did you mean concurrency?
    """
    options = [*shape.__annotations__]
    for name in names:
        # A misspelt cost limit that is ignored would limit nothing.
        if name not in options:
            raise TypeError(f"{function}() has no option {name!r}{name_nearest(name, options)}")


def build_unknown_name_error(what: str, name: str, names: Iterable[str], where: object) -> DataError:
    """Build the error for an unknown name, with the nearest known names or all of them.

    Example:
        >>> print(build_unknown_name_error("metric", "latncy", ["latency", "llm_calls"], "runs/first"))
        runs/first: no metric 'latncy' is there; did you mean latency?
    """
    return DataError(f"{where}: no {what} {name!r} is there{did_you_mean(name, sorted(names))}")
