r"""Reading of JSON objects in the forms in which models write them, and of texts with backslashes that are no escapes.

Only forms are read that can mean nothing else: single or curly quotes, keys without quotes, comments, a last comma,
line breaks in texts, Python's `True` and `None`. Nothing is completed: a text, an object or a list without its end, a
missing comma and a key that stands twice are errors, because a library that repairs them invents verdicts.

Backslashes are kept as they were meant: JSON knows `\f`, but a judge who writes `\frac` means no form feed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u201f", "\u2018\u2019\u201a\u201b"  # curly quotes
CLOSING_QUOTES: Mapping[str, str] = {
    '"': '"',
    "'": "'",
    "`": "`",
    **dict.fromkeys(_DOUBLE, _DOUBLE),
    **dict.fromkeys(_SINGLE, _SINGLE),
    "\uff02": "\uff02",
    "«": "»",
}
"""The quotes that begin a text, with those that can end it."""
MAX_EXCERPT_CHARS = 20

_SPACE = re.compile(r"(?:[\s\ufeff\u200b-\u200d\u2060]+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
# Also the wide ones of Chinese and Japanese.
_COMMAS, _COLONS = ",\uff0c", ":\uff1a"
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.])")
_WORDS: Mapping[str, Any] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
# The repeats are possessive, so that a long text without its end is given up at once.
_TEXTS = {
    closing: re.compile(
        rf"((?:[^{closing}\\]|\\.|(?<=[^\W\d_])[{closing}](?=[^\W\d_]))*+)[{closing}]"
        if closing in {"'", _SINGLE}
        else rf"([^{closing}\\]*+(?:\\.[^{closing}\\]*+)*+)[{closing}]",
        re.DOTALL,
    )
    for closing in {*CLOSING_QUOTES.values()}
}
"""The rest of a text after its first quote, by the quotes that can end it."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LETTERS = {control: "\\" + letter for letter, control in _CONTROLS.items()}
_KEPT = re.compile(
    # A path such as C:\new\table.
    r"\b[C-Z]:(?:\\[\w.-]+|[\b\f\n\r\t][a-z][\w.-]*)+"
    # \beta, \frac, \b of a regular expression: nobody means a backspace or a form feed.
    r"|[\b\f](?=[A-Za-z\\\s]|$)"
    r"|\r(?=[A-Za-z])"
    # the rest of LaTeX's commands that begin with \t and \n
    r"|\t(?=(?:heta|au|imes|ilde|riangle\w*|frac|op|o|anh?|ext\w{0,6}|hickapprox|wohead\w+)(?![A-Za-z]))"
    r"|\n(?=(?:u|abla|o(?:t|tin)|eq|leq|geq|mid|exists|parallel|ewline|ewcommand|earrow|warrow|onumber)(?![A-Za-z]))"
)


def parse_lenient_object(text: str, start: int) -> tuple[dict[str, Any], int]:
    r"""Parse the object whose brace is at `start`, and return it with the position after it.

    Example:
        >>> parse_lenient_object("{'value': 1, 'reason': 'half of \\(x\\)',}", 0)[0]
        {'value': 1, 'reason': 'half of \\(x\\)'}
    """
    built: dict[str, Any] = {}
    position = skip_space(text, start + 1)
    while text[position : position + 1] != "}":
        at = position
        key, position = _parse_key(text, position)
        position = skip_space(text, _expect(text, skip_space(text, position), _COLONS, "a colon after the key"))
        if key in built:
            raise ValueError(f"a key stands twice in one object: {key!r} at character {at + 1}")
        built[key], position = _parse_content(text, position)
        position = _skip_comma(text, position, "}")
    return built, position + 1


