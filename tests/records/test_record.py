"""Records: how names are written, and that a record is a value."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from strategies import labels, names

from greval.records.record import MAX_LABEL, MAX_NAME, MAX_NAME_BYTES, Label, Name, Record

NAME = TypeAdapter(Name)
LABEL = TypeAdapter(Label)


class Pair(Record):
    left: int
    right: int = 0


def test_frozen_value():
    """A record cannot be changed, and equal fields make equal records."""
    pair = Pair(left=1)
    with pytest.raises(ValidationError, match="frozen"):
        pair.left = 2
    assert pair == Pair(left=1, right=0)
    assert hash(pair) == hash(Pair(left=1))


@given(name=names())
def test_names_stay(name):
    """A name that was read reads as itself, however its letters were composed."""
    assert NAME.validate_python(name) == name
    assert NAME.validate_python(f" {unicodedata.normalize('NFD', name)[:MAX_NAME]}") == name


@given(label=labels())
def test_labels_stay(label):
    """A label that was read reads as itself."""
    assert LABEL.validate_python(label) == label


@given(text=st.text())
def test_any_text_as_name(text):
    """Any text is a name that can be a file's, or is refused."""
    try:
        name = NAME.validate_python(text)
    except ValidationError:
        return
    assert len(name) <= MAX_NAME
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert not {*name} & {*'/\\:*?"<>| \n'}
    assert name[0] not in ".-@"


@pytest.mark.parametrize("name", ["ndcg@10", "Ähnlichkeit", "相关性", "समानता", "1st", "_x", "a-b.c", "Ⅻ"])
def test_good_names(name):
    """Letters, marks and digits of any script and the four signs make a name."""
    assert NAME.validate_python(name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "at least 1 character"),
        ("   ", "at least 1 character"),
        ("a b", "letters and digits of any script"),
        ("a/b", "letters and digits of any script"),
        ("a\u200bb", "letters and digits of any script"),
        (".hidden", "must start with"),
        ("-x", "must start with"),
        ("@x", "must start with"),
        ("\u0301x", "must start with"),
        ("a" * (MAX_NAME + 1), "at most 100 characters"),
        ("語" * 90, "too long for the name of a file"),
        (3, "valid string"),
    ],
)
def test_bad_names(name, why):
    """What cannot be a file name, an argument and a key at once is refused with the reason."""
    with pytest.raises(ValidationError, match=why):
        NAME.validate_python(name)


@pytest.mark.parametrize("label", ["", "a\nb", "a\tb", "a\u2028b", "\x00", "x" * (MAX_LABEL + 1), "\ufb2c" * MAX_LABEL])
def test_bad_labels(label):
    """A label is one line without control characters, also after its letters are composed."""
    with pytest.raises(ValidationError):
        LABEL.validate_python(label)
