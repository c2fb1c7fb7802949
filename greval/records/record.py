"""The base model of all records, which is frozen and rejects unknown fields, and the types of names and texts."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

MAX_NAME = 100
MAX_NAME_BYTES = 240
"""File systems limit a file name to 255 bytes, including the suffix; letters of some scripts take three or four."""
MAX_LABEL = 200
_NAME_MARKS = frozenset("-.@_")


class Record(BaseModel):
    """A frozen model; two records with the same fields are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _normalise_nfc(text: str, longest: int) -> str:
    """Return the NFC form of a name, so that its encodings are equal; raise `ValueError` if it is too long."""
    name = unicodedata.normalize("NFC", text)
    # NFC expands a few characters.
    if len(name) > longest:
        raise ValueError(f"is too long: at most {longest} characters, got {len(name)}")
    return name


def _check_name(text: str) -> str:
    """Check a name and return its NFC form; it may hold letters, marks and digits of any script, and `-.@_`."""
    name = _normalise_nfc(text, MAX_NAME)
    wrong = sorted({c for c in name if unicodedata.category(c)[0] not in "LMN" and c not in _NAME_MARKS})
    if wrong:
        characters = " ".join(repr(c) for c in wrong)
        raise ValueError(f"may hold letters and digits of any script and - . @ _ only, got {characters}")
    if name[0] != "_" and unicodedata.category(name[0])[0] not in "LN":
        raise ValueError("must start with a letter, a digit or _")
    if len(name.encode()) > MAX_NAME_BYTES:
        raise ValueError(
            f"is too long for the name of a file: at most {MAX_NAME_BYTES} bytes, got {len(name.encode())}"
        )
    return name


def _check_label(text: str) -> str:
    """Check a label and return its NFC form; it must be one line without control characters."""
    label = _normalise_nfc(text, MAX_LABEL)
    if any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in label):
        raise ValueError("must be one line without control characters")
    return label


def replace_lone_surrogates(text: str) -> str:
    r"""Replace lone surrogates, which cannot be encoded as UTF-8, by the replacement character."""
    # UTF-16 joins two halves that stand side by side, as in escapes of JSON, and replaces those that stand alone.
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


StorableText = Annotated[str, AfterValidator(replace_lone_surrogates)]
"""A text of any origin, which can be stored as UTF-8 JSON."""

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME), AfterValidator(_check_name)
]
"""A metric's name, which must be valid as a file name, a command-line argument, a key and a URL segment."""

Label = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL), AfterValidator(_check_label)
]
"""A display name of a category or a note, in any language and script."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Non-empty text."""
