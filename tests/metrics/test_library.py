"""Where metrics are found: predefined ones, folders and files."""

from __future__ import annotations

import unicodedata

import pytest
from metric_file_texts import build_chunk_metric, write_metrics

from greval.errors import DefinitionError
from greval.metrics.computed import COMPUTED_METRICS, DERIVED_METRICS
from greval.metrics.files import write_metric
from greval.metrics.library import add_dependencies, load_folder, load_metric, predefined
from greval.records.metric import ComputedMetric, JudgedMetric

JUDGED = (
    *("answer_alignment", "answer_claims", "answer_completeness", "answer_quality", "chunk_evaluation"),
    *("claim_correctness", "claim_support", "completeness", "correctness", "expected_answer_claims"),
    *("expected_claim_coverage", "expected_claim_support", "faithfulness", "relevance", "triple_evaluation"),
    *("comprehensiveness", "directness", "diversity", "empowerment", "overall_preference"),
)


def faults_of(call, *args):
    with pytest.raises(DefinitionError) as caught:
        call(*args)
    return caught.value.faults


class TestPredefined:
    def test_all(self):
        """The fifteen judged metrics and the computed ones are there, sorted by name."""
        metrics = predefined()
        assert [*metrics] == sorted(metrics)
        assert {*JUDGED, *COMPUTED_METRICS, *DERIVED_METRICS} == {*metrics}
        assert all(isinstance(metrics[name], JudgedMetric) for name in JUDGED)
        assert all(isinstance(metrics[name], ComputedMetric) for name in COMPUTED_METRICS)

    def test_own_copy(self):
        """What a caller does to the mapping changes nothing for the next one."""
        predefined().clear()
        assert predefined()

    def test_complete(self):
        """Everything that a predefined metric builds on is predefined, and fits."""
        assert {metric.name for metric in add_dependencies(predefined().values())} == {*predefined()}


class TestLoad:
    def test_by_path(self, tmp_path):
        """A file is loaded by its path, as text or as Path, whatever its own name."""
        file = tmp_path / "anything.yaml"
        file.write_text(write_metric(build_chunk_metric("tone")))
        assert load_metric(file) == load_metric(str(file)) == build_chunk_metric("tone")

    def test_folders_first(self, tmp_path):
        """A folder's metric goes before a predefined one of the same name, the first folder before the second."""
        first, second = tmp_path / "1", tmp_path / "2"
        for folder, told in ((first, "one"), (second, "two")):
            folder.mkdir()
            write_metrics(folder, build_chunk_metric("latency", description=told))
        assert load_metric("latency", first, second).description == "one"
        assert load_metric("latency", second, first).description == "two"

    def test_composed(self, tmp_path):
        """A name is found however its letters, or those of the file's name, are composed."""
        name = "qualité"
        (tmp_path / f"{unicodedata.normalize('NFD', name)}.yaml").write_text(write_metric(build_chunk_metric(name)))
        assert (
            load_metric(name, tmp_path)
            == load_metric(unicodedata.normalize("NFD", name), tmp_path)
            == build_chunk_metric(name)
        )
        assert [*load_folder(tmp_path)] == [name]

    @pytest.mark.parametrize("name", ["", "../x", "a\x00b", "x" * 300, "/etc/passwd", "~"])
    def test_odd_names(self, name):
        """A name that can be none is unknown like any other, and opens no file."""
        assert "no such metric" in faults_of(load_metric, name)[0]

    def test_other_name_inside(self, tmp_path):
        """A file of a folder must hold the metric that its name says."""
        (tmp_path / "tone.yaml").write_text(write_metric(build_chunk_metric("tones")))
        expected = f"{tmp_path / 'tone.yaml'}: name: is 'tones', but the file's is 'tone'; make them equal"
        assert faults_of(load_metric, "tone", tmp_path) == (expected,)
        assert faults_of(load_folder, tmp_path) == (expected,)

    def test_no_folder(self, tmp_path):
        """A folder that is not there is told, not taken for an empty one."""
        for call in (load_folder, lambda folder: load_metric("tone", folder)):
            assert faults_of(call, tmp_path / "none") == (
                f"{tmp_path / 'none'}: is no folder; give the folder that holds your metric files",
            )


class TestFolder:
    def test_sorted(self, tmp_path):
        """The metrics of a folder come sorted by name; other and hidden files count for nothing."""
        write_metrics(tmp_path, build_chunk_metric("b"), build_chunk_metric("a"))
        for name in ("README.md", "metric.schema.json", "._a.yaml"):
            (tmp_path / name).write_bytes(b"\x00")
        assert [*load_folder(str(tmp_path))] == ["a", "b"]

    def test_empty(self, tmp_path):
        """A folder without metric files gives no metrics."""
        assert load_folder(tmp_path) == {}

    def test_all_faults_of_all_files(self, tmp_path):
        """The faults of all files come at once."""
        for name in ("a", "b"):
            (tmp_path / f"{name}.yaml").write_text(f"name: {name}\ndescription: d\nneeds: [x1]\nsteps: []\n")
        faults = faults_of(load_folder, tmp_path)
        assert len(faults) == 6
        assert {fault.split(":")[0] for fault in faults} == {str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")}

    def test_two_files_of_one_name(self, tmp_path):
        """Two files whose names differ in the composing of letters only are told apart by a fault."""
        for form in ("NFC", "NFD"):
            (tmp_path / f"{unicodedata.normalize(form, 'é')}.yaml").write_text(write_metric(build_chunk_metric("é")))
        (fault,) = faults_of(load_folder, tmp_path)
        assert fault.endswith("another file of the folder has the name 'é' too; rename one")

    def test_yml(self, tmp_path):
        """A file that ends in .yml is not passed over in silence."""
        (tmp_path / "a.yml").write_text("")
        assert faults_of(load_folder, tmp_path) == (f"{tmp_path / 'a.yml'}: metric files end in .yaml; rename it",)


class TestDependencies:
    def test_predefined(self):
        """What a predefined metric builds on is added, before it."""
        names = [
            metric.name for metric in add_dependencies([load_metric("latency"), load_metric("answer_completeness")])
        ]
        assert {*names} == {"latency", "chunk_evaluation", "triple_evaluation", "answer_completeness"}
        assert names[-1] == "answer_completeness"

    def test_of_dependencies(self):
        """What is built on may build on others."""
        names = [metric.name for metric in add_dependencies([load_metric("claim_precision")])]
        assert names == ["answer_claims", "claim_correctness", "claim_precision"]

    def test_given_goes_first(self):
        """A metric that is given is not looked for, also where a predefined one has its name."""
        mine = build_chunk_metric("chunk_evaluation")
        user = build_chunk_metric("user", uses={"chunks": {"judged_by": "chunk_evaluation", "as": ["Good"]}})
        assert add_dependencies([user, mine]) == (mine, user)

    def test_unknown(self):
        """A metric that cannot be found is told with the nearest name, and all of them at once."""
        both = {"chunks": {"judged_by": "chunk_eval", "as": ["a"]}, "triples": {"judged_by": "nothing", "as": ["a"]}}
        user = build_chunk_metric("user", needs=["chunks", "triples"], uses=both)
        faults = faults_of(add_dependencies, [user])
        assert "did you mean chunk_evaluation? Add it to the metrics, or load both with load_metrics(FILE)" in faults[0]
        assert len(faults) == 2
