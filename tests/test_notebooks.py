"""The notebooks of the documentation run as they stand, without a key and without a network."""

import pytest
from doc_pages import ROOT
from notebooks import check_notebook, run_cell


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_give(path, tmp_path, monkeypatch):
    """Every cell runs after the cells before it, and shows the tables and plots that are stored with it."""
    monkeypatch.chdir(tmp_path)
    check_notebook(path)


def test_the_outputs_of_a_cell_are_what_it_prints_and_its_last_value():
    """What a cell prints comes first, then the value of its last line; an assignment has no value."""
    printed, value = run_cell("print('a')\n[1]", {}, 3)
    assert printed["text"] == ["a\n"]
    assert value["data"] == {"text/plain": ["[1]"]}
    assert value["execution_count"] == 3
    assert run_cell("one = 1", {}, 1) == []
