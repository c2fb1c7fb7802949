"""The server as a process: its start, its figures, its end, its options, and several workers."""

from __future__ import annotations

import json
import re
import socket
import stat
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from served_runs import ended, rows, started, uploaded
from serving import server_process
from shell_app import KEY, bearer
from waiting import SECONDS, until

from greval.errors import GrevalError, JudgeError, MissingExtraError
from greval.judging.model.judge import Judge
from greval.serve.app import create_app
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.start import (
    SETTINGS_VARIABLE,
    TOKEN_VARIABLE,
    app,
    check_exposure,
    choose_token,
    open_socket,
    run_server,
)


def test_other_addresses_need_keys(tmp_path, monkeypatch):
    """A server that others could reach does not start without keys, and says how to make one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GrevalError, match=r"0\.0\.0\.0.*without a key.*greval keys add"):
        check_exposure(ServerSettings(host="0.0.0.0"))  # noqa: S104 - what must be refused
    with pytest.raises(GrevalError, match=r"keys\.json: cannot be read.*greval keys add"):
        run_server(ServerSettings(keys=tmp_path / "keys.json"))
    with pytest.raises(GrevalError, match=r"nowhere: not a folder.*--library"):
        run_server(ServerSettings(library=[tmp_path / "nowhere"]))
    (tmp_path / "keys.json").write_text("{}", encoding="utf-8")
    with pytest.raises(GrevalError, match=r"255\.1\.1\.1.*--host or --port"):
        run_server(ServerSettings(host="255.1.1.1", keys=tmp_path / "keys.json"))
    with pytest.raises(GrevalError, match=SETTINGS_VARIABLE):
        app()


def test_a_judge_that_cannot_be_used_is_refused_at_start(tmp_path, monkeypatch):
    """As by `greval evaluate`: no client has to be told first; nothing is made before."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    judges = {"good": Judge("openai:m", base_url="http://x"), "bad": Judge("openai:x")}
    (tmp_path / "keys.json").write_text("{}", encoding="utf-8")
    nowhere = ServerSettings(host="255.1.1.1", keys=tmp_path / "keys.json", runs=tmp_path / "runs", judges=judges)
    with pytest.raises(JudgeError, match="openai:x"):
        run_server(nowhere)
    assert not (tmp_path / "runs").exists()


def test_without_the_packages_the_extra_is_named(monkeypatch):
    """Where the server's packages are not installed, the error says what to install."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"uvicorn is not installed: pip install 'greval\[server\]'"):
        run_server(ServerSettings())


def test_the_command_serves(tmp_path):
    """`python server.py` serves what its options and the environment say, logs JSON, and ends in order."""
    environment = {"GREVAL_JUDGE": "fast=openai:x openai:y", "OPENAI_API_KEY": KEY, "GREVAL_MAX_DEPTH": "3"}
    with server_process(folder=tmp_path, environment=environment) as server:
        refused = httpx.post(f"{server.url}/v1/evaluate", json=[[[[]]]], timeout=SECONDS)
        assert (refused.status_code, "nested deeper than 3" in refused.text) == (422, True)
        assert server.stop() in {0, -15}
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert [line["status"] for line in lines if line["logger"] == "greval.access"] == [200, 422]
    assert KEY not in server.log


@pytest.mark.nightly
def test_what_clients_send_is_for_the_account_of_the_server_only(tmp_path):
    """Folders of runs and data sets are 0700 and their files 0600, also where the account's umask would allow more."""
    with (
        server_process("--runs", "runs", folder=tmp_path) as server,
        httpx.Client(base_url=server.url, timeout=SECONDS) as client,
    ):
        assert ended(client, started(client, uploaded(client, rows(2)), "exact_match"))["status"] == "finished"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs", *(tmp_path / "runs").rglob("*"))}
    assert len(modes) > 8
    assert {path: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}


@pytest.mark.nightly
def test_several_workers(tmp_path):
    """Several processes serve one address and count together; each has its part of the calls."""
    with server_process("--workers", 2, "--calls", 8, folder=tmp_path) as server:
        until(lambda: server.log.count("Application startup complete") == 2)
        request_count, processes = 1, set()  # the one that waited for the start
        with ThreadPoolExecutor(16) as clients:
            while len(processes) < 2:
                statuses = clients.map(
                    lambda _: httpx.get(f"{server.url}/health", timeout=SECONDS).status_code, range(40)
                )
                assert {*statuses} == {200}
                request_count += 40
                lines = [json.loads(line) for line in server.log.splitlines()]
                processes = {line["process"] for line in lines if line.get("route") == "/health"}
        text = httpx.get(f"{server.url}/metrics-exposition", timeout=SECONDS).text
        assert f'greval_requests_total{{method="GET",route="/health",status="200"}} {request_count}.0' in text
        assert server.stop() == 0
    both = create_app(ServerSettings(runs=tmp_path, workers=2, limits=ServerLimits(calls=8)))
    assert both.state.service.call_limit.width == 4


def test_small_responses_are_sent_at_once():
    """A socket that is TCP by its protocol: only for such a one asyncio disables Nagle's algorithm.

    With it, each response on a kept connection waited 40 ms for the client to acknowledge the one before.
    """
    with open_socket(ServerSettings(port=0)) as listening, socket.create_connection(listening.getsockname()) as client:
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == client.proto == socket.IPPROTO_TCP


def test_each_start_has_another_token(monkeypatch):
    """A new token has 192 random bits and stands in the fragment of the address."""
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    first, second = choose_token(), choose_token()
    assert first != second
    assert re.fullmatch(r"http://h:1/#token=[\w-]{32}/runs/a", first.format_link("http://h:1", "/runs/a"))
    assert first.value not in repr(ServerSettings(token=first.value))


@pytest.mark.parametrize("text", ["short", "a" * 201, "sixteen letters and spaces", "slashes/0123456789"])
def test_a_weak_token_is_refused_without_showing_it(monkeypatch, text):
    """The message says what a token looks like, and how to make one."""
    monkeypatch.setenv(TOKEN_VARIABLE, text)
    with pytest.raises(GrevalError, match=r"GREVAL_TOKEN: expected 16 to 200 .*openssl rand") as caught:
        choose_token()
    assert text not in str(caught.value)


@pytest.mark.nightly
def test_a_printed_token_is_that_of_all_workers(tmp_path):
    """Requests with the token are served by each process, those without it by none; no log has the token."""
    with server_process("--workers", 2, folder=tmp_path, token=True) as server:
        token = server.link.partition("/#token=")[2]
        for _ in range(20):  # each on a connection of its own, which either process may accept
            assert httpx.get(f"{server.url}/v1/runs", headers=bearer(token), timeout=SECONDS).status_code == 200
            assert httpx.get(f"{server.url}/v1/runs", timeout=SECONDS).status_code == 401
        assert server.stop() == 0
    assert token not in server.log


@pytest.mark.nightly
def test_a_fixed_token_is_not_printed(tmp_path):
    """GREVAL_TOKEN is the token, and the address is printed as it is; with --no-token there is none."""
    fixed = "a-token_of.mine~0123"
    with server_process(folder=tmp_path, environment={TOKEN_VARIABLE: fixed}, token=True) as server:
        assert server.link == server.url
        for headers, status in ((bearer(fixed), 200), ({}, 401)):
            assert httpx.get(f"{server.url}/v1/runs", headers=headers, timeout=SECONDS).status_code == status
    with server_process("--no-token", folder=tmp_path, token=True) as server:
        assert httpx.get(f"{server.url}/v1/runs", timeout=SECONDS).status_code == 200
