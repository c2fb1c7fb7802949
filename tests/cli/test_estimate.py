"""`greval estimate`: every option reaches the estimate; labels in files of any form, and in the run."""

from __future__ import annotations

import pytest
from compared_runs import write

from greval.records.annotation import Annotation
from greval.trust.annotations.files import keep_annotations, write_annotations
from greval.trust.estimates.records import Estimate

COUNT = 100


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of two methods, with labels of every second question beside it."""
    folder = tmp_path_factory.mktemp("cli")
    values = {"walk": [int(n % 5 > 0) for n in range(COUNT)], "local": [n % 2 for n in range(COUNT)]}
    labels = [
        Annotation(sample_id=f"q{n}", method=method, metric="right", annotator="ana", value=verdicts[n] ^ (n % 7 == 0))
        for method, verdicts in values.items()
        for n in range(0, COUNT, 2)
    ]
    write_annotations(labels, folder / "people.csv")
    rows = [f"{label.sample_id}\t{label.method}\t{label.value}\n" for label in labels]
    (folder / "labels.tsv").write_text(f"id\tsystem\tlabel\n{''.join(rows)}", encoding="utf-8")
    judged = {(method, "right"): verdicts for method, verdicts in values.items()}
    return write(folder / "run", judged, tags=[{"kind": "ab"[n % 2]} for n in range(COUNT)])


@pytest.fixture
def read_estimate(run, greval_says):
    """Give a function that runs the command on the run, and reads what it prints as JSON."""

    def read(*words):
        code, out, _ = greval_says("estimate", run, *words, "-m", "right", "--format", "json")
        assert (code, "NaN" in out) == (0, False)
        return Estimate.model_validate_json(out)

    return read


def test_every_option_reaches_the_estimate(run, read_estimate, greval_says):
    """The JSON form is the whole estimate, and the table is of the same."""
    people = ("--annotations", run.parent / "people.csv")
    words = ("--baseline", "local", "--by", "kind", "--drawn-by", "items", "--level", "0.9", "--new-questions")
    estimate = read_estimate(*people, *words)
    assert (estimate.baseline, estimate.by, estimate.drawn_by, estimate.level) == ("local", ("kind",), "items", 0.9)
    assert estimate.new_questions
    assert len(estimate.rows) == 9
    assert "walk less local" in greval_says("estimate", run, *people, *words, "-m", "right")[1]


def test_annotations_kept_in_the_run_are_the_default(run, read_estimate):
    """Without a file the annotations of the run's folder count."""
    labels = [
        Annotation(sample_id=f"q{n}", method="walk", metric="right", annotator="ana", value=int(n % 3 > 0))
        for n in range(40)
    ]
    path = keep_annotations(run, labels)
    assert read_estimate("--drawn-by", "items").labels == 40
    path.unlink()


def test_labels_need_no_more_than_ids_and_values(run, read_estimate):
    """A file of id, method and label, named after the run, gives the estimate of full annotations."""
    folder = run.parent
    assert read_estimate(folder / "labels.tsv") == read_estimate("--annotations", folder / "people.csv")
