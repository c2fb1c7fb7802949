"""Tests of API keys and their file."""

from __future__ import annotations

import hmac
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_app import logged

from greval.errors import GrevalError
from greval.serve.middleware.api_keys import (
    ApiKeys,
    LastUseFolder,
    add_key,
    hash_api_key,
    parse_expiry,
    read_keys,
    remove_keys,
)
from greval.serve.settings import DEFAULT_SCOPES

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_every_key_is_compared_in_constant_time(tmp_path):
    """Whether the first, the last or no key fits, each is compared with all its letters: time tells nothing."""
    file = tmp_path / "keys.json"
    keys = [add_key(file, f"k{number}") for number in range(5)]
    stored = ApiKeys.model_validate_json(file.read_bytes())
    compared = []

    def watch(_, event, what):
        if event == "c_call" and what is hmac.compare_digest:
            compared.append(what)

    for presented, name in ((keys[0], "k0"), (keys[4], "k4"), ("greval_no", None)):
        compared.clear()
        sys.setprofile(watch)
        key = stored.find_key(presented)
        sys.setprofile(None)
        assert (key and key.name, len(compared)) == (name, 5)


def test_the_file_of_keys_is_its_owners(tmp_path):
    """Others cannot read it; a name that is no plain one, or is another's but for its case, is refused."""
    file = tmp_path / "keys.json"
    key = add_key(file, "ana")
    assert (key.startswith("greval_"), len(key) > 45, stat.S_IMODE(file.stat().st_mode)) == (True, True, 0o600)
    for name in ("ANA", "../ana", "", "a" * 65, "-x"):
        with pytest.raises(GrevalError, match="key"):
            add_key(file, name)


def test_a_tenant_has_several_keys(tmp_path):
    """Keys of one tenant are told apart by their ids; which one is removed must be clear."""
    file = tmp_path / "keys.json"
    old, new = add_key(file, "ana", label="laptop"), add_key(file, "ana")
    add_key(file, "bob")
    first, second, _ = read_keys(file).keys
    assert (first.id, first.label, second.label) == (hash_api_key(old)[:8], "laptop", None)
    for name, key_id in (("ana", None), ("ana", "0"), ("eve", None)):
        with pytest.raises(GrevalError):
            remove_keys(file, name, key_id=key_id)
    assert remove_keys(file, "ana", key_id=first.id) == (first,)
    assert (read_keys(file).find_key(old), read_keys(file).find_key(new)) == (None, second)
    add_key(file, "ana")
    assert len(remove_keys(file, "ana", every=True)) == 2
    assert [key.name for key in read_keys(file).keys] == ["bob"]


def test_keys_that_are_added_at_once_are_all_kept(tmp_path):
    """Several processes or threads that add keys to one file do not overwrite each other's."""
    file = tmp_path / "keys.json"
    with ThreadPoolExecutor(8) as pool:
        secrets = {*pool.map(lambda n: add_key(file, f"team{n}"), range(24))}
    assert {key.sha256 for key in read_keys(file).keys} == {hash_api_key(secret) for secret in secrets}
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(lambda n: len(remove_keys(file, f"team{n}")), range(23))] == [1] * 23
    assert [key.name for key in read_keys(file).keys] == ["team23"]


@pytest.mark.parametrize(
    ("text", "days"), [("90d", 90), ("12h", 0.5), ("2w", 14), ("2026-11-23", 0.5), ("2026-11-24", 1.5)]
)
def test_times_of_expiry(text, days):
    """A duration counts from now; a date is the last day on which the key is valid."""
    assert parse_expiry(text, NOW) == NOW + timedelta(days=days)


@given(st.text(max_size=12) | st.sampled_from(["2026-11-22", "0d", "9999-12-31", "999999d"]))
def test_every_text_of_expiry_is_refused_or_later(text):
    """No text raises another error or gives a time that is over."""
    try:
        expiry = parse_expiry(text, NOW)
    except GrevalError:
        return
    assert expiry > NOW


def test_the_last_use_is_written_once_a_minute(tmp_path):
    """Between two writes a minute passes, however many requests there are; a removed key leaves nothing."""
    file, clock = tmp_path / "keys.json", [1000.0]
    add_key(file, "ana")
    (key,) = read_keys(file).keys
    uses = LastUseFolder(file, lambda: clock[0])
    assert uses.read_last_use(key) is None
    uses.record_use(key)
    first = uses.read_last_use(key)
    assert abs(first - datetime.now(UTC)) < timedelta(hours=1)
    path = tmp_path / "keys.json.used" / key.id
    os.utime(path, (0, 0))
    clock[0] += 59
    uses.record_use(key)
    assert uses.read_last_use(key).year == 1970
    clock[0] += 1
    uses.record_use(key)
    assert uses.read_last_use(key) >= first
    remove_keys(file, "ana")
    assert not path.exists()


def test_a_last_use_that_cannot_be_written_is_logged_once(tmp_path):
    """The request is served all the same."""
    file, clock = tmp_path / "keys.json", [0.0]
    add_key(file, "ana")
    (tmp_path / "keys.json.used").write_text("no folder", encoding="utf-8")
    (key,) = read_keys(file).keys
    uses = LastUseFolder(file, lambda: clock[0])
    with logged("greval.server") as lines:
        for clock[0] in (0.0, 100.0):
            uses.record_use(key)
    (line,) = lines
    assert "keys.json.used: the last use of keys cannot be recorded" in line["message"]
    assert uses.read_last_use(key) is None


def test_scopes_are_kept_once_each(tmp_path):
    """A scope that is named twice counts once; without any, a key reads and judges."""
    file = tmp_path / "keys.json"
    add_key(file, "ana", scopes=("judge", "scrape", "judge"))
    add_key(file, "bob")
    assert [key.scopes for key in read_keys(file).keys] == [("judge", "scrape"), DEFAULT_SCOPES]
