"""Versions of a client's metrics over REST, and saves that would overwrite what somebody else has saved."""

from __future__ import annotations

from served_metrics import app_of, client_of, tone

from greval import parse_metric
from greval.serve.quotas import parse_quota
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.metric_versions import MAX_VERSIONS


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


def test_each_save_keeps_the_former_text(metric_client):
    """The versions are listed, the current one first, with times and fingerprints; each can be read."""
    for text in texts():
        assert saved(metric_client, text, replace=True).status_code == 201
    versions = listed(metric_client)
    assert [(version["version"], version["current"]) for version in versions] == [(3, True), (2, False), (1, False)]
    assert len({version["fingerprint"] for version in versions}) == 3
    assert [version["saved"] for version in versions] == sorted(
        (version["saved"] for version in versions), reverse=True
    )
    version_texts = [metric_client.get(f"/v1/metrics/tone/versions/{n}").json()["yaml"] for n in (1, 2, 3)]
    assert version_texts == texts()
    missing = metric_client.get("/v1/metrics/tone/versions/4")
    assert (missing.status_code, missing.json()["code"]) == (404, "version_not_found")
    assert metric_client.get("/v1/metrics/tone/versions/0").status_code == 422


def test_a_save_of_the_same_text_makes_no_version(metric_client):
    """Who saves twice has one version, and a comment alone does not change the fingerprint."""
    for text in (tone(), tone(), f"# reviewed\n{tone()}"):
        saved(metric_client, text, replace=True)
    assert len({version["fingerprint"] for version in listed(metric_client)}) == 1
    assert len(listed(metric_client)) == 2


def test_a_version_is_restored_as_a_new_one(metric_client):
    """Restoring keeps what was there as a version, so that it can be undone."""
    for text in texts():
        saved(metric_client, text, replace=True)
    answer = metric_client.post("/v1/metrics/tone/versions/1/restore")
    assert answer.status_code == 200
    assert metric_client.get("/v1/metrics/tone").json()["yaml"] == texts()[0]
    assert [version["version"] for version in listed(metric_client)] == [4, 3, 2, 1]
    assert metric_client.get("/v1/metrics/tone/versions/3").json()["yaml"] == texts()[2]


def test_the_oldest_versions_are_deleted(tmp_path):
    """There is a most; numbers are not used again."""
    library = MetricLibrary()
    for text in texts(MAX_VERSIONS + 4):
        library.add(tmp_path, parse_metric(text), text, replace=True)
    numbers = [version.version for version in library.list_versions(tmp_path, "tone")]
    assert numbers == [*range(MAX_VERSIONS + 4, 3, -1)]
    assert len([*tmp_path.glob(".versions/tone/*.yaml")]) == MAX_VERSIONS


def test_versions_are_compared_by_lines(metric_client):
    """The lines of two versions, with what was removed and what was added; the new one is the current by default."""
    for text in texts():
        saved(metric_client, text, replace=True)
    comparison = metric_client.get("/v1/metrics/tone/versions/1/diff").json()
    assert (comparison["old"], comparison["new"]) == (1, 3)
    changed = [(line["kind"], line["line"]) for line in comparison["lines"] if line["kind"] != "same"]
    assert changed == [("removed", 4), ("added", 4)]
    assert "".join(f"{line['text']}\n" for line in comparison["lines"] if line["kind"] != "removed") == texts()[2]
    assert metric_client.get("/v1/metrics/tone/versions/1/diff", params={"to": 2}).json()["new"] == 2
    assert metric_client.get("/v1/metrics/tone/versions/1/diff", params={"to": 9}).status_code == 404


def test_what_somebody_else_saved_is_not_overwritten(metric_client):
    """Two editors read a metric; the second who saves is told, and the first one's text stays."""
    saved(metric_client, tone())
    etag = metric_client.get("/v1/metrics/tone").headers["etag"]
    first, second = texts(2)
    mine = saved(metric_client, first, etag)
    assert mine.status_code == 201
    refused = saved(metric_client, second, etag)
    assert (refused.status_code, refused.json()["code"]) == (412, "metric_changed")
    assert "saved by somebody else" in refused.json()["detail"]
    assert metric_client.get("/v1/metrics/tone").json()["yaml"] == first
    assert saved(metric_client, second, mine.headers["etag"]).status_code == 201
    assert metric_client.delete("/v1/metrics/tone", headers={"If-Match": etag}).status_code == 412
    assert metric_client.post("/v1/metrics/tone/versions/1/restore", headers={"If-Match": etag}).status_code == 412
    metric_client.delete("/v1/metrics/tone")
    deleted = saved(metric_client, second, etag)
    assert (deleted.status_code, deleted.json()["code"]) == (412, "metric_changed")
    assert "deleted" in deleted.json()["detail"]


