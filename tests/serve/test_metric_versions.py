"""Versions of a client's metrics over REST, and saves that would overwrite what somebody else has saved."""

from __future__ import annotations

import pytest
from served_metrics import app_of, client_of, tone

from greval import parse_metric
from greval.serve.middleware.api_keys import add_key
from greval.serve.quotas import parse_quota
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.metric_versions import MAX_VERSIONS


@pytest.fixture
def client(tmp_path):
    """Give a client of an app without own metrics, with one event loop for all requests."""
    with client_of(app_of(tmp_path)) as client:
        yield client


def saved(client, text, etag=None, **params):
    """Save the text of a metric; it may be one that was saved before."""
    headers = {"If-Match": etag} if etag else {}
    return client.post("/v1/metrics", json={"yaml": text}, headers=headers, params=params)


def texts(count=3):
    """Give texts of the same metric that differ in one description."""
    return [tone().replace("Courteous.", f"Courteous {n}.") for n in range(1, count + 1)]


def listed(client, name="tone"):
    """Give the versions of a metric."""
    return client.get(f"/v1/metrics/{name}/versions").json()["versions"]


def test_each_save_keeps_the_former_text(client):
    """The versions are listed, the current one first, with times and fingerprints; each can be read."""
    for text in texts():
        assert saved(client, text, replace=True).status_code == 201
    found = listed(client)
    assert [(one["version"], one["current"]) for one in found] == [(3, True), (2, False), (1, False)]
    assert len({one["fingerprint"] for one in found}) == 3
    assert [one["saved"] for one in found] == sorted((one["saved"] for one in found), reverse=True)
    shown = [client.get(f"/v1/metrics/tone/versions/{n}").json()["yaml"] for n in (1, 2, 3)]
    assert shown == texts()
    gone = client.get("/v1/metrics/tone/versions/4")
    assert (gone.status_code, gone.json()["code"]) == (404, "version_not_found")
    assert client.get("/v1/metrics/tone/versions/0").status_code == 422


def test_a_save_of_the_same_text_makes_no_version(client):
    """Who saves twice has one version, and a comment alone does not change the fingerprint."""
    saved(client, tone())
    saved(client, tone(), replace=True)
    assert len(listed(client)) == 1
    saved(client, f"# reviewed\n{tone()}", replace=True)
    assert len({one["fingerprint"] for one in listed(client)}) == 1
    assert len(listed(client)) == 2


def test_a_version_is_restored_as_a_new_one(client):
    """Restoring keeps what was there as a version, so that it can be undone."""
    for text in texts():
        saved(client, text, replace=True)
    answer = client.post("/v1/metrics/tone/versions/1/restore")
    assert answer.status_code == 200
    assert client.get("/v1/metrics/tone").json()["yaml"] == texts()[0]
    assert [one["version"] for one in listed(client)] == [4, 3, 2, 1]
    assert client.get("/v1/metrics/tone/versions/3").json()["yaml"] == texts()[2]


def test_the_oldest_versions_are_deleted(tmp_path):
    """There is a most; numbers are not used again."""
    library = MetricLibrary()
    for text in texts(MAX_VERSIONS + 4):
        library.add(tmp_path, parse_metric(text), text, replace=True)
    numbers = [one.version for one in library.list_versions(tmp_path, "tone")]
    assert numbers == [*range(MAX_VERSIONS + 4, 3, -1)]
    assert len([*tmp_path.glob(".versions/tone/*.yaml")]) == MAX_VERSIONS


def test_versions_are_compared_by_lines(client):
    """The lines of two versions, with what was removed and what was added; the new one is the current by default."""
    for text in texts():
        saved(client, text, replace=True)
    found = client.get("/v1/metrics/tone/versions/1/diff").json()
    assert (found["old"], found["new"]) == (1, 3)
    changed = [(one["kind"], one["line"]) for one in found["lines"] if one["kind"] != "same"]
    assert changed == [("removed", 4), ("added", 4)]
    assert "".join(f"{one['text']}\n" for one in found["lines"] if one["kind"] != "removed") == texts()[2]
    assert client.get("/v1/metrics/tone/versions/1/diff", params={"to": 2}).json()["new"] == 2
    assert client.get("/v1/metrics/tone/versions/1/diff", params={"to": 9}).status_code == 404


def test_what_somebody_else_saved_is_not_overwritten(client):
    """Two editors read a metric; the second who saves is told, and the first one's text stays."""
    saved(client, tone())
    etag = client.get("/v1/metrics/tone").headers["etag"]
    first, second = texts(2)
    mine = saved(client, first, etag)
    assert mine.status_code == 201
    refused = saved(client, second, etag)
    assert (refused.status_code, refused.json()["code"]) == (412, "metric_changed")
    assert "saved by somebody else" in refused.json()["detail"]
    assert client.get("/v1/metrics/tone").json()["yaml"] == first
    assert saved(client, second, mine.headers["etag"]).status_code == 201
    assert client.delete("/v1/metrics/tone", headers={"If-Match": etag}).status_code == 412
    assert client.post("/v1/metrics/tone/versions/1/restore", headers={"If-Match": etag}).status_code == 412
    client.delete("/v1/metrics/tone")
    gone = saved(client, second, etag)
    assert (gone.status_code, gone.json()["code"]) == (412, "metric_changed")
    assert "deleted" in gone.json()["detail"]


def test_a_condition_replaces_nothing_but_own_metrics(client):
    """`If-Match` gives no way around names that are taken."""
    etag = client.get("/v1/metrics/correctness").headers["etag"]
    assert saved(client, tone("correctness"), etag).status_code == 409


