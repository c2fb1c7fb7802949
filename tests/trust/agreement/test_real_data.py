"""Agreement on human labels, made up and published: the figures of their reference files."""

import agreed_runs
import pytest
from agreed_runs import SHIFT, defined, said, write
from compared_runs import content, rows

from greval import build_scale_metric, import_verdicts
from greval.errors import DataError
from greval.records.scale import CategoricalScale
from greval.trust.agreement.api import agreement

NQ = "nq301_answer_judgments"
PAIRS = "ragchecker_meta_eval_70"
LABELS = {"Yes": "correct", "No": "incorrect"}
CORRECT = defined("correctness", CategoricalScale.model_validate({"categories": dict.fromkeys(LABELS.values(), "")}))
agreed_runs.METRICS[CORRECT.name] = CORRECT


@pytest.fixture(scope="module", params=["judge_gpt4", "judge_davinci003", "judge_bem"])
def recorded(request, data_set, tmp_path_factory):
    """Give the agreement of a recorded judge with the three annotators, and its reference."""
    data = rows(data_set(NQ) / "judgments.jsonl")
    questions = [str(row["question_id"]) for row in data]
    verdicts = [row[request.param] if row[request.param] in LABELS.values() else None for row in data]
    texts = [row["answer"] for row in data]
    run = write(tmp_path_factory.mktemp("nq") / "run", CORRECT.name, verdicts, questions=questions, texts=texts)
    annotations = [
        one
        for who in ("annotator1", "annotator2", "annotator3")
        for one in said(CORRECT.name, who, [LABELS.get(row[who]) for row in data], questions=questions)
    ]
    return agreement(run, CORRECT.name, annotations), content(data_set(NQ) / "reference.json"), request.param


def test_recorded_judges_have_their_reference_figures(recorded):
    """Accuracy, kappa, precision, recall, F1 of each class, macro F1 and the confusion matrix are the reference's."""
    found, reference, name = recorded
    judge, expected = found.groups[0].judge, reference["judgments"][name]
    assert found.groups[0].things == expected["n"]
    for ours, theirs in (("accuracy", "accuracy"), ("kappa", "kappa"), ("macro f1", "macro_f1")):
        assert judge.figures[ours].value == pytest.approx(expected[theirs], abs=1e-12)
    for figures_of_class in judge.classes:
        for part in ("precision", "recall", "f1"):
            assert getattr(figures_of_class, part).value == pytest.approx(
                expected[part][figures_of_class.name], abs=1e-12
            )
    assert judge.confusion == tuple(map(tuple, expected["confusion_rows_human_cols_judge_correct_incorrect"]))


def test_annotators_have_their_reference_agreement(recorded):
    """The first two annotators' kappa is the reference's, over the things that the judge gave a verdict on."""
    found, reference, name = recorded
    pair = found.groups[0].people.pairs[0]
    assert pair.annotators == ("annotator1", "annotator2")
    if name == "judge_gpt4":  # two of the answers have no verdict
        assert pair.n == reference["inter_annotator"]["n"] - 2
        return
    assert pair.n == reference["inter_annotator"]["n"]
    assert pair.figures["kappa"].value == pytest.approx(reference["inter_annotator"]["kappa"], abs=1e-12)
    assert pair.figures["accuracy"].value == pytest.approx(reference["inter_annotator"]["raw_agreement"], abs=1e-12)


def test_the_floor_and_the_questions_are_there(data_set, recorded):
    """Length alone is far below each judge, the referee is told, and intervals by question are the wider ones."""
    found, _, _ = recorded
    overall = found.groups[0]
    kappa = overall.judge.figures["kappa"]
    assert overall.questions == len({row["question_id"] for row in rows(data_set(NQ) / "judgments.jsonl")})
    assert kappa.clustered.high - kappa.clustered.low > kappa.interval.high - kappa.interval.low
    constant, length = overall.baselines
    assert constant.figures["accuracy"].value < 0.56
    assert length.figures["kappa"].interval.high < kappa.interval.low
    assert any("annotator3 was asked mostly where others disagree" in line for line in found.warnings)


@pytest.mark.parametrize("aspect", ["correctness", "completeness", "overall"])
def test_correlations_of_answer_pairs_are_the_references(data_set, aspect, tmp_path):
    """The judge's difference of two answers correlates with all labels of both people as the reference says."""
    folder = data_set(PAIRS)
    data, expected = rows(folder / "pairs.jsonl"), content(folder / "reference.json")[aspect]
    scores = [row["judge_ragchecker"][aspect] for row in data]
    verdicts = [(pair["b"] - pair["a"]) if isinstance(pair, dict) else pair[1] - pair[0] for pair in scores]
    run = write(tmp_path / "run", SHIFT.name, verdicts)
    annotations = [
        label
        for n, who in enumerate("ab")
        for label in said(SHIFT.name, who, [row["human"][aspect][n] for row in data])
    ]
    group = agreement(run, SHIFT.name, annotations, combine="each").groups[0]
    assert group.judge.people.n == 2 * len(data)
    for name in ("pearson", "spearman"):
        assert group.judge.figures[name].value == pytest.approx(expected[f"judge_delta_vs_human_{name}"], abs=1e-9)
    assert group.people.pairs[0].figures["pearson"].value == pytest.approx(expected["annotators_pearson"], abs=1e-9)


def test_labels_in_the_cases_need_no_file(data_set, tmp_path):
    """Short columns of the cases are tags, and a tag may be a label."""
    file = data_set(NQ) / "judgments.jsonl"
    right = build_scale_metric("right", "correct/incorrect")
    run = import_verdicts(file, [right], out=tmp_path / "run", columns={"value": "judge_bem"})
    from_tags = agreement(run, "right", label_columns="annotator1")
    from_file = agreement(run, "right", file, label_columns=["annotator1"])
    assert from_tags.annotators == from_file.annotators == ("annotator1",)
    assert from_tags.groups[0].judge == from_file.groups[0].judge
    with pytest.raises(DataError, match="annotator9"):
        agreement(run, "right", label_columns=["annotator9"])
