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
    code, removed, _ = greval_says("keys", "remove", "ana")
    assert (code, removed) == (0, f"ana {sha256(keys[0].strip().encode()).hexdigest()[:8]}: removed\n")
    assert [line.split()[0] for line in greval_says("keys", "list")[1].splitlines()] == ["key", "bo"]


def test_a_key_has_a_label_scopes_and_an_end(greval_says):
    """The list shows them, and that a key is not in use; the owner's keys are removed by id or all together."""
    words = ("add", "ana", "--label", "nightly job", "--scope", "read", "--scope", "scrape", "--expires", "2999-12-31")
    assert greval_says("keys", *words)[0] == 0
    assert greval_says("keys", "add", "ana")[0] == 0
    _, first, second = greval_says("keys", "list")[1].splitlines()
    assert "nightly job" in first
    assert "read scrape" in first
    assert "3000-01-01 00:00" in first
    assert first.split()[-1] == "never"
    assert second.split()[2:4] == ["read", "judge"]
    code, _, err = greval_says("keys", "remove", "ana")
    assert code == 2
    assert f"--id ({first.split()[1]}, {second.split()[1]})" in err
    assert greval_says("keys", "remove", "ana", "--id", first.split()[1])[0] == 0
    assert len(greval_says("keys", "list")[1].splitlines()) == 2
    assert greval_says("keys", "remove", "ana", "--all")[0] == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("add", "ana", "--scope", "write"), "--scope 'write': Input should be 'read', 'judge' or 'scrape'"),
        (("add", "ana", "--expires", "soon"), "--expires soon: expected a duration such as 90d"),
        (("add", "ana", "--label", "a\nb"), "--label 'a\\nb': must be one line"),
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