def skip_space(text: str, position: int) -> int:
    """Return the position after the white space and the comments at a position."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def restore_backslashes(content: Any, written: str) -> Any:  # noqa: ANN401 - JSON
    r"""Return JSON content whose texts hold the backslashes that the judge meant, instead of control characters.

    `written` is the JSON of the content.

    Example:
        >>> restore_backslashes(["\frac{1}{2} of\nthe \theta in C:\new"], r'["\frac..."]')
        ['\\frac{1}{2} of\nthe \\theta in C:\\new']
    """
    # A judge who escapes one backslash escapes all of them.
    return content if "\\\\" in written or "\\" not in written else _restore(content)


def _restore(content: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(content, str):
        # Without control characters, the text is what the judge wrote.
        return content if content.isprintable() else _KEPT.sub(_write_controls, content)
    if isinstance(content, dict):
        return {key: _restore(part) for key, part in content.items()}
    return [_restore(part) for part in content] if isinstance(content, list) else content


def _write_controls(match: re.Match[str]) -> str:
    return "".join(_LETTERS.get(letter, letter) for letter in match[0])


def _parse_key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] in CLOSING_QUOTES:
        return _parse_text(text, position)
    if word := _WORD.match(text, position):
        return word[0], word.end()
    raise _build_error(text, position, "a key in quotes or a closing brace")


def _parse_content(text: str, position: int) -> tuple[Any, int]:
    letter = text[position : position + 1]
    if letter in CLOSING_QUOTES:
        return _parse_text(text, position)
    if letter == "{":
        return parse_lenient_object(text, position)
    if letter == "[":
        return _parse_list(text, position)
    if number := _NUMBER.match(text, position):
        is_whole = not (number[1] or number[2])
        return (int(number[0]) if is_whole else float(number[0])), number.end()
    if (word := _WORD.match(text, position)) and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    if constant := re.match(r"-?(?:NaN|Infinity)\b", text[position : position + 10]):
        raise ValueError(f"{constant[0]} is no JSON number")
    raise _build_error(text, position, "a text in quotes, a number, an object or a list")


def _parse_list(text: str, start: int) -> tuple[list[Any], int]:
    built: list[Any] = []
    position = skip_space(text, start + 1)
    while text[position : position + 1] != "]":
        content, position = _parse_content(text, position)
        built.append(content)
        position = _skip_comma(text, position, "]")
    return built, position + 1


def _parse_text(text: str, start: int) -> tuple[str, int]:
    """Parse a text in quotes. Between two letters, a single quote is an apostrophe."""
    match = _TEXTS[CLOSING_QUOTES[text[start]]].match(text, start + 1)
    if match is None:
        raise ValueError(f"the text that begins at character {start + 1} ({text[start : start + 12]!r}) has no end")
    raw = match[1]
    return restore_backslashes(_decode_escapes(raw), raw) if "\\" in raw else raw, match.end()


def _decode_escapes(raw: str) -> str:
    r"""Decode the escapes of JSON, and keep all other backslashes."""
    decoded = _ESCAPE.sub(_decode_escape, raw)
    # Through UTF-16, the two halves of a pair become one character.
    return (
        decoded.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") if "\\u" in raw else decoded
    )


def _decode_escape(match: re.Match[str]) -> str:
    code, letter = match.groups()
    if code:
        return chr(int(code, 16))
    return _CONTROLS.get(letter) or (letter if letter in CLOSING_QUOTES or letter in "\\/" else match[0])


def _skip_comma(text: str, position: int, closing: str) -> int:
    """Return the position of the next entry, or of the closing bracket, which a last comma may precede."""
    position = skip_space(text, position)
    if text[position : position + 1] == closing:
        return position
    return skip_space(text, _expect(text, position, _COMMAS, f"a comma or {closing}"))


def _expect(text: str, position: int, letters: str, what: str) -> int:
    if (letter := text[position : position + 1]) and letter in letters:
        return position + 1
    raise _build_error(text, position, what)


def _build_error(text: str, position: int, expected: str) -> ValueError:
    excerpt = text[position : position + MAX_EXCERPT_CHARS]
    return ValueError(f"character {position + 1}: expected {expected}, found {repr(excerpt) if excerpt else 'the end'}")
