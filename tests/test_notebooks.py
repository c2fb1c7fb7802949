"""The notebooks of the documentation run as they stand, without a key and without a network."""

from __future__ import annotations

import ast
import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT

DISPLAYS = {"_repr_html_": "text/html", "_repr_svg_": "image/svg+xml"}
"""How Jupyter asks a value for what it shows, and the type of the answer."""


def check_notebook(path: Path) -> None:
    """Run a notebook in the current folder and compare its outputs, or write them."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    writes = bool(os.environ.get("GREVAL_WRITE_GOLDEN"))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    for number, cell in enumerate(code, 1):
        outputs = run_cell("".join(cell["source"]), namespace, number)
        if writes:
            cell["outputs"], cell["execution_count"] = outputs, number
        assert cell["outputs"] == outputs, f"{path.name}, cell {number}: look at the difference, then make golden"
    if writes:
        path.write_text(f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n", encoding="utf-8")


def run_cell(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell and return its outputs as a notebook stores them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), namespace)  # noqa: S102 - our own notebook
        value = eval(ast.unparse(last), namespace) if last else None  # noqa: S307 - our own notebook
    stream = {"name": "stdout", "output_type": "stream", "text": split(printed.getvalue())}
    shown = {"data": show(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"}
    return [*([stream] if stream["text"] else []), *([shown] if value is not None else [])]


def show(value: object) -> dict[str, list[str]]:
    """Return what Jupyter shows of a value, by type; its text only if there is no other."""
    found = {kind: getattr(value, name)() for name, kind in DISPLAYS.items() if hasattr(value, name)}
    kinds = {kind: split(text) for kind, text in found.items() if text}
    return kinds or {"text/plain": split(repr(value))}


def split(text: str) -> list[str]:
    """Return the lines of a text with their ends, as a notebook stores them."""
    return text.splitlines(keepends=True)


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
