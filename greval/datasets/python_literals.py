"""Lists and objects as Python prints them, which is what pandas writes into the cells of a CSV file.

A cell is data: it is split into tokens by one regular expression, and only literals get to `ast.literal_eval`.
"""

from __future__ import annotations

import ast
import re

MAX_LITERAL = 2**20
"""The maximum length of such a text; the syntax tree of a longer one would take too much memory."""
MAX_TOKENS = 100_000
"""The maximum number of values, brackets and marks; more would take seconds."""
LARGEST = 10**19
"""Numbers from here on are refused, as in JSON."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>[bBuU]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<type>,\s*dtype=[\w<>'|]+)
    |(?P<object>[A-Za-z_][\w.]*)\s*\(
    |(?P<argument>[A-Za-z_]\w*)\s*=
    |(?P<constant>(?:np\.)?(?:None|True|False|True_|False_|nan|null|true|false))\b
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<mark>[,:])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = {"nan": "None", "null": "None", "true": "True", "false": "False", "True_": "True", "False_": "False"}
_SCALAR = re.compile(r"(?:np|numpy)\.(?:float|int|uint|str|bool)\w*")
"""The beginning of a number or a text as NumPy 2 prints it in a list, such as `np.float64(0.5)`."""
_CLOSING = {"[": "]", "(": ")", "{": "}", "object": ")"}
_ENDS = frozenset({"text", "number", "constant", "close"})
_BEGINS = frozenset({"text", "number", "constant", "open", "object", "argument"})


class InvalidLiteralError(ValueError):
    """A text is not a list or an object of Python's literals."""


def parse_literal(text: str) -> object:
    """Parse a list, a tuple or a dict of literals, as `repr` and NumPy print them.

    `nan` is None. An object such as `Document(page_content='a')` is a mapping of its arguments.

    Example:
        >>> parse_literal("['It opens at nine.', nan]"), parse_literal("['a' 'b']")
        (['It opens at nine.', None], ['a', 'b'])
        >>> parse_literal("[Document(metadata={'source': 's.md'}, page_content='Nine.')]")
        [{'metadata': {'source': 's.md'}, 'page_content': 'Nine.'}]
    """
    if len(text) > MAX_LITERAL:
        raise InvalidLiteralError(f"has more than {MAX_LITERAL:,} characters")
    try:
        return _to_plain(ast.literal_eval(_translate(text.strip())))
    except InvalidLiteralError:
        raise
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise InvalidLiteralError("cannot be parsed") from error


def _to_plain(value: object) -> object:
    """Return a value as JSON could hold it: sets are sorted lists, and keys are texts."""
    if isinstance(value, dict):
        return {str(key): _to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(part) for part in value]
    if isinstance(value, set):
        return sorted((_to_plain(part) for part in value), key=str)
    if isinstance(value, bytes) or (isinstance(value, int | float) and not abs(value) < LARGEST):
        raise InvalidLiteralError("holds bytes or a number that is too large")
    return value


def _translate(text: str) -> str:
    """Return a literal with the commas that NumPy leaves out, and with objects as dicts."""
    translation = _Translation()
    position, tokens = 0, list[str]()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if len(tokens) == MAX_TOKENS:
            raise InvalidLiteralError(f"has more than {MAX_TOKENS:,} values and marks")
        if not match or (position and not translation.opened):
            raise InvalidLiteralError(f"cannot be parsed at character {position + 1:,}")
        position = match.end()
        kind = str(match.lastgroup)
        tokens.append(translation.add(kind, match[kind]))
    return "".join(tokens)


class _Translation:
    """Translates one token after the other, by the brackets that are open and the token before."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self._before = ""

    def add(self, kind: str, token: str) -> str:
        """Return a token as `ast.literal_eval` takes it, with the comma before it that may be missing."""
        # NumPy prints no commas between items: `['a' 'b']`.
        comma = "," if self._before in _ENDS and kind in _BEGINS else ""
        in_object = self.opened[-1:] == ["object"]
        if in_object and self._before in {"object", ","} and kind not in {"argument", "close"}:
            raise InvalidLiteralError("has an object with values that have no name")
        # `array([1])` and `np.float64(0.5)` stand for what is in their brackets.
        if kind == "object" and (token.endswith("array") or _SCALAR.fullmatch(token)):
            kind, token = "open", "("
        self._before = token if kind == "mark" else kind
        return comma + self._write(kind, token, in_object=in_object)

    def _write(self, kind: str, token: str, *, in_object: bool) -> str:
        match kind:
            case "object" | "open":
                self.opened.append(token if kind == "open" else kind)
                return token if kind == "open" else "{"
            case "close":
                if not self.opened or _CLOSING[self.opened.pop()] != token:
                    raise InvalidLiteralError("has brackets that do not match")
                return "}" if in_object else token
            case "argument" if in_object:
                return f"{token!r}:"
            case "argument":
                raise InvalidLiteralError(f"has a name in place of a value: {token[:20]}")
            case "type":
                return ""
            case _:
                return _CONSTANTS.get(token.removeprefix("np."), token) if kind == "constant" else token
