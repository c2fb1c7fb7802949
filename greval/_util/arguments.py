"""What a caller gives, looked at before anything is asked: a text is no list of cases, and no option is misspelt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from greval.errors import DataError

T = TypeVar("T")


def several(given: object, what: str, example: str) -> None:
    """Refuse one thing, or the name of a file, where several are wanted: it would be read letter by letter.

    Args:
        given: What was given.
        what: What is wanted.
        example: How to give it.

    Raises:
        DataError: Where it is a text, a path, or one record.

    Example:
        >>> several("cases.jsonl", "cases", "read_cases('cases.jsonl')")
        Traceback (most recent call last):
        greval.errors.DataError: cases: several are wanted, got str; give them as read_cases('cases.jsonl')
    """
    if isinstance(given, str | bytes | Path | Mapping | BaseModel) or not isinstance(given, Iterable):
        message = f"{what}: several are wanted, got {type(given).__name__}; give them as {example}"
        raise DataError(message)


def hold_until(rows: Iterable[T], is_met: Callable[[T], bool], refuse: Callable[[], Exception]) -> Iterator[T]:
    """Pass on rows as soon as one of them meets a wish; the rows before that are held back.

    Args:
        rows: What is read.
        is_met: Tells of each row whether the wish is met.
        refuse: Makes the error for rows of which none meets it.

    Raises:
        Exception: What `refuse` makes.

    Example:
        >>> [*hold_until([1, 2, 3], lambda row: row == 2, lambda: ValueError("no 2"))]
        [1, 2, 3]
    """
    source = iter(rows)
    held: list[T] = []
    for row in source:
        held.append(row)
        if is_met(row):
            break
    else:
        raise refuse()
    yield from held
    held.clear()
    yield from source


def run_folder(given: object, example: str = "its folder, such as 'runs/first'") -> Path:
    """Give the folder of one run: of its path as a text or a `Path`, or of what `evaluate` returned.

    Args:
        given: The run.
        example: How to give it.

    Raises:
        DataError: Where it is anything else, such as a list of runs.

    Example:
        >>> run_folder("runs/first").name
        'first'
        >>> run_folder(["runs/first"])
        Traceback (most recent call last):
        greval.errors.DataError: run: one is wanted, got list; give it as its folder, such as 'runs/first'
    """
    folder = Path(given) if isinstance(given, str) else getattr(given, "folder", given)
    if not isinstance(folder, Path):
        raise DataError(f"run: one is wanted, got {type(given).__name__}; give it as {example}")
    return folder


def known_options(given: Iterable[str], shape: type, function: str) -> None:
    """Refuse an option that a function does not have: a misspelt cap on cost would cap nothing.

    Args:
        given: The names of the options.
        shape: The `TypedDict` of those that there are.
        function: Whose they are.

    Raises:
        TypeError: As Python does, with the nearest name.

    Example:
        >>> from typing import TypedDict
        >>> known_options(["concurency"], TypedDict("Options", {"concurrency": int}), "evaluate")
        Traceback (most recent call last):
        TypeError: evaluate() has no option 'concurency'; did you mean concurrency?
    """
    known = [*shape.__annotations__]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            message = f"{function}() has no option {name!r}; {hint}"
            raise TypeError(message)


def unknown(what: str, name: str, names: Iterable[str], where: object) -> DataError:
    """Give the error for a name that is not there, with the nearest ones or all of them.

    Example:
        >>> print(unknown("metric", "latncy", ["latency", "llm_calls"], "runs/first"))
        runs/first: no metric 'latncy' is there; did you mean latency?
    """
    names = sorted(names)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names) or 'none'}"
    return DataError(f"{where}: no {what} {name!r} is there; {hint}")
