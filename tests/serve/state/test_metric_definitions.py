"""Definitions that are kept beside the texts of metrics: a text is parsed once, and never in the server's process."""

from __future__ import annotations

import pytest
from served_metrics import app_of, client_of, create, tone

from greval.metrics.files import parse_metric
from greval.serve.state import metric_definitions
from greval.serve.state.metric_definitions import DEFINITIONS_FOLDER, UnreadMetricError
from greval.serve.state.metric_library import MetricLibrary


@pytest.fixture
def parsed(monkeypatch):
    """Give the files that are parsed."""
    files, read = [], metric_definitions.read_metric

    def count(file):
        files.append(file)
        return read(file)

    monkeypatch.setattr(metric_definitions, "read_metric", count)
    return files


def test_a_saved_metric_is_not_parsed_again(tmp_path, parsed):
    """The library of the server reads what was kept when it was saved, also the versions; it parses nothing."""
    for number in range(3):
        text = tone().replace("Courteous.", f"Courteous {number}.")
        MetricLibrary().add(tmp_path, parse_metric(text), text, replace=True)
    library = MetricLibrary(parses=False)
    assert library.find(tmp_path, "tone").metric == parse_metric(text)
    assert library.list_metrics(tmp_path)["tone"].text == text
    assert len({version.fingerprint for version in library.list_versions(tmp_path, "tone")}) == 3
    assert parsed == []


def test_a_text_without_a_definition_is_parsed_in_a_child_process(tmp_path, parsed):
    """A file that was put there by hand, or whose text changed, is unread for the server, and parsed once."""
    file, library = tmp_path / "tone.yaml", MetricLibrary(parses=False)
    for text in (tone(), tone().replace("polite", "kind")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UnreadMetricError) as unread:
            library.find(tmp_path, "tone")
        assert unread.value.file == file
        metric_definitions.parse_file(file, tmp_path)
        metric_definitions.parse_file(file, tmp_path)
        assert library.find(tmp_path, "tone").metric == parse_metric(text)
    assert parsed == [file, file]


def test_a_metric_that_was_put_there_can_be_used(tmp_path):
    """A request finds it, with what it builds on; a faulty one is the fault of the server, whose log has more."""
    folder = tmp_path / "runs" / ".metrics"
    folder.mkdir(parents=True)
    (folder / "tone.yaml").write_text(tone(), encoding="utf-8")
    (folder / "bad.yaml").write_text("name: bad\n", encoding="utf-8")
    with client_of(app_of(tmp_path)) as client:
        body = {"cases": [{"question": "q", "answer": "a"}], "metrics": ["tone"]}
        assert client.post("/v1/evaluate", json=body).json()["results"][0]["metric"] == "tone"
        refused = client.post("/v1/evaluate", json=body | {"metrics": ["bad"]})
    assert (refused.status_code, refused.json()["code"]) == (500, "metric_file_faulty")


def test_a_deleted_metric_leaves_no_definition(tmp_path):
    """The definitions of all versions go with the metric."""
    with client_of(app_of(tmp_path)) as client:
        for text in (tone(), tone().replace("polite", "kind")):
            assert create(client, text, replace=True).status_code == 201
        folder = tmp_path / "runs" / ".metrics" / DEFINITIONS_FOLDER
        assert len([*folder.iterdir()]) == 2
        assert client.delete("/v1/metrics/tone").status_code == 204
        assert [*folder.iterdir()] == []