def test_deleting_a_metric_deletes_its_versions(client, tmp_path):
    """A metric of the same name starts with version 1."""
    for text in texts():
        saved(client, text, replace=True)
    assert client.delete("/v1/metrics/tone").status_code == 204
    assert not [*(tmp_path / "runs").rglob("*.yaml")]
    saved(client, tone())
    assert [one["version"] for one in listed(client)] == [1]


def test_only_own_metrics_have_versions(client):
    """A predefined metric has none (403), nor has what is not there (404)."""
    assert client.get("/v1/metrics/correctness/versions").json()["code"] == "metric_not_own"
    assert client.get("/v1/metrics/none/versions").status_code == 404
    assert client.post("/v1/metrics/correctness/versions/1/restore").status_code == 403


def test_versions_are_of_one_tenant(tmp_path):
    """With keys, nobody lists, reads, compares or restores the versions of another client, also under the same name."""
    keys = tmp_path / "keys.json"
    app = app_of(tmp_path, keys=keys)
    ana, bob = (client_of(app, add_key(keys, name)) for name in ("ana", "bob"))
    for text in texts():
        saved(ana, text, replace=True)
    paths = ("versions", "versions/1", "versions/1/diff")
    assert {bob.get(f"/v1/metrics/tone/{path}").status_code for path in paths} == {404}
    assert bob.post("/v1/metrics/tone/versions/1/restore").status_code == 404
    saved(bob, tone())
    assert [one["version"] for one in listed(bob)] == [1]
    assert bob.get("/v1/metrics/tone/versions/2").status_code == 404
    assert len(listed(ana)) == 3


def test_versions_count_in_the_quota_of_the_disk(tmp_path):
    """A full quota refuses saves, and what versions take is reported as used."""
    app = app_of(tmp_path, quotas=(parse_quota("disk=1MB"),))
    with client_of(app) as client:
        big = [f"{text}# {'x' * 60_000}\n" for text in texts(20)]
        codes = [saved(client, text, replace=True).status_code for text in big]
        assert codes[0] == 201
        refused = saved(client, big[-1], replace=True)
        assert (refused.status_code, refused.json()["code"]) == (409, "quota_full")
        assert client.delete("/v1/metrics/tone").status_code == 204
        assert saved(client, big[0]).status_code == 201


def test_an_edit_changes_fields_and_keeps_the_rest(client):
    """The fields that a form shows are written into the author's own text, which is checked at once."""
    text = f"# ours\n{tone()}instructions: Be strict.  # for now\n"
    found = client.post(
        "/v1/metrics/edit", json={"yaml": text, "fields": {"steps": ["Read: all.", "Judge."], "name": "kind"}}
    ).json()
    assert found["ok"]
    assert found["content"]["steps"] == ["Read: all.", "Judge."]
    assert found["yaml"].startswith("# ours\nname: kind\n")
    assert found["yaml"].endswith("instructions: Be strict.  # for now\n")
    faulty = client.post("/v1/metrics/edit", json={"yaml": "", "fields": {"name": "kind", "needs": ["answr"]}}).json()
    assert not faulty["ok"]
    assert faulty["content"] == {"name": "kind", "needs": ["answr"]}
    assert [fault["place"] for fault in faulty["faults"] if "answer?" in fault["message"]] == ["yaml:2: needs.1"]
    broken = client.post("/v1/metrics/edit", json={"yaml": "a: [", "fields": {"name": "kind"}})
    assert (broken.status_code, broken.json()["code"]) == (422, "invalid_metric")
    assert broken.json()["faults"][0]["place"].startswith("yaml:")


def test_a_check_has_the_lines_of_everything(client):
    """Faults of the text and of how it fits the others, and remarks, all have the line of their place."""
    text = tone().replace("Read the answer.", "Compare it with the expected answer.")
    found = client.post("/v1/metrics/check", json={"yaml": f"\n{text}"}).json()
    assert found["ok"]
    assert found["warnings"][0].startswith("yaml:6: steps.1: cites")
    assert found["content"]["name"] == "tone"
    uses = "uses: {chunks: {judged_by: nothing_such, as: [Polite]}}\n"
    builds = tone().replace("needs: [answer]", "needs: [answer, chunks]") + uses
    lost = client.post("/v1/metrics/check", json={"yaml": builds}).json()
    assert lost["faults"][0]["place"] == "yaml:6: uses"
    judged = client.post("/v1/metrics/check", json={"yaml": f"{tone()}judge: other:model\n"}).json()
    assert judged["faults"][0]["place"].startswith("yaml:6: judge")
    assert client.post("/v1/metrics/check", json={"yaml": "a: ["}).json()["content"] is None


def test_a_case_is_judged_with_a_metric_that_is_not_saved(client, tmp_path):
    """A text stands for the metric of its name within one request, whether or not there is one; nothing is stored."""
    case = {"question": "When?", "answer": "At nine."}
    text = tone().replace("Polite:", "Kind:")
    body = {"cases": [case], "metrics": ["tone"], "unsaved": [text]}
    found = client.post("/v1/evaluate", json=body)
    assert found.json()["results"][0]["metric"] == "tone"
    assert client.get("/v1/metrics/tone").status_code == 404
    assert not [*tmp_path.rglob("*.yaml")]
    refused = client.post("/v1/evaluate", json={**body, "unsaved": ["name: tone\n"]})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_metric")
    assert client.post("/v1/evaluate", json={**body, "unsaved": []}).status_code == 404
