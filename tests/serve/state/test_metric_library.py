"""Tests of the metric library: names, precedence of folders, and writing from several workers."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from served_metrics import app_of, client_of, create, list_files, tone

from greval.metrics.files import parse_metric
from greval.metrics.library import find_predefined_folder, predefined
from greval.serve.problems import ServeError
from greval.serve.state.metric_library import MAX_OWN_METRICS, MetricLibrary


def add(library, folder, text, **options):
    """Store a metric of a client as the route does."""
    return library.add(folder, parse_metric(text), text, **options)


def test_nothing_is_put_over_a_metric_of_the_operator(tmp_path):
    """A metric of the server's folders stays; predefined and computed ones are in the golden file of refusals."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "shared.yaml").write_text(tone("shared"), encoding="utf-8")
    client = client_of(app_of(tmp_path, library=(tmp_path / "library",)))
    for replace in (False, True):
        assert create(client, tone("shared"), replace=replace).status_code == 409
    assert list_files(tmp_path) == ["library/shared.yaml"]


def test_workers_do_not_write_over_each_other(tmp_path):
    """Of several processes that make the same metric at once one does, as each has a library of its own."""
    ready = Barrier(8)

    def make(n):
        library = MetricLibrary()
        ready.wait()
        try:
            add(library, tmp_path, tone().replace("Courteous.", f"Courteous {n}."))
        except ServeError as error:
            return error.status
        return 201

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(make, range(8))) == [201] + [409] * 7
    assert [path for path in list_files(tmp_path) if not path.startswith(".")] == ["tone.yaml"]


def test_replacing_at_once_leaves_one_whole_text(tmp_path):
    """Each of several requests that replace a metric at once is answered; one text stays, the others are versions."""
    library = MetricLibrary()
    add(library, tmp_path, tone())
    texts = [tone().replace("Courteous.", f"Courteous {n}. " + "x" * n * 1_000) for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda text: add(library, tmp_path, text, replace=True), texts))
    assert (tmp_path / "tone.yaml").read_text(encoding="utf-8") in texts
    assert [path for path in list_files(tmp_path) if not path.startswith(".")] == ["tone.yaml"]
    assert len(library.list_versions(tmp_path, "tone")) == 17


def test_a_client_keeps_so_many_metrics(metric_client, tmp_path):
    """Where a client has as many metrics as it may, a further one is refused, and one that is there is replaced."""
    folder = tmp_path / "runs" / ".metrics"
    folder.mkdir(parents=True)
    for n in range(MAX_OWN_METRICS):
        (folder / f"m{n}.yaml").write_text(tone(f"m{n}"), encoding="utf-8")
    answer = create(metric_client, tone())
    assert answer.status_code == 409
    assert answer.json()["code"] == "too_many_metrics"
    assert create(metric_client, tone("m0"), replace=True).status_code == 201


def test_the_servers_folders_are_served_as_they_are_now(tmp_path):
    """A metric of `--library` is served; a changed file counts at once, a faulty one harms no other."""
    library = tmp_path / "library"
    shutil.copytree(find_predefined_folder(), library)
    file = library / "tone.yaml"
    file.write_text(tone(), encoding="utf-8")
    client = client_of(app_of(tmp_path, library=(library,)))
    assert client.get("/v1/metrics/tone").json()["origin"] == "library"
    file.write_text(tone().replace("polite", "courteous"), encoding="utf-8")
    assert "courteous" in client.get("/v1/metrics/tone").json()["description"]
    file.write_text("name: tone\n", encoding="utf-8")
    answer = client.get("/v1/metrics/tone")
    assert answer.status_code == 500
    assert str(tmp_path) not in answer.text
    assert [info["name"] for info in client.get("/v1/metrics").json()["metrics"]] == [*predefined()]
