"""Tests of the routes for operators."""

from __future__ import annotations

import os
from types import SimpleNamespace

from fault_server import FaultServer
from shell_app import KEY, client

from greval.judging.model.judge import Judge
from greval.serve.app import create_app
from greval.serve.settings import ServerSettings


def test_health_and_readiness(tmp_path, monkeypatch):
    """Ready where each judge can be asked and the folder be written; no token is spent, and no address told."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FaultServer() as chat:
        judges = {"up": Judge("openai:x", base_url=chat.url)}
        http_client = client(create_app(ServerSettings(judges=judges, runs=tmp_path / "new")))
        assert http_client.get("/health").json()["status"] == "ok"
        assert http_client.get("/ready").json() == {"ready": True, "judges": {"up": "ok"}, "runs": "ok"}
        assert not (tmp_path / "new").exists()
        assert not chat.calls
        full = {"f_bavail": 0, "f_frsize": 4096, "f_files": 10, "f_favail": 10}
        for disk in (full, {**full, "f_bavail": 10**9, "f_favail": 0}):
            monkeypatch.setattr(os, "statvfs", lambda _, disk=disk: SimpleNamespace(**disk))
            settings = ServerSettings(judges=judges, runs=tmp_path / "new")
            assert client(create_app(settings)).get("/ready").json()["runs"] == "cannot be written"
    (tmp_path / "file").write_text("", encoding="utf-8")
    judges = {"down": Judge("openai:x", base_url="http://127.0.0.1:9/v1"), "odd": Judge("nobody:x")}
    answer = client(create_app(ServerSettings(judges=judges, runs=tmp_path / "file"))).get("/ready")
    assert answer.status_code == 503
    assert answer.json() == {
        "ready": False,
        "judges": {"down": "it cannot be reached", "odd": "it cannot be used as set up"},
        "runs": "cannot be written",
    }
