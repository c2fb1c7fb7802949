"""`greval agreement`: every option reaches the agreement; labels in files of any form, and exit codes."""

from __future__ import annotations

import json

import pytest
from agreed_runs import said, write

from greval import evaluate
from greval.metrics.computed import COMPUTED_METRICS
from greval.trust.agreement.records import Agreement
from greval.trust.annotations.files import keep_annotations

JUDGE = ["Relevant"] * 20 + ["Partly"] * 8 + ["Irrelevant"] * 12
ANA = ["Relevant"] * 17 + ["Partly"] * 9 + ["Irrelevant"] * 14
BOB = ["Relevant"] * 18 + ["Partly"] * 8 + ["Irrelevant"] * 14


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of forty answers, annotated by two people."""
    tags = [{"kind": "single" if n % 2 else "multi"} for n in range(40)]
    folder = write(tmp_path_factory.mktemp("cli") / "run", "graded", JUDGE, texts=["word"] * 40, tags=tags)
    keep_annotations(folder, [*said("graded", "ana", ANA), *said("graded", "bob", BOB)])
    return folder


@pytest.fixture
def read_agreement(run, greval_says):
    """Give a function that runs the command on the run, and reads what it prints as JSON."""

    def read(*words):
        code, out, _ = greval_says("agreement", run, *words, "--format", "json")
        assert (code, "NaN" in out) == (0, False)
        return Agreement.model_validate_json(out)

    return read


def test_every_option_reaches_the_agreement(read_agreement):
    """The JSON form is the whole agreement."""
    words = ("--by", "kind", "--people", "each", "--treat-as", "unordered", "--level", "0.9", "--floor", "answer_words")
    agreement = read_agreement("-m", "graded", *words)
    assert agreement.groups[0].baselines[-1].name == "answer_words"
    assert (agreement.by, agreement.combine, agreement.treat_as, agreement.level) == (
        ("kind",),
        "each",
        "unordered",
        0.9,
    )
    assert [group.name for group in agreement.groups] == ["", "multi", "single"]


def test_the_only_metric_need_not_be_named(run, read_agreement, greval_says, tmp_path):
    """A run with one metric needs no -m; with several, the error lists them."""
    assert read_agreement() == read_agreement("-m", "graded")
    case = {"id": "q1", "question": "Who?", "answer": "Ada", "expected_answer": "Ada"}
    evaluate([case], [COMPUTED_METRICS["exact_match"], COMPUTED_METRICS["token_f1"]], out=tmp_path / "two")
    code, _, err = greval_says("agreement", tmp_path / "two")
    assert (code, "-m exact_match or -m token_f1" in err) == (2, True)


def test_labels_on_another_scale_are_an_exit_code(greval_says, tmp_path):
    """If most labels are off the judge's scale, the first line says so, and the command exits with 3."""
    cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(4)]
    evaluate(cases, [COMPUTED_METRICS["exact_match"]], out=tmp_path / "run")
    (tmp_path / "labels.csv").write_text("id,label\nq0,1\nq1,7\nq2,8\nq3,9\n", encoding="utf-8")
    code, out, _ = greval_says("agreement", tmp_path / "run", tmp_path / "labels.csv")
    assert code == 3
    assert out.startswith("OFF SCALE: 3 of 4 labels are not on the scale of the verdicts")


def test_alpha_and_kappa_name_their_distance(tmp_path, greval_says):
    """A scale in order has both alphas; without one, by the scale or by the option, the order counts nowhere."""
    (tmp_path / "v.csv").write_text("id,question,answer,v\nq1,?,a,red\nq2,?,b,blue\nq3,?,c,pink\n")
    (tmp_path / "ana.csv").write_text("id,label\nq1,red\nq2,green\nq3,pink\n")
    figures = {}
    for scale in ("red/green/blue/pink/grey", "red|green|blue|pink|grey"):
        run = tmp_path / scale[3:4].replace("/", "ordered")
        code, _, err = greval_says(
            "import", tmp_path / "v.csv", "--scale", scale, "--name", "hue", "--column", "value=v", "-o", run
        )
        assert code == 0
        assert ("write 'red|green|blue|pink|grey' if they have no order" in err) == ("/" in scale)
        for words in ((), ("--treat-as", "unordered")):
            _, out, _ = greval_says("agreement", run, tmp_path / "ana.csv", "--format", "json", *words)
            judge = json.loads(out)["groups"][0]["judge"]
            figures[scale[3], words] = judge["distance"], judge["figures"]
            _, text, _ = greval_says("agreement", run, tmp_path / "ana.csv", *words)
            assert f"Krippendorff's alpha ({judge['distance']})" in text
            assert "Krippendorff's alpha (nominal)" in text
            assert "Cohen's kappa (unweighted)" in text
            assert ("kappa, linear weights" in text) == (judge["distance"] == "ordinal")
    ordered, *unordered = figures.values()
    assert ordered[0] == "ordinal"
    assert ordered[1]["alpha"]["value"] == pytest.approx(94 / 99)
    assert ordered[1]["alpha nominal"]["value"] == pytest.approx(8 / 13)
    assert {(distance, round(values["alpha"]["value"], 4)) for distance, values in unordered} == {("nominal", 0.6154)}


def test_labels_need_no_more_than_ids_and_values(run, read_agreement, greval_says, tmp_path):
    """A file of ids and labels, named after the run, has the figures of full annotations."""
    labels = (f"q{n},{value},{who}" for who, values in (("ana", ANA), ("bob", BOB)) for n, value in enumerate(values))
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["id,human_label,rater", *labels]).replace("Relevant", "relevant"), encoding="utf-8")
    annotated, labelled = read_agreement(), read_agreement(path)
    assert (labelled.groups, labelled.verdict) == (annotated.groups, annotated.verdict)
    assert "What this means: " in greval_says("agreement", run, path)[1]
