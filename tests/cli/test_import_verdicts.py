"""`greval import`: what it prints, which exit codes it has, and wrong uses in a line."""

import json

import pytest

FILE = "id,question,answer,verdict,why\nq1,Who?,Ada,yes,Right.\nq2,When?,1842,no,Wrong year.\nq3,Why?,So.,,\n"
SCALE = ("--scale", "yes/no", "--name", "right")


@pytest.fixture
def verdicts(tmp_path):
    """Write a file of three verdicts, one of them missing."""
    path = tmp_path / "v.csv"
    path.write_text(FILE)
    return path


def test_an_import_prints_the_report_and_what_was_read(verdicts, tmp_path, greval_says):
    """The columns, the counts, the report with its source, and the next commands; again, and nothing changes."""
    words = ("import", verdicts, *SCALE, "--column", "reason=why", "--judge", "gpt-4", "-o", tmp_path / "run")
    code, out, err = greval_says(*words)
    assert code == 0, err
    assert "read verdict as value, why as reason" in err
    assert "3 results imported" in err
    assert "judge imported:gpt-4" in out
    assert "right: imported from v.csv, judge as stated: gpt-4; greval judged none of these" in out
    assert "right: 1 skipped: the file holds no verdict" in out
    _, _, err = greval_says(*words)
    assert "0 results imported, 3 unchanged" in err
    code, out, _ = greval_says("report", tmp_path / "run", "--worst", "1", "--format", "json")
    report = json.loads(out)
    assert report["imported"] == [{"metric": "right", "judge": "gpt-4", "file": str(verdicts)}]
    assert report["worst"][0]["cases"][0]["question"] == "When?"


def test_a_value_off_the_scale_is_exit_code_3(verdicts, tmp_path, greval_says):
    """The line of the value is printed; no hint tells to ask a judge again."""
    verdicts.write_text("id,verdict\nq1,yes\nq2,perhaps\nq1,no\n")
    code, out, err = greval_says("import", verdicts, *SCALE, "-o", tmp_path / "run")
    assert code == 3
    assert "v.csv:3: 'perhaps' is not one of the categories" in err
    assert "not imported: " in err
    assert "has another verdict of right at" in err
    assert "correct the file and import it again" in out
    assert "run the same command" not in out + err


def test_verdicts_on_a_metric_of_greval_have_its_scale(verdicts, tmp_path, greval_says):
    """-m names the metric; yes and no are its two levels."""
    code, out, _ = greval_says("import", verdicts, "-m", "correctness", "-o", tmp_path / "run")
    assert code == 0
    assert "0: 1, 1: 1" in out
    assert "no judge was stated" in out
