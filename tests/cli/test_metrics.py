"""`greval metrics`: list, show, check and draft."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import TONE, judged_by
from fault_server import gives

import greval
from greval.metrics.library import predefined

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_metrics_list_and_show(greval_says, monkeypatch):
    """The predefined metrics are listed, no name cut for a file, and shown as files that are read back the same."""
    monkeypatch.delenv("COLUMNS")
    code, out, _ = greval_says("metrics", "list")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines() if re.match(r"[a-z]", line)} >= set(predefined())
    definition = greval_says("metrics", "show", "answer_completeness")[1]
    assert greval.parse_metric(definition) == greval.load_metric("answer_completeness")
    assert "computed: true" in greval_says("metrics", "show", "latency")[1]


MIXED = """\
name: mixed
description: Right and deep.
formula: 0.5 * correctness + 0.5 * depth
metrics: {depth: tone}
scale: {low: 0, high: 5}
"""


def test_metrics_check_remarks_on_mixed_scales(greval_says):
    """A formula over metrics of different scales gets a remark with both scales, in a file and in Python."""
    Path("m").mkdir()
    Path("m/tone.yaml").write_text(TONE.replace("score: 1", "score: 5"), encoding="utf-8")
    Path("m/mixed.yaml").write_text(MIXED, encoding="utf-8")
    Path("own.py").write_text(
        'from greval import FormulaMetric\n\nquick = FormulaMetric(name="quick", description="d", '
        'formula="mean(correctness, latency)")\n',
        encoding="utf-8",
    )
    remark = "formula: column 1: mixes correctness (0 to 1) with depth (0 to 5); write scaled(depth, 0, 5)"
    for spec in ("m", "m/mixed.yaml"):
        code, out, _ = greval_says("metrics", "check", spec)
        assert code == 0
        assert f"m/mixed.yaml:3: {remark}" in " ".join(out.split())
    code, out, _ = greval_says("metrics", "check", "own.py")
    assert "mixes correctness (0 to 1) with latency (0 and more s); write scaled(latency, A, B)" in " ".join(
        out.split()
    )


def test_metrics_draft_prints_a_file(greval_says, fault_server):
    """A draft is a metric file on stdout, with the request to review it on stderr."""
    fault_server.plan = lambda _: gives(WRITTEN)
    words = ["metrics", "draft", "depth", "How deep it goes.", "--scale", "value", *judged_by(fault_server)]
    code, out, err = greval_says(*words, "--no-check")
    assert code == 0
    assert greval.parse_metric(out).scale.range == (1, 5)
    assert "# drafted with openai:m: review it before use" in err
    assert re.search(r"# spent: 1 call, \d+ input tokens, \d+ output tokens, cost unknown", err)
    assert "# not tried on examples (--no-check)" in err
    assert "left" not in err
    assert "# good" not in err


@pytest.mark.parametrize(("values", "is_good"), [((5, 1), True), ((3, 3), False)])
def test_metrics_draft_calls_good_what_separates_examples(greval_says, fault_server, values, is_good):
    """A draft is called good if the model's good examples get more than its bad ones; what was spent has all calls."""
    texts = {"question": "What is it?", "best_answer": "A deep one.", "worst_answer": "A flat one."}

    def answer(body):
        name = body["response_format"]["json_schema"]["name"]
        value = values["flat" in body["messages"][-1]["content"]]
        return gives({"metric": WRITTEN, "example": texts}.get(name, {"reason": "It is so.", "value": value}))

    fault_server.plan = answer
    words = ["metrics", "draft", "depth", "How deep the answer goes.", "--scale", "value", *judged_by(fault_server)]
    code, out, err = greval_says(*words)
    assert (code, greval.parse_metric(out).name) == (0, "depth")
    assert "# spent: 13 calls" in err
    good = "# good: no remark is left, and each good example that it was tried on got more than the bad one"
    remark = "# planted pairs: the good example got the better value in 0 of 3; read the descriptions"
    assert ((good in err), (remark in err)) == (is_good, not is_good)


def test_metrics_draft_lists_remaining_remarks(greval_says, fault_server):
    """A writer that does not mend its faults is asked a bounded number of times, and what is left is named."""
    levels = [{"level": n, "means": f"Level {n} of it, told from"} for n in (0, 1)]
    fault_server.plan = lambda _: gives(WRITTEN | {"levels": levels})
    words = ["metrics", "draft", "depth", "How deep it goes.", "--scale", "0..1", *judged_by(fault_server)]
    code, out, err = greval_says(*words, "--no-check")
    assert code == 0
    assert greval.parse_metric(out).scale.range == (0, 1)
    assert "# spent: 2 calls" in err
    assert "# 2 remarks left, which you can mend in the file:" in err
    assert "# scale.levels.0: does not end as a sentence; write whole sentences" in err


