"""Checks of metric files: each file with its metric or its faults, as its use would have them."""

from __future__ import annotations

import pytest

from greval.errors import DefinitionError
from greval.metrics.file_check import check_metrics
from greval.metrics.sources import load_metrics

GOOD = """\
name: tone
description: Is it polite?
needs: [answer]
steps: [Read.]
scale: {range: [0, 1], better: higher, levels: {0: Rude., 1: Polite.}}
"""
BUILDS = "needs: [answer, chunks]\nuses: {chunks: {judged_by: kind, as: [Good]}}\n"


def write(folder, name, text=GOOD):
    (folder / name).write_text(text.replace("tone", name.partition(".")[0], 1), encoding="utf-8")


def test_each_file_is_by_itself(tmp_path):
    """A faulty file is a row with its faults, and takes nothing away from the others."""
    write(tmp_path, "good.yaml")
    write(tmp_path, "broken.yaml", GOOD.replace("steps", "stepps"))
    (tmp_path / "renamed.yaml").write_text(GOOD, encoding="utf-8")
    write(tmp_path, "above.yaml", GOOD.replace("needs: [answer]\n", BUILDS))
    write(tmp_path, "wrong.yml")
    checked_by_name = {checked.name: checked for checked in check_metrics(tmp_path)}
    assert {name for name, checked in checked_by_name.items() if checked.metric} == {"good"}
    assert checked_by_name["renamed"].faults == (
        f"{tmp_path / 'renamed.yaml'}: name: is 'tone', but the file's is 'renamed'; make them equal",
    )
    assert len(checked_by_name["broken"].faults) == 2
    assert "builds on kind: no such metric" in checked_by_name["above"].faults[0]
    assert checked_by_name["wrong"].faults == (f"{tmp_path / 'wrong.yml'}: metric files end in .yaml; rename it",)


@pytest.mark.parametrize("name", ["good.yaml", "broken.yaml", "renamed.yaml", "above.yaml", "wrong.yml"])
def test_what_is_good_can_be_used_and_what_is_faulty_cannot(tmp_path, name):
    """A folder is good for the check exactly if `load_metrics` takes it."""
    texts = {"broken.yaml": GOOD.replace("steps", "stepps"), "above.yaml": GOOD.replace("needs: [answer]\n", BUILDS)}
    write(tmp_path, "other.yaml")
    if name == "renamed.yaml":
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    else:
        write(tmp_path, name, texts.get(name, GOOD))
    if all(entry.metric for entry in check_metrics(tmp_path)):
        assert {entry.name for entry in load_metrics([tmp_path])} == {"good", "other"}
    else:
        with pytest.raises(DefinitionError):
            load_metrics([tmp_path])


def test_python_and_single_files(tmp_path):
    """A single file may have any name, and a Python file gives one entry for each metric."""
    (tmp_path / "draft.yaml").write_text(GOOD, encoding="utf-8")
    assert [checked.metric.name for checked in check_metrics(tmp_path / "draft.yaml")] == ["tone"]
    code = f"import greval\none = greval.parse_metric({GOOD!r})\nlength = lambda answer: len(answer)\n"
    (tmp_path / "own.py").write_text(code, encoding="utf-8")
    assert [checked.place for checked in check_metrics(f"{tmp_path}/own.py:length")] == [f"{tmp_path}/own.py:length"]
    assert [checked.name for checked in check_metrics(f"{tmp_path}/own.py")] == ["tone"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DefinitionError, match="no metric file"):
        check_metrics(tmp_path / "empty")
