"""The encoding of a text file, found by its content: UTF-8, UTF-16 or Windows-1252."""

from __future__ import annotations

import codecs
import mmap
import re
from pathlib import Path
from typing import NamedTuple

UTF_8 = "utf-8-sig"
BLOCK_BYTES = 2**20
MIN_UTF_16 = 8
"""The number of bytes at the beginning of a file by which UTF-16 without a mark is found."""

_NOT_WINDOWS_1252 = re.compile(
    # No letter of it, or one that hardly occurs.
    rb"[\x81\x8d\x8f\x90\x9d\xff]"
    # A character of UTF-8.
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}"
    # A word of another script.
    rb"|[\xc0-\xfe]{3}"
    # A letter of Central European code pages.
    rb"|[A-Za-z][\xb1\xb3\xb6\xb9\xba\xbc\xbe\xbf][A-Za-z\xc0-\xfe]"
)


class TextEncoding(NamedTuple):
    """An encoding for `open`, and its name for people if it is not UTF-8."""

    codec: str
    name: str = ""


def detect_encoding(path: Path) -> TextEncoding:
    """Detect the encoding of a text file.

    A file that is not UTF-8 is Windows-1252 if each byte is plausible there. Anything else is opened as UTF-8, so that
    its faults are reported with their places.
    """
    if not path.is_file():
        # A pipe can be read only once.
        return TextEncoding(UTF_8)
    with path.open("rb") as stream:
        if name := _find_utf_16(stream.read(2 * MIN_UTF_16)):
            return TextEncoding(name, "UTF-16")
        stream.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while block := stream.read(BLOCK_BYTES):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                plausible = not _NOT_WINDOWS_1252.search(content)
            return TextEncoding("cp1252", "Windows-1252") if plausible else TextEncoding(UTF_8)
    return TextEncoding(UTF_8)


def _find_utf_16(head: bytes) -> str:
    """Return the codec of UTF-16 by the mark at the beginning, or by the zero bytes beside ASCII characters."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[::2], head[1::2]
    if len(odd) < MIN_UTF_16 // 2 or bool(any(even)) == bool(any(odd)):
        return ""
    letters, codec = (even, "utf-16-le") if any(even) else (odd, "utf-16-be")
    return codec if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in letters) else ""  # noqa: PLR2004 - ASCII
