"""An app with a scripted judge, and a client of it: for tests of what is served about metrics."""

from __future__ import annotations

from fastapi.testclient import TestClient

from greval.serve.app import create_app
from greval.serve.settings import ServerLimits, ServerSettings
from greval.testing import ScriptedJudge

CASE = {"id": "q1", "question": "Who wrote it?", "answer": "Ada.", "expected_answer": "Ada Lovelace"}
TONE = """\
name: {name}
description: Whether the answer is polite.
needs: [answer]
scale: {{categories: {{Polite: {{means: Courteous., score: 1}}, Rude: {{means: Insults., score: 0}}}}}}
steps: [Read the answer.]
"""


def tone(name="tone"):
    return TONE.format(name=name)


def create(client, text, **params):
    return client.post("/v1/metrics", json={"yaml": text}, params=params)


def list_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def says(value=1):
    return ScriptedJudge([{"reason": "It names what decides.", "value": value}])


def app_of(folder, models=None, *, limits=None, **settings):
    """Give an app whose runs stand in a folder; `limits` are those that differ from the usual."""
    made = ServerSettings(runs=folder / "runs", limits=ServerLimits(rate=100_000, **(limits or {})), **settings)
    return create_app(made, {"scripted": says()} if models is None else models)


def client_of(app, key=None):
    """Give a client on this machine, with a key where it has one."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return TestClient(app, base_url="http://127.0.0.1", headers=headers)
