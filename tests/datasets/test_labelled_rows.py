"""Files of values for cases: the columns are found by the names that people and tools give them, or are named."""

import json

import pytest

from greval.datasets.labelled_rows import LABEL_NAMES, list_metric_names, read_labelled_rows
from greval.errors import DataError

FIELDS = {name: LABEL_NAMES[name] for name in ("id", "value", "reason")}


def write(folder, name, text):
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.csv", "Sample ID,Rating,Explanation\nq1,3,Good.\n"),
        ("v.csv", "\ufeffsample_id;human_label;comment\nq1;3;Good.\n"),
        ("v.tsv", "question_id\tscore\trationale\nq1\t3\tGood.\n"),
        ("v.csv", "case_id,Verdict,reason\nq1,3,Good.\n".encode("utf-16")),
        ("v.jsonl", '{"query_id": "q1", "label": "3", "reasoning": "Good."}\n'),
        ("v.json", '{"results": [{"id": "q1", "grade": "3", "critique": "Good."}]}'),
    ],
)
def test_the_columns_have_the_names_that_people_give(tmp_path, name, text):
    """Delimiter, encoding and case do not matter."""
    labelled = read_labelled_rows(write(tmp_path, name, text), FIELDS)
    assert [dict(row.values) for row in labelled.rows] == [{"id": "q1", "value": "3", "reason": "Good."}]


def test_a_field_may_be_named_by_each_of_its_names(tmp_path):
    """`verdict` stands for the value; a name of a case stays what it is."""
    path = write(tmp_path, "v.csv", "id,gpt4,frage\nq1,3,Wer?\n")
    labelled = read_labelled_rows(path, FIELDS, {"Verdict": "gpt4", "question": "frage"})
    assert dict(labelled.rows[0].values) == {"id": "q1", "value": "3", "question": "Wer?"}


def test_named_columns_come_first_and_may_be_paths(tmp_path):
    """A column that is named is used in place of one with the field's own name."""
    path = write(tmp_path, "v.jsonl", '{"id": "q1", "value": 9, "judge": {"score": 2}}\n')
    labelled = read_labelled_rows(path, FIELDS, {"value": "judge.score"})
    assert labelled.rows[0].values == {"id": "q1", "value": 2}
    assert labelled.renamed == {"value": "judge.score"}


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("id,label,score\nq1,a,1\n", {}, "the value could be label or score; say which with columns={'value': 'NAME'}"),
        ("id,label\nq1,a\n", {"value": "scores"}, "'scores', which is to be value, is not there"),
        ("id,label\nq1,a\n", {"valeu": "label"}, "'valeu' is no field of a case; did you mean value"),
        ("", {}, "holds no rows"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path, text, columns, told):
    """Nothing is guessed if two columns could be the value, or the named one is not there."""
    with pytest.raises(DataError, match=told):
        read_labelled_rows(write(tmp_path, "v.csv", text), FIELDS, columns)


@pytest.mark.parametrize(
    "row",
    [
        {"metricsData": [{"name": "Faithfulness", "score": 0.5, "reason": "R.", "evaluationModel": "gpt-4"}]},
        {"metrics": {"faithfulness": {"score": 0.5, "reason": "R."}}},
        {"scores": {"faithfulness": 0.5}},
        {"feedback.faithfulness": 0.5},
        {"faithfulness/v1/score": 0.5},
        {"Faithfulness": 0.5},
    ],
)
def test_scores_of_other_tools_are_columns(tmp_path, row):
    """Scores in a list, in an object or under a prefix are found by the name of the metric."""
    path = write(tmp_path, "v.json", json.dumps({"test_results": [{"input": "Who?", **row}]}))
    labelled = read_labelled_rows(path, {"faithfulness": list_metric_names("faithfulness")})
    assert labelled.rows[0].values["faithfulness"] == 0.5


@pytest.mark.parametrize("name", ["reviewer", "Evaluator", "completed_by", "Worker ID"])
def test_the_column_of_people_is_found(name):
    """Labels of several people are not those of one, whose last label of an item would count."""
    rows = read_labelled_rows([{"id": "q1", "label": 1, name: "ana"}], LABEL_NAMES)
    assert rows.columns["annotator"] == name
