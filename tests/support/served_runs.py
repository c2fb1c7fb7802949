"""A server's app for tests of its runs: a client, data sets that are uploaded, runs that are waited for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fastapi.testclient import TestClient
from fault_server import FaultServer, answers_as
from httpx import Client
from langchain_core.language_models import BaseChatModel
from waiting import SECONDS, until

from greval.judging.model.judge import Judge
from greval.serve.app import create_app
from greval.serve.jobs.queue import JobSpec, RunRequest
from greval.serve.middleware.api_keys import add_key
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

LOOK_SECONDS = 0.12
"""The time between two looks at a run: more of them would reach the rate limit of a key."""
YES = {"reason": "It fits.", "value": 1}


def rows(count, **more):
    """Give cases as JSON objects."""
    return [
        {"id": f"q{n}", "question": f"Who is {n}?", "answer": f"Ada {n}", "expected_answer": "Ada", **more}
        for n in range(count)
    ]


def lines(given) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in given)


@contextmanager
def serving(runs: Path, answers=(YES,), *, judges: Mapping | None = None, **settings) -> Iterator[TestClient]:
    """Give a client of an app whose judge gives these answers; its runs are worked on meanwhile.

    Chat models answer over HTTP, as runs are processes of their own; a judge that is a setting stays as it is.
    """
    models = {"scripted": ScriptedJudge(answers)} if judges is None else judges
    with over_http(models) as offered:
        app = create_app(ServerSettings(runs=runs, judges=offered, **settings))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield client


@contextmanager
def over_http(models: Mapping[str, Judge | BaseChatModel]) -> Iterator[dict[str, Judge]]:
    """Serve the chat models among these judges over HTTP, and give judges that ask them.

    Servers that follow each other in a test share them: the address of a judge is part of it.
    """
    own = {name: model for name, model in models.items() if not isinstance(model, Judge)}
    with FaultServer(answers_as(own)) as server:
        yield {
            name: model if isinstance(model, Judge) else Judge(f"openai:{name}", base_url=server.url)
            for name, model in models.items()
        }


@contextmanager
def two_tenants(folder: Path, **settings) -> Iterator[tuple[TestClient, Mapping, Mapping]]:
    """Give a client and the headers of two keys."""
    keys = folder / "keys.json"
    ana, ben = ({"Authorization": f"Bearer {add_key(keys, name)}"} for name in ("ana", "ben"))
    with serving(folder / "runs", keys=keys, **settings) as client:
        yield client, ana, ben


def uploaded(client: Client, given, name: str = "mine", **sent) -> str:
    """Upload rows and give the data set's id."""
    kind = {"Content-Type": "application/jsonl", **sent.pop("headers", {})}
    answer = client.post(f"/v1/datasets?name={name}", content=lines(given), headers=kind, **sent)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def started(client: Client, dataset: str, *metrics: str, headers=None, **options) -> str:
    """Start a run and give its id."""
    asked = {"dataset": dataset, "metrics": metrics or ["correctness"], **options}
    answer = client.post("/v1/runs", json=asked, headers=headers)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/runs/{answer.json()['id']}"
    return answer.json()["id"]


def ended(client: Client, run: str, headers=None, seconds: float = SECONDS) -> dict:
    return waited(client, run, lambda info: info["status"] not in {"queued", "running"}, headers, seconds)


def waited(client: Client, run: str, true: Callable[[dict], bool], headers=None, seconds: float = SECONDS) -> dict:
    """Wait until something is true of a run, and give it."""
    infos = [{}]

    def look():
        time.sleep(LOOK_SECONDS)
        infos[0] = client.get(f"/v1/runs/{run}", headers=headers).json()
        return true(infos[0])

    until(look, seconds)
    return infos[0]


def slow(seconds: float = 0.05) -> dict[str, BaseChatModel]:
    return {"slow": ScriptedJudge([YES], delay=seconds)}


def all_results(client: Client, run: str, **query) -> list[dict]:
    """Read the results of a run, page by page."""
    return [row for page in read_pages(client, f"/v1/runs/{run}/results", **query) for row in page["results"]]


def read_pages(client: Client, path: str, **query) -> Iterator[dict]:
    """Yield the pages of a list."""
    page = {"next": None}
    while True:
        page = get_json(client, path, **query, **({"cursor": page["next"]} if page["next"] else {}))
        yield page
        if page["next"] is None:
            return


def get_json(client: Client, path: str, **query):
    """Send a request that succeeds, and give the JSON of its response."""
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def build_spec(name="r1", asked=RunRequest(dataset="d", metrics=("correctness",))) -> JobSpec:  # noqa: B008 - it is frozen
    """Give the specification of a job, as the server builds it of a request."""
    created = datetime(2026, 1, 2, tzinfo=UTC)
    fields = {"judge": None, "metrics": ("m",), "definitions": ("m",), "kind": asked.kind, "asked": asked}
    sources = asked.model_dump(include={"dataset", "run", "reason_depth"})
    return JobSpec(id=name, tenant="", name=name, created=created, **fields, **sources)
