"""The token that a server without keys prints: its form, where it comes from, and that all processes have it."""

from __future__ import annotations

import re

import httpx
import pytest
from serving import server_process
from shell_app import bearer
from waiting import SECONDS

from greval.errors import GrevalError
from greval.serve.access_token import TOKEN_VARIABLE, choose_token
from greval.serve.settings import ServerSettings

FIXED = "a-token_of.mine~0123"


def test_each_start_has_another_token(monkeypatch):
    """A new token has 192 random bits and stands in the fragment of the address."""
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    first, second = choose_token(), choose_token()
    assert first != second
    assert re.fullmatch(r"http://h:1/#token=[\w-]{32}/runs/a", first.format_link("http://h:1", "/runs/a"))
    assert first.value not in repr(ServerSettings(token=first.value))


def test_a_fixed_token_is_taken_and_not_printed(monkeypatch):
    """A script sets the token; the address is printed without it."""
    monkeypatch.setenv(TOKEN_VARIABLE, FIXED)
    token = choose_token()
    assert token.value == FIXED
    assert token.format_link("http://h:1") == "http://h:1"
    assert token.format_link("http://h:1", "/runs/a") == "http://h:1/#/runs/a"


@pytest.mark.parametrize("text", ["short", "a" * 201, "sixteen letters and spaces", "slashes/0123456789"])
def test_a_weak_token_is_refused_without_showing_it(monkeypatch, text):
    """The message says what a token looks like, and how to make one."""
    monkeypatch.setenv(TOKEN_VARIABLE, text)
    with pytest.raises(GrevalError, match=r"GREVAL_TOKEN: expected 16 to 200 .*openssl rand") as caught:
        choose_token()
    assert text not in str(caught.value)


@pytest.mark.nightly
def test_the_command_prints_a_token_that_all_workers_take(tmp_path):
    """Requests with the token are served by each process, those without it by none; no log has the token."""
    with server_process("--workers", 2, folder=tmp_path, token=True) as server:
        token = server.link.partition("/#token=")[2]
        assert len(token) == 32
        for _ in range(20):  # each on a connection of its own, which either process may accept
            assert httpx.get(f"{server.url}/v1/runs", headers=bearer(token), timeout=SECONDS).status_code == 200
            assert httpx.get(f"{server.url}/v1/runs", timeout=SECONDS).status_code == 401
        assert server.stop() == 0
    assert token not in server.log


@pytest.mark.nightly
def test_the_command_takes_a_fixed_token_or_none(tmp_path):
    """GREVAL_TOKEN is the token; with --no-token or with keys there is none, and the address is printed as it is."""
    with server_process(folder=tmp_path, environment={TOKEN_VARIABLE: FIXED}, token=True) as server:
        assert server.link == server.url
        for headers, status in ((bearer(FIXED), 200), ({}, 401)):
            assert httpx.get(f"{server.url}/v1/runs", headers=headers, timeout=SECONDS).status_code == status
    with server_process("--no-token", folder=tmp_path, token=True) as server:
        assert server.link == server.url
        assert httpx.get(f"{server.url}/v1/runs", timeout=SECONDS).status_code == 200
