"""Argilla over HTTP: the server and its key are the operator's, each tenant has a workspace and sees no other."""

from __future__ import annotations

import pytest
from argilla_stand_in import KEY, serve_argilla
from served_runs import ended, rows, serving, started, two_tenants, uploaded
from shell_app import logged

PUSH = {"metrics": ["correctness"], "dataset": "people"}
PULL = {"dataset": "people"}
BOTH = pytest.mark.parametrize(("action", "body"), [("push", PUSH), ("pull", PULL)])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Give a client and the folder of a server that the tests of this file share."""
    runs = tmp_path_factory.mktemp("served") / "runs"
    with serving(runs) as client:
        yield client, runs


@pytest.fixture
def client(server, monkeypatch):
    """Give its client, where the operator has set up an Argilla server that is not there."""
    monkeypatch.setenv("ARGILLA_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ARGILLA_API_KEY", "argilla.secret-of-the-operator")
    return server[0]


@pytest.fixture(scope="module")
def run(server):
    """Give a run with verdicts."""
    client, _ = server
    run = started(client, uploaded(client, rows(2)))
    assert ended(client, run)["status"] == "finished"
    return run


@BOTH
def test_an_argilla_server_that_is_away(client, run, server, action, body):
    """It is a 502, without key or path; the log has more."""
    with logged("greval.server") as lines:
        answer = client.post(f"/v1/runs/{run}/argilla/{action}", json=body)
    assert answer.status_code == 502
    assert "is Argilla running there" in lines[-1]["message"]
    assert not [secret for secret in ("secret-of-the-operator", str(server[1])) if secret in answer.text]


@BOTH
def test_without_a_server_of_the_operator(client, run, monkeypatch, action, body):
    """Where the operator named none, the answer is 501 with what the operator sets."""
    monkeypatch.delenv("ARGILLA_API_KEY")
    answer = client.post(f"/v1/runs/{run}/argilla/{action}", json=body)
    assert (answer.status_code, "ARGILLA_API_KEY" in answer.text) == (501, True)


@pytest.fixture
def stand_in(monkeypatch):
    """Serve an Argilla stand-in with a workspace of somebody else; the operator's URL of it has a password."""
    with serve_argilla() as server:
        server.workspaces = {"w1": "secret-workspace"}
        server.datasets["x"] = {"id": "x", "name": "secret-set", "workspace_id": "w1", "status": "ready"}
        monkeypatch.setenv("ARGILLA_API_URL", server.url.replace("//", "//admin:hunter2@"))
        monkeypatch.setenv("ARGILLA_API_KEY", KEY)
        yield server


@pytest.fixture(scope="module")
def tenants(tmp_path_factory):
    """Give a client, and for ana and ben the headers of a key and the id of a run with verdicts."""
    with two_tenants(tmp_path_factory.mktemp("tenants")) as (client, *headers):
        runs = [started(client, uploaded(client, rows(2), headers=sent), headers=sent) for sent in headers]
        for run, sent in zip(runs, headers, strict=True):
            assert ended(client, run, sent)["status"] == "finished"
        yield client, *zip(headers, runs, strict=True)


def send(client, tenant, action, **body):
    """Push or pull for a tenant; no answer ever names what is another's, or the operator's password."""
    headers, run = tenant
    answer = client.post(f"/v1/runs/{run}/argilla/{action}", json=body, headers=headers)
    for secret in ("secret-", "hunter2", KEY):
        assert secret not in answer.text
    assert "--" not in answer.text
    return answer


@pytest.mark.nightly
def test_each_tenant_has_a_workspace(stand_in, tenants):
    """It has the tenant's name and is created by the first push; datasets of one name are two."""
    client, ana, ben = tenants
    for tenant, name in ((ana, "ana"), (ben, "ben")):
        for added in (2, 0):
            answer = send(client, tenant, "push", **PUSH)
            assert (answer.status_code, answer.json()["workspace"], answer.json()["added"]) == (200, name, added)
            assert answer.json()["page"].startswith(f"{stand_in.url}/dataset/")
        assert send(client, tenant, "pull", **PULL, workspace=name).json()["unanswered"] == 2
    assert sorted(stand_in.workspaces.values()) == ["ana", "ben", "secret-workspace"]


def test_the_workspace_of_another_is_refused(stand_in, tenants):
    """It is refused in the same words whether it exists or not, and Argilla is not asked."""
    client, ana, _ = tenants
    for action, body in (("push", PUSH), ("pull", PULL)):
        answers = [send(client, ana, action, **body, workspace=name) for name in ("ben", "secret" + "-workspace")]
        assert {answer.json()["code"] for answer in answers} == {"workspace_not_own"}
        assert len({answer.json()["detail"] for answer in answers}) == 1
    assert not stand_in.requests


def test_mistakes_are_answered_as_such(stand_in, tenants):
    """A dataset that is missing or taken is the client's to change; the answer names the field of the request."""
    client, ana, _ = tenants

    def ask(action, **body):
        answer = send(client, ana, action, **body)
        return answer.status_code, answer.json().get("code")

    assert ask("pull", **PULL) == (404, "argilla_workspace_not_found")
    assert ask("push", **PUSH) == (200, None)
    assert ask("pull", dataset="none") == (404, "argilla_dataset_not_found")
    assert ask("push", **PUSH, sample="random:1") == (409, "argilla_dataset_taken")
    unsure = send(client, ana, "push", metrics=["correctness"], dataset="new", sample="uncertain:1")
    assert (unsure.status_code, unsure.json()["faults"][0]["place"]) == (422, "body.sample")
    stand_in.failing["/datasets"] = (422, {"detail": {"params": {"errors": [{"loc": ["name"], "msg": "not so"}]}}})
    assert ask("pull", dataset="odd") == (422, "argilla_refused")
    stand_in.failing["/datasets"] = (500, {"detail": "secret-set is broken"})
    assert ask("pull", dataset="odd")[0] == 502


def test_a_workspace_that_cannot_be_created(stand_in, tenants):
    """If the operator's account may not create it, the answer says so."""
    client, ana, _ = tenants
    stand_in.role = "admin"
    answer = send(client, ana, "push", **PUSH)
    assert (answer.status_code, answer.json()["code"]) == (404, "argilla_workspace_not_found")


@pytest.mark.nightly
def test_the_operator_maps_tenants_to_workspaces(stand_in, tmp_path):
    """A workspace of the settings takes the place of the tenant's name."""
    stand_in.workspaces["w2"] = "team"
    with two_tenants(tmp_path, argilla_workspaces={"ana": "team"}) as (client, ana, _):
        run = started(client, uploaded(client, rows(2), headers=ana), headers=ana)
        ended(client, run, ana)
        assert send(client, (ana, run), "push", **PUSH).json()["workspace"] == "team"
        assert send(client, (ana, run), "pull", **PULL, workspace="ana").status_code == 403


@pytest.mark.nightly
def test_without_keys_the_operator_names_the_workspace(stand_in, tmp_path):
    """The only workspace is the default; of several one must be named, and the others are not listed."""
    with serving(tmp_path / "runs") as client:
        tenant = {}, started(client, uploaded(client, rows(2)))
        ended(client, tenant[1])
        stand_in.workspaces = {"w1": "mine"}
        assert send(client, tenant, "push", **PUSH).json()["workspace"] == "mine"
        stand_in.workspaces = {"w1": "mine", "w2": "secret-workspace"}
        several = send(client, tenant, "push", **PUSH)
        assert (several.status_code, several.json()["faults"][0]["place"]) == (422, "body.workspace")
        assert send(client, tenant, "push", **PUSH, workspace="mine").json()["added"] == 0
