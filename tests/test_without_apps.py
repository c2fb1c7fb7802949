"""The core in a copy of the package without the folders of the apps; `make test-nightly` runs its tests in one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from command_line import case, judged_by, write
from doc_pages import ROOT
from fault_server import KEY

from greval.apps import EXTRAS

IMPORT_ALL = """
from importlib import import_module
from pkgutil import walk_packages
import greval
names = [module.name for module in walk_packages(greval.__path__, "greval.") if not module.name.endswith("__main__")]
print(greval.__file__, *(import_module(name).__name__ for name in names))
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Copy the package and its metric files without the apps."""
    folder = tmp_path_factory.mktemp("core")
    apps = [name.removeprefix("greval.") for name in EXTRAS]
    shutil.copytree(ROOT / "metric_library", folder / "metric_library")
    shutil.copytree(ROOT / "greval", folder / "greval", ignore=shutil.ignore_patterns("__pycache__", *apps))
    return folder


@pytest.fixture
def python(core, empty_folder):
    """Return a function that runs Python with the copy in an empty folder."""

    def run(*words):
        surroundings = {**os.environ, "HOME": str(empty_folder), "OPENAI_API_KEY": KEY, "PYTHONPATH": str(core)}
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False)

    return run


def test_every_module_of_the_core_is_imported(core, python):
    """No module of the core needs an app."""
    done = python("-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    path, *names = done.stdout.split()
    assert path == str(core / "greval" / "__init__.py")
    assert {"greval.cli.evaluate", "greval.report.html.page", "greval.trust.agreement.api"} <= {*names}
    assert [name for name in names if name.startswith(tuple(EXTRAS))] == []


def test_cases_are_judged_without_the_apps(python, fault_server):
    """`greval evaluate` judges cases with a model, and `greval report` reads the run."""
    cases = write("cases.jsonl", [case(1), case(2)])
    judging = python("-m", "greval", "evaluate", cases, "-m", "correctness", *judged_by(fault_server), "-o", "run")
    assert judging.returncode == 0, judging.stderr
    assert fault_server.calls == 2
    report = python("-m", "greval", "report", "run", "--format", "json")
    assert report.returncode == 0, report.stderr
    assert '"scored": 2' in report.stdout


@pytest.mark.parametrize(
    ("command", "extra"), [("index", "reference"), ("questions", "reference"), ("serve", "server")]
)
def test_a_command_of_an_app_says_which_extra_to_install(python, command, extra):
    """Without the folder of an app, its commands are usage errors that name the extra."""
    done = python("-m", "greval", command)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"pip install 'greval[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
