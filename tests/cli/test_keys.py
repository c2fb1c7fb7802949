"""`greval keys`: make, list and remove API keys in a file."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_a_key_is_printed_once_and_stored_as_its_hash(greval_says):
    """The file holds the hash of the printed key, and not the key."""
    code, printed, _ = greval_says("keys", "add", "ana", "--file", "keys.json")
    assert code == 0
    text = Path("keys.json").read_text(encoding="utf-8")
    (key,) = json.loads(text)["keys"]
    assert (key["name"], key["sha256"]) == ("ana", sha256(printed.strip().encode()).hexdigest())
    assert printed.strip() not in text


def test_keys_are_listed_and_removed_by_name(greval_says, monkeypatch):
    """The list has a line for each key; a removed one is gone from it. GREVAL_KEYS names the file."""
    monkeypatch.setenv("GREVAL_KEYS", "mine.json")
    keys = [greval_says("keys", "add", name)[1] for name in ("ana", "bo")]
    assert len({*keys}) == 2
    listed = greval_says("keys", "list")[1].splitlines()
    assert [line.split()[0] for line in listed] == ["key", "ana", "bo"]
    assert greval_says("keys", "remove", "ana") == (0, "ana: removed\n", "")
    assert [line.split()[0] for line in greval_says("keys", "list")[1].splitlines()] == ["key", "bo"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("list", "--file", "none.json"), "none.json: cannot be read: No such file or directory; make a key with: "),
        (("remove", "ana", "--file", "none.json"), "none.json"),
        (("add", "../up"), "../up"),
    ],
)
def test_what_is_no_key_or_file_is_an_error(greval_says, words, part):
    """A missing file or a name that is no folder name ends with 2, and nothing is written."""
    code, out, err = greval_says("keys", *words)
    assert (code, out) == (2, "")
    assert part in err
    assert not [*Path().iterdir()]
