"""Tests of API keys and their file."""

from __future__ import annotations

import hmac
import stat
import sys

import pytest
from typer.testing import CliRunner

from greval.cli.keys import app as keys_app
from greval.errors import GrevalError
from greval.serve.middleware.api_keys import ApiKeys, add_key, remove_key


def test_every_key_is_compared_in_constant_time(tmp_path):
    """Whether the first, the last or no key fits, each is compared with all its letters: time tells nothing."""
    file = tmp_path / "keys.json"
    keys = [add_key(file, f"k{number}") for number in range(5)]
    known = ApiKeys.model_validate_json(file.read_bytes())
    compared = []

    def watch(_, event, what):
        if event == "c_call" and what is hmac.compare_digest:
            compared.append(what)

    for presented, name in ((keys[0], "k0"), (keys[4], "k4"), ("greval_no", None)):
        compared.clear()
        sys.setprofile(watch)
        found = known.find_name(presented)
        sys.setprofile(None)
        assert (found, len(compared)) == (name, 5)


def test_keys_on_the_command_line(tmp_path):
    """A key is printed once; the file has its hash only, is its owner's, and names are told apart and checked."""
    cli, file = CliRunner(), tmp_path / "keys.json"
    made = cli.invoke(keys_app, ["add", "ana", "--file", str(file)])
    key = made.stdout.strip()
    assert key.startswith("greval_")
    assert len(key) > 45
    text = file.read_text(encoding="utf-8")
    assert key not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = cli.invoke(keys_app, ["list"], env={"GREVAL_KEYS": str(file)})
    assert "ana" in listed.stdout
    assert key not in listed.stdout
    for name in ("ANA", "../ana", "", "a" * 65, "-x"):
        with pytest.raises(GrevalError, match="key"):
            add_key(file, name)
    assert cli.invoke(keys_app, ["remove", "ana", "--file", str(file)]).stdout == "ana: removed\n"
    with pytest.raises(GrevalError, match="no key ana; existing keys: none"):
        remove_key(file, "ana")
    with pytest.raises(GrevalError, match=r"cannot be read.*keys add"):
        cli.invoke(keys_app, ["list", "--file", str(tmp_path / "no.json")], catch_exceptions=False)
