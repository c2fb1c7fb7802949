"""What `import greval` costs and gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import greval
import greval.argilla
import greval.ranking

ROOT = Path(greval.__file__).parents[1]
HEAVY = ("pandas", "sklearn", "argilla", "fastapi", "openai", "langserve", "langchain_openai", "matplotlib", "polars")
EXTRA = (
    *HEAVY,
    "pytrec_eval",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "xllamacpp",
    "pyarrow",
    "ray",
    "opentelemetry",
    "scipy",
)
MOST_MODULES = 100
"""It loads about thirty; pydantic alone would be more than a hundred."""


def python(code, folder):
    """Run code in a fresh interpreter, in an empty folder that is also its home; give what it printed."""
    surroundings = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=surroundings, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_import_is_quick(tmp_path):
    """`import greval` loads few modules beyond what Python itself loads: a name is loaded when it is used."""
    code = "import sys; before = len(sys.modules); import greval; print(len(sys.modules) - before)"
    assert int(python(code, tmp_path)) < MOST_MODULES


@pytest.mark.parametrize("statement", ["import greval", "from greval import compile_metric, Judge, CategoricalMetric"])
def test_an_import_loads_nothing_heavy_and_writes_nothing(statement, tmp_path):
    """The usual imports load no heavy package and write no file."""
    code = f"import json, sys; {statement}; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    assert json.loads(python(code, tmp_path)) == []
    assert [*tmp_path.iterdir()] == []


def test_the_command_line_needs_no_extra(tmp_path):
    """Every command is there where none of the optional packages is installed."""
    gone = f"import sys; sys.modules.update(dict.fromkeys({EXTRA})); sys.argv = ['greval', '--help']"
    assert "serve" in python(f"{gone}; from greval.cli import main; main()", tmp_path)


def test_public_names_are_sorted_and_there():
    """`__all__` is sorted, and every name of it is importable, listed by dir and told of in its docstring."""
    assert list(greval.__all__) == sorted(greval.__all__)
    assert set(greval.__all__) <= set(dir(greval))
    assert [name for name in greval.__all__ if not getattr(greval, name).__doc__] == []


def test_functions_for_objects_of_the_sdk_are_documented():
    """Each name of `greval.argilla` is sorted, has a docstring, and is in the table of its page and of the SDK's."""
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("argilla.md", "sdk.md")]
    assert [*greval.argilla.__all__] == sorted(greval.argilla.__all__)
    for name in greval.argilla.__all__:
        assert getattr(greval.argilla, name).__doc__
        assert f"| `{name}(" in pages[0], name
        assert f"`{name}`" in pages[1], name


def test_names_of_rankings_are_documented():
    """Each name of `greval.ranking` is sorted, has a docstring, and is in the table of the SDK's page."""
    page = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
    assert [*greval.ranking.__all__] == sorted(greval.ranking.__all__)
    for name in greval.ranking.__all__:
        assert getattr(greval.ranking, name).__doc__
        assert f"`{name}" in page, name


def test_an_unknown_name_is_an_attribute_error():
    """A name that greval does not have is told as by any module."""
    with pytest.raises(AttributeError, match="No greval attribute Juge"):
        _ = greval.Juge


def test_no_public_name_is_that_of_a_module():
    """No module or folder of the package has a public name: importing it would hide what has the name."""
    modules = {path.stem for path in (ROOT / "greval").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules & set(greval.__all__) == set()