def test_check_and_list_agree_about_a_folder(greval_says):
    """A file of another name and a broken one are faulty for both, and the rest is good for both."""
    Path("m").mkdir()
    Path("m/tone.yaml").write_text(TONE, encoding="utf-8")
    Path("m/other.yaml").write_text(TONE, encoding="utf-8")
    Path("m/broken.yaml").write_text(TONE.replace("steps:", "stepps:"), encoding="utf-8")
    checked, listed = greval_says("metrics", "check", "m"), greval_says("metrics", "list", "--library", "m")
    assert checked[0] == listed[0] == 2
    assert checked[2] == listed[2]
    assert "m/other.yaml: name: is 'tone', but the file's is 'other'" in checked[2]
    rows = {line.split()[0]: line for line in listed[1].splitlines() if line.strip()}
    assert "faulty" in rows["other"]
    assert "faulty" in rows["broken"]
    assert "Polite, Rude" in rows["tone"]
    assert rows.keys() >= set(predefined())
    assert "m/tone.yaml: good" in checked[1]


def test_a_single_file_of_another_name_is_good_with_a_remark(greval_says):
    """It can be named by its path, but would not be found by its name in a folder."""
    Path("draft.yaml").write_text(TONE, encoding="utf-8")
    code, out, _ = greval_says("metrics", "check", "draft.yaml")
    assert code == 0
    assert "name: is 'tone'; in a folder, the file must be called tone.yaml" in out


WRITTEN = {
    "needs": ["answer"],
    "steps": ["Read the answer."],
    "instructions": "",
    "levels": [{"level": n, "means": f"Level {n} of it, apart from its neighbours."} for n in range(1, 6)],
}


def test_a_draft_is_written_to_a_file_with_its_schema(greval_says, fault_server):
    """`-o` writes the file and the schema that its first line names; both are used as they are."""
    fault_server.plan = lambda _: gives(WRITTEN)
    words = ["metrics", "draft", "depth", "How deep it goes.", "--scale", "value", *judged_by(fault_server)]
    Path("m").mkdir()
    code, out, err = greval_says(*words, "-o", "m", "--no-check")
    assert code == 0
    assert out == "m/depth.yaml: written, with metric.schema.json beside it for editors\n"
    assert "review it before use" in err
    text = Path("m/depth.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=metric.schema.json\n")
    shipped = Path(greval.__file__).parents[1] / "metric_library/metric.schema.json"
    assert Path("m/metric.schema.json").read_text(encoding="utf-8") == shipped.read_text(encoding="utf-8")
    assert greval.load_metric("depth", "m").scale.range == (1, 5)


def test_a_draft_that_fails_leaves_no_file(greval_says, fault_server, empty_folder):
    """An unusable draft writes nothing."""
    fault_server.plan = lambda _: gives({"nothing": 1})
    words = ("metrics", "draft", "depth", "How deep it goes.", *judged_by(fault_server), "-o", "depth.yaml")
    assert greval_says(*words)[0] != 0
    assert fault_server.calls > 0
    assert [*empty_folder.iterdir()] == []


def test_the_list_has_the_first_sentence_of_a_description(greval_says):
    """The list has one sentence on each metric; the whole description is in its definition."""
    description = greval.load_metric("answer_alignment").description
    first = description.partition(". ")[0]
    assert description != f"{first}."
    listed = " ".join(greval_says("metrics", "list")[1].split())
    later_words = description.removeprefix(f"{first}. ").split()[:6]
    assert " ".join(later_words) not in listed
    assert " ".join(first.split()[:3]) in listed


def test_the_list_breaks_no_word_at_80_columns(greval_says, monkeypatch):
    """At 80 columns each word of the list is whole, and no line is longer."""
    monkeypatch.setenv("COLUMNS", "80")
    narrow = greval_says("metrics", "list")[1]
    assert max(map(len, narrow.splitlines())) <= 80
    assert {*predefined()} <= {*narrow.split()}
    monkeypatch.setenv("COLUMNS", "400")
    assert {*narrow.split()} <= {*greval_says("metrics", "list")[1].split()}
