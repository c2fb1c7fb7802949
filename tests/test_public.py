"""What `import greval` costs and gives."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from public_faces import FACES, PARTS

import greval
from greval.apps import EXTRAS

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
WITHOUT_EXTRAS = f"import sys; sys.modules.update(dict.fromkeys({EXTRA}))"
APPS = [name for name in FACES if name in EXTRAS]
MOST_NAMES = 70
"""Public names of `greval` itself; what fewer scripts need is public in its part."""
MOST_MODULES = 100
"""It loads about thirty; pydantic alone would be more than a hundred."""


def python(code, folder):
    """Run code in a fresh interpreter, in an empty folder that is also its home; give what it printed."""
    surroundings = {
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
    }
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
    code = f"{WITHOUT_EXTRAS}; sys.argv = ['greval', '--help']; from greval.cli import main; main()"
    assert "serve" in python(code, tmp_path)


def test_all_names_are_imported_without_extras(tmp_path):
    """`from greval import *`, and the same of the other faces, works where no optional package is installed."""
    faces = [name for name in FACES if name != "greval.serve"]
    imports = "\n".join(f"from {name} import *" for name in faces)
    names = sorted({public for name in faces for public in FACES[name].__all__})
    assert python(f"{WITHOUT_EXTRAS}\n{imports}\nprint({{*{names}}} - {{*vars()}})", tmp_path) == "set()\n"


@pytest.mark.parametrize("name", [name for name in APPS if name == "greval.serve"])
def test_a_name_that_needs_an_extra_says_which(name, tmp_path):
    """The server is imported without FastAPI; only the function that makes its app needs it."""
    code = f"""
{WITHOUT_EXTRAS}
import {name} as face
from greval.errors import MissingExtraError
for public in face.__all__:
    try:
        getattr(face, public)
    except MissingExtraError as error:
        print(public, error)
"""
    assert python(code, tmp_path) == "create_app fastapi is not installed: pip install 'greval[server]'\n"


@pytest.mark.parametrize("name", FACES)
def test_public_names_are_sorted_and_there(name):
    """`__all__` is sorted, and every name of it is importable, listed by dir and described by its docstring."""
    face = FACES[name]
    assert list(face.__all__) == sorted(face.__all__)
    assert set(face.__all__) <= set(dir(face))
    assert [public for public in face.__all__ if not getattr(face, public).__doc__] == []


@pytest.mark.parametrize("name", ["greval", *PARTS])
def test_the_stub_lists_what_it_imports(name):
    """Editors and type checkers offer the names that can be imported."""
    stub = Path(FACES[name].__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert sorted(re.findall(r'^    "(\w+)",$', stub, re.MULTILINE)) == FACES[name].__all__


def test_few_names_are_at_the_root():
    """`greval` itself has the names that most scripts need, and no name is public in two places."""
    assert len(greval.__all__) <= MOST_NAMES
    faces = (face.__all__ for name, face in FACES.items() if name != "greval.argilla")
    assert [name for name, count in Counter(chain.from_iterable(faces)).items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "page"), [("greval.argilla", "argilla"), ("greval.argilla", "sdk"), ("greval.ranking", "sdk")]
)
def test_functions_of_a_face_are_on_its_pages(name, page):
    """Each function of a face that a few users import is on its page and on that of the SDK."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert [public for public in FACES[name].__all__ if f"`{public}" not in text] == []


def test_an_unknown_name_is_an_attribute_error():
    """A name that greval does not have is told as by any module."""
    with pytest.raises(AttributeError, match="No greval attribute Juge"):
        _ = greval.Juge


@pytest.mark.parametrize("name", ["greval", *PARTS])
def test_no_public_name_is_that_of_a_module(name):
    """No module or folder of a package has a public name of it: importing the module would hide what has the name."""
    folder = Path(FACES[name].__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules & set(FACES[name].__all__) == set()
