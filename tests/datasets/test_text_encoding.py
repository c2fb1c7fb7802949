"""The encoding of a file is found by its content, and a doubtful one is not guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.text_encoding import detect_encoding

GERMAN = "question;answer\nWo ist das Café „Süd“?;Für 5 € in der Straße \u2013 gegenüber.\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (GERMAN.encode(), ""),
        (GERMAN.encode("utf-8-sig"), ""),
        (GERMAN.encode("cp1252"), "Windows-1252"),
        (GERMAN.encode("utf-16"), "UTF-16"),
        (GERMAN.encode("utf-16-le"), "UTF-16"),
        (GERMAN.encode("utf-16-be"), "UTF-16"),
        (GERMAN.encode() + b"\xfc", ""),
        ("question\n\u0433\u0434\u0435?".encode("cp1251"), ""),
        ("question\ngłówny".encode("cp1250"), ""),
        ("question\n日本語のテスト".encode("shift_jis"), ""),
        (b"question\n\xff", ""),
        (b"", ""),
    ],
)
def test_detected_encodings(tmp_path, content, name):
    """Windows-1252 and UTF-16 are named; a damaged UTF-8 file and other code pages are not taken for Windows-1252."""
    file = tmp_path / "cases.csv"
    file.write_bytes(content)
    detected = detect_encoding(file)
    assert detected.name == name
    if name:
        assert content.decode(detected.codec).lstrip("\ufeff") == GERMAN


@given(st.text(max_size=30))
def test_utf_8_is_never_taken_for_another(tmp_path_factory, text):
    """A text in UTF-8 stays one, whatever its characters are."""
    file = tmp_path_factory.mktemp("texts") / "cases.csv"
    file.write_bytes(f"question\n{text}".encode())
    assert detect_encoding(file).name == ""
