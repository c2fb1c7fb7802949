"""Paths into JSON, such as `data.hits[*].text`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from greval.errors import MethodError

ROOT = "$"
MAX_KEYS_SHOWN = 12
PathStep = str | int | None
"""A name, the index of an item, or None for every item."""
_STEP = re.compile(r'\.?([^.\[\]"?$]+)|\[(\d+)\]|\[(\*)\]|\["([^"]+)"\]')


@dataclass(frozen=True)
class JsonPath:
    """A path into JSON.

    Names are separated by dots. `[0]` selects an item of a list (from 0), `[*]` every item, `["a.b"]` a name that
    contains dots, and `$` the whole content. A path that ends with `?` is optional.

    Example:
        >>> JsonPath.parse("hits[*].text").find({"hits": [{"text": "a"}, {"text": "b"}]})
        ['a', 'b']
        >>> JsonPath.parse("hits[0].score?").find({"hits": []}) is None
        True
    """

    text: str
    steps: tuple[PathStep, ...]
    optional: bool = False

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Parse a path.

        Raises:
            MethodError: If the text is not a path.
        """
        bare = text.strip()
        optional = bare.endswith("?")
        rest = bare.removesuffix("?").removeprefix(ROOT)
        steps: list[PathStep] = []
        while rest:
            found = _STEP.match(rest)
            if not found or (rest.startswith(".") and not steps and not bare.startswith(ROOT)):
                raise MethodError(f'{text!r} is no path; write it as data.hits[*].text, data["a.b"] or $')
            steps.append(int(found[2]) if found[2] else None if found[3] else found[1] or found[4])
            rest = rest[found.end() :]
        if not bare.removesuffix("?"):
            raise MethodError(f"{text!r} is no path; $ is the whole reply")
        return cls(bare, tuple(steps), optional)

    def find(self, content: object) -> object:
        """Return the value at the path.

        Returns:
            The value, or a list of values if the path contains `[*]`. None if an optional path has no value.

        Raises:
            MethodError: If there is no value. The message describes what was found instead.
        """
        try:
            return _follow_steps(content, self.steps, ())
        except _MissingValueError as missing:
            if self.optional:
                return None
            raise MethodError(f"nothing is at {self.text}: {missing}") from None


class _MissingValueError(Exception):
    """There is no value at the path."""


def _follow_steps(content: object, steps: tuple[PathStep, ...], done: tuple[PathStep, ...]) -> object:
    if not steps:
        return content
    step, *rest = steps
    if step is None:
        if not isinstance(content, list):
            raise _MissingValueError(f"{_format_steps(done)} is {_describe_type(content)}, not a list")
        found = [_follow_steps(item, tuple(rest), (*done, n)) for n, item in enumerate(content)]
        return [item for items in found for item in _as_list(items)] if None in rest else found
    if isinstance(step, int):
        if not isinstance(content, list) or step >= len(content):
            held = f"a list of {len(content)}" if isinstance(content, list) else _describe_type(content)
            raise _MissingValueError(f"{_format_steps(done)} is {held}")
        return _follow_steps(content[step], tuple(rest), (*done, step))
    if not isinstance(content, dict) or step not in content:
        raise _MissingValueError(f"{_format_steps(done)} is {_describe_type(content)}")
    return _follow_steps(content[step], tuple(rest), (*done, step))


def _as_list(found: object) -> list[object]:
    return found if isinstance(found, list) else [found]


def _format_steps(done: tuple[PathStep, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in done).lstrip(".") or "the reply"


def _describe_type(content: object) -> str:
    """Describe the type of a value without its content."""
    if isinstance(content, dict):
        names = [*map(str, content)]
        more = ", ..." if len(names) > MAX_KEYS_SHOWN else ""
        return f"an object with {', '.join(names[:MAX_KEYS_SHOWN])}{more}" if names else "an empty object"
    if content is None:
        return "null"
    kinds: dict[type, str] = {list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(content), "a number")
