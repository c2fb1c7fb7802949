"""Paths into JSON, such as `data.hits[*].text`."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROOT = "$"
MAX_KEYS_SHOWN = 12
PathStep = str | int | None
"""A name, the index of an item, or None for every item."""
_STEP = re.compile(r'\.?([^.\[\]"?$]+)|\[(\d+)\]|\[(\*)\]|\["([^"]+)"\]')


class JsonPathError(ValueError):
    """A text is not a path, or there is no value at one."""


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
        """Parse a path; raise `JsonPathError` if the text is none."""
        bare = text.strip()
        optional = bare.endswith("?")
        remaining = bare.removesuffix("?").removeprefix(ROOT)
        steps: list[PathStep] = []
        while remaining:
            match = _STEP.match(remaining)
            if not match or (remaining.startswith(".") and not steps and not bare.startswith(ROOT)):
                raise JsonPathError(f'{text!r} is not a path; write it as data.hits[*].text, data["a.b"] or $')
            steps.append(int(match[2]) if match[2] else None if match[3] else match[1] or match[4])
            remaining = remaining[match.end() :]
        if not bare.removesuffix("?"):
            raise JsonPathError(f"{text!r} is not a path; $ is the whole content")
        return cls(bare, tuple(steps), optional)

    def find(self, content: object) -> object:
        """Return the value at the path, a list if it contains `[*]`, and None if an optional path has no value.

        Without a value, `JsonPathError` describes what was found instead.
        """
        try:
            return _follow_steps(content, self.steps, ())
        except LookupError as error:
            if self.optional:
                return None
            raise JsonPathError(f"nothing is at {self.text}: {error.args[0]}") from None


def _follow_steps(content: object, steps: tuple[PathStep, ...], done: tuple[PathStep, ...]) -> object:
    """Return the value at the end of steps; raise `LookupError` with what is there instead."""
    if not steps:
        return content
    step, *remaining = steps
    if step is None:
        if not isinstance(content, list):
            raise LookupError(f"{_format_steps(done)} is {_describe_type(content)}, not a list")
        values = [_follow_steps(item, tuple(remaining), (*done, n)) for n, item in enumerate(content)]
        if None not in remaining:
            return values
        return [item for items in values for item in (items if isinstance(items, list) else [items])]
    if isinstance(step, int) and isinstance(content, list) and step < len(content):
        return _follow_steps(content[step], tuple(remaining), (*done, step))
    if isinstance(step, str) and isinstance(content, dict) and step in content:
        return _follow_steps(content[step], tuple(remaining), (*done, step))
    description = f"a list of {len(content)}" if isinstance(step, int) and isinstance(content, list) else None
    raise LookupError(f"{_format_steps(done)} is {description or _describe_type(content)}")


def _format_steps(done: tuple[PathStep, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in done).lstrip(".") or "the content"


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