def test_deleting_a_metric_deletes_its_versions(metric_client, tmp_path):
    """A metric of the same name starts with version 1."""
    for text in texts():
        saved(metric_client, text, replace=True)
    assert metric_client.delete("/v1/metrics/tone").status_code == 204
    assert not [*(tmp_path / "runs").rglob("*.yaml")]
    saved(metric_client, tone())
    assert [version["version"] for version in listed(metric_client)] == [1]


def test_versions_count_in_the_quota_of_the_disk(tmp_path):
    """A full quota refuses saves until a metric with its versions is deleted."""
    with client_of(app_of(tmp_path, quotas=(parse_quota("disk=1MB"),))) as client:
        big = [f"{text}# {'x' * 60_000}\n" for text in texts(20)]
        answers = [saved(client, text, replace=True) for text in big]
        assert answers[0].status_code == 201
        assert (answers[-1].status_code, answers[-1].json()["code"]) == (409, "quota_full")
        assert client.delete("/v1/metrics/tone").status_code == 204
        assert saved(client, big[0]).status_code == 201


def test_an_edit_changes_fields_and_keeps_the_rest(metric_client):
    """The fields that a form shows are written into the author's own text, which is checked at once."""
    text = f"# ours\n{tone()}instructions: Be strict.  # for now\n"
    fields = {"steps": ["Read: all.", "Judge."], "name": "kind"}
    edited = metric_client.post("/v1/metrics/edit", json={"yaml": text, "fields": fields}).json()
    assert (edited["ok"], edited["content"]["steps"]) == (True, ["Read: all.", "Judge."])
    assert edited["yaml"].startswith("# ours\nname: kind\n")
    assert edited["yaml"].endswith("instructions: Be strict.  # for now\n")
    body = {"yaml": "", "fields": {"name": "kind", "needs": ["answr"]}}
    faulty = metric_client.post("/v1/metrics/edit", json=body).json()
    assert (faulty["ok"], faulty["content"]) == (False, body["fields"])
    assert "yaml:2: needs.1" in [fault["place"] for fault in faulty["faults"]]


def test_a_check_has_the_lines_of_everything(metric_client):
    """Faults of the text and of how it fits the others, and remarks, have the line of their place; nothing is kept."""
    uses = "uses: {chunks: {judged_by: nothing_such, as: [Polite]}}\n"
    builds = tone().replace("needs: [answer]", "needs: [answer, chunks]") + uses
    remark = tone().replace("Read the answer.", "Compare it with the expected answer.")
    for text, part, start in (
        (f"\n{remark}", "warnings", "yaml:6: steps.1: cites"),
        ("name: x\nneeds: [answr]\n", "faults", "yaml:2: needs.1"),
        (builds, "faults", "yaml:6: uses"),
        (f"{tone()}judge: other:model\n", "faults", "yaml:6: judge"),
    ):
        check = metric_client.post("/v1/metrics/check", json={"yaml": text}).json()
        assert check["ok"] == (part == "warnings")
        assert any(str(entry["place"] if part == "faults" else entry).startswith(start) for entry in check[part]), check
    assert metric_client.post("/v1/metrics/check", json={"yaml": "a: ["}).json()["content"] is None
    assert metric_client.get("/v1/metrics?own=true").json()["metrics"] == []


def test_a_case_is_judged_with_a_metric_that_is_not_saved(metric_client, tmp_path):
    """A text stands for the metric of its name within one request, whether or not there is one; nothing is stored."""
    body = {"cases": [{"question": "When?", "answer": "At nine."}], "metrics": ["tone"], "unsaved": [tone()]}
    answer = metric_client.post("/v1/evaluate", json=body)
    assert answer.json()["results"][0]["metric"] == "tone"
    assert metric_client.get("/v1/metrics/tone").status_code == 404
    assert not [*tmp_path.rglob("*.yaml")]
