"""Judges that rules of one line beat: 60 passages and 40 short answers of published questions."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from compared_runs import rows
from report_page import print_page

from greval import Annotation, ComputedMetric, Judgement, build_scale_metric, compile_metric, import_verdicts
from greval.metrics.library import load_metric
from greval.records.scale import MeasureScale
from greval.report.agreement import format_verdict, render
from greval.trust.agreement.api import agreement

published = pytest.mark.parametrize(
    "data_set", [pytest.param("published", marks=pytest.mark.published)], indirect=True, scope="session"
)
TITLE = ComputedMetric(
    name="title_in_question",
    description="The title is in the question.",
    over="chunks",
    needs=["chunks"],
    optional=["question"],
    scale=MeasureScale(high=1.0),
    compute=lambda case: [
        Judgement(value=chunk.id.split(" (")[0].casefold() in case.question.casefold(), reason="r", item=chunk.id)
        for chunk in case.chunks
    ],
)


@pytest.fixture
def passages(data_set, tmp_path):
    """Give a run of a judge that is right on two of three of 60 passages, and their labels."""
    folder = data_set("multihop_2wiki_51_systems")
    texts = {row["title"]: row["text"] for row in rows(folder / "passages.jsonl")}
    rng = random.Random(5)
    judged, labels = [], []
    for row in rows(folder / "questions.jsonl")[:12]:
        titles = [title for title in row["retrieved"]["vectordb"] if title in texts][:5]
        chunks = [{"id": title, "text": texts[title]} for title in titles]
        for title in titles:
            is_gold = title in row["gold_titles"]
            value, verdict = (
                ("Irrelevant", "Relevant")[right] for right in (is_gold, is_gold == (rng.random() < 0.68))
            )
            judged.append(
                {"id": row["id"], "question": row["question"], "chunks": chunks, "item": title, "given": verdict}
            )
            labels.append(Annotation(sample_id=row["id"], metric="useful", item=title, annotator="gold", value=value))
    metric = build_scale_metric("useful", "Relevant/Irrelevant", over="chunks")
    run = import_verdicts(judged, [metric], out=tmp_path / "run", columns={"value": "given", "item": "item"})
    return run, labels


@published
def test_counting_shared_words_beats_a_judge_of_passages(passages):
    """Of 60 passages the words of the question tell more than the judge; the metric to use is printed."""
    found = agreement(passages[0], "useful", passages[1])
    judge, words = found.groups[0].judge.figures, found.groups[0].baselines[-1].figures
    assert found.groups[0].things == 60
    assert words["kappa"].value > judge["kappa"].value
    assert words["f1 of Relevant"].value > judge["f1 of Relevant"].value
    assert format_verdict(found).startswith(
        "What this means: a rule of one line does better than the judge: use it (words of the question in the chunk"
    )
    assert "greval evaluate CASES -m chunk_words@0." in print_page(render, found)


@published
def test_a_rule_of_the_user_beats_a_judge_of_passages(passages):
    """The title is in the question: a better rule is named in place of shared words, and the judge not to be used."""
    found = agreement(passages[0], "useful", passages[1], floors=[TITLE])
    assert found.verdict.best_floor == "title_in_question"
    assert found.verdict.use == "nothing"
    assert "a rule of one line does better than the judge: use it (title_in_question" in format_verdict(found)


@published
def test_words_of_the_expected_answer_beat_a_judge_of_answers(data_set, tmp_path):
    """Of 40 short answers, half of them those of other questions, the printed metric decides better than the judge."""
    asked = [
        row for row in rows(data_set("multihop_hotpotqa_100") / "questions.jsonl") if len(row["answer"].split()) > 1
    ]
    cases, labels = [], []
    for n, (row, other) in enumerate(pairwise(asked[:41])):
        value, answer = ("wrong", other["answer"]) if n % 2 else ("right", f"It is {row['answer']}.")
        verdict = {"right": "wrong", "wrong": "right"}[value] if n % 8 == 0 else value
        case = {"id": row["id"], "question": row["question"], "expected_answer": row["answer"], "answer": answer}
        cases.append(case | {"given": verdict})
        labels.append(Annotation(sample_id=row["id"], metric="correct", annotator="made", value=value))
    metric = build_scale_metric("correct", "right/wrong")
    run = import_verdicts(cases, [metric], out=tmp_path / "run", columns={"value": "given"})
    found = agreement(run, "correct", labels)
    assert found.groups[0].judge.figures["kappa"].value == pytest.approx(0.75)
    assert "use it (words of the expected answer in the answer" in format_verdict(found)
    page = print_page(render, found, width=200)
    file = tmp_path / "correct_by_rule.yaml"
    file.write_text(page[page.index("name: ") : page.index("\nPeople:")], encoding="utf-8")
    rule = compile_metric(load_metric(str(file)))
    values = [rule.invoke({key: text for key, text in case.items() if key != "given"}).value for case in cases]
    right = sum(value == (label.value == "right") for value, label in zip(values, labels, strict=True))
    assert right >= 38
