"""What is named as a metric: names, files, folders, Python code and lists, with what they build on."""

from __future__ import annotations

from pathlib import Path

import pytest
from metric_file_texts import build_chunk_metric, write_metrics

from greval.errors import DefinitionError
from greval.metrics.files import write_metric
from greval.metrics.library import predefined
from greval.metrics.sources import list_replaced_names, load_metrics, load_one_metric

USES = {"chunks": {"judged_by": "kind", "as": ["Good"]}}


def grounded(name="grounded"):
    """Build a metric that builds on `kind`."""
    scale = {"range": [0, 1], "levels": {0: "No.", 1: "Yes."}}
    return build_chunk_metric(name, over=None, needs=["answer", "chunks"], scale=scale, uses=USES)


def names(specs, *folders):
    return [metric.name for metric in load_metrics(specs, *folders)]


def fault(*args):
    with pytest.raises(DefinitionError) as caught:
        load_metrics(*args)
    return str(caught.value)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Return a folder, in the current one, with `kind`, and `grounded`, which builds on it."""
    monkeypatch.chdir(tmp_path)
    return write_metrics(tmp_path / "own", build_chunk_metric("kind"), grounded())


@pytest.mark.parametrize("spec", ["own", "own/", "own/grounded.yaml", "own/kind.yaml,own/grounded.yaml", Path("own")])
def test_each_way_to_name_own_metrics_finds_what_they_build_on(own_folder, spec):
    """A folder, a file and a list of files give the metric and the one beside it, dependencies first."""
    assert names([spec]) == ["kind", "grounded"]


def test_ways_can_be_mixed(own_folder):
    """Names, lists, files and Python code are given together; each metric comes once."""
    (own_folder / "code.py").write_text("def length(answer):\n    return len(answer)\n", encoding="utf-8")
    specs = ["latency, exact_match", "own", "own/kind.yaml", "own/code.py:length"]
    assert sorted(names(specs)) == ["exact_match", "grounded", "kind", "latency", "length"]


def test_what_is_beside_the_file_goes_before_the_library_and_the_predefined(tmp_path):
    """The folder of the file is looked into first, then the library, then the predefined metrics."""
    own_folder = write_metrics(tmp_path / "own", grounded())
    library = write_metrics(tmp_path / "library", build_chunk_metric("kind", description="of the library"))
    assert load_metrics([own_folder / "grounded.yaml"], library)[0].description == "of the library"
    write_metrics(own_folder, build_chunk_metric("kind", description="beside it"))
    assert load_metrics([own_folder / "grounded.yaml"], library)[0].description == "beside it"


def test_a_metric_in_python_builds_on_one_of_its_file(tmp_path):
    """A definition in the same Python file is found without being named."""
    (tmp_path / "both.py").write_text(
        "from greval import parse_metric\n"
        f"kind = parse_metric({write_metric(build_chunk_metric('kind'))!r})\n"
        f"above = parse_metric({write_metric(grounded())!r})\n",
        encoding="utf-8",
    )
    assert names([f"{tmp_path}/both.py:above"]) == ["kind", "grounded"]


def test_two_definitions_of_one_name_are_refused(own_folder, tmp_path):
    """No definition silently goes before another one that was named, or that another metric builds on."""
    other_folder = write_metrics(tmp_path / "other", build_chunk_metric("kind", description="another"))
    told = fault([own_folder / "grounded.yaml", other_folder / "kind.yaml"])
    assert told.startswith("kind: ")
    assert str(own_folder / "kind.yaml") in told
    assert str(other_folder / "kind.yaml") in told
    assert "rename one" in told
    above = write_metrics(tmp_path / "above", grounded("second"), build_chunk_metric("kind", description="a third"))
    assert fault([own_folder / "grounded.yaml", above / "second.yaml"]).endswith("rename one")


def test_own_metrics_go_before_predefined_ones_of_the_name(tmp_path):
    """A metric of a library is used instead of the predefined one, and is listed as a replacement."""
    own_folder = write_metrics(tmp_path / "own", build_chunk_metric("correctness"))
    loaded = load_metrics(["correctness"], own_folder)
    assert loaded == (build_chunk_metric("correctness"),)
    assert list_replaced_names(loaded) == ("correctness",)
    assert list_replaced_names(load_metrics(["correctness", "ndcg@5"])) == ()


def test_a_metric_goes_before_a_folder_of_its_name(own_folder, tmp_path):
    """`correctness` is the metric although there is such a folder; `correctness/` is the folder."""
    own_folder.rename(tmp_path / "correctness")
    assert names(["correctness"]) == ["correctness"]
    assert names(["correctness/"]) == ["kind", "grounded"]


def test_what_cannot_be_found_names_the_places_and_the_ways(own_folder, tmp_path):
    """The nearest name of all places is offered, and how own metrics are named."""
    assert "did you mean grounded?" in fault(["grounde"], own_folder)
    assert "load_metric(NAME, FOLDER)" in fault(["grounde"], own_folder)
    assert "did you mean the file own/kind.yaml?" in fault(["own/kind"])
    (own_folder / "kind.yaml").unlink()
    told = fault([own_folder / "grounded.yaml"])
    assert told.startswith(
        f"grounded ({own_folder / 'grounded.yaml'}): builds on kind: no such metric in {own_folder} and"
    )
    empty = write_metrics(tmp_path / "empty")
    assert "holds no metric file" in fault([f"{empty}/"])


def test_without_names_all_that_ship_are_loaded(own_folder):
    """Each predefined metric is loaded once, after those that it builds on; one of a folder goes before it."""
    metrics = load_metrics()
    assert {metric.name: metric for metric in metrics} == predefined()
    assert len(metrics) == len(predefined())
    names = [metric.name for metric in metrics]
    assert names.index("chunk_evaluation") < names.index("answer_completeness")
    write_metrics(own_folder, build_chunk_metric("latency"))
    assert {metric.name: metric for metric in load_metrics(None, own_folder)}["latency"].description == "d"


def test_one_metric(own_folder):
    """A command about one metric gets it with what it needs, and refuses several."""
    top, needed = load_one_metric(own_folder / "grounded.yaml")
    assert (top.name, [metric.name for metric in needed]) == ("grounded", ["kind", "grounded"])
    with pytest.raises(DefinitionError, match="are 2 metrics, correctness, latency; name one"):
        load_one_metric("correctness,latency")
