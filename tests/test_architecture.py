"""The pages for contributors name what is there: parts, layers, paths, names, commands and decision records."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from doc_pages import FOR_CONTRIBUTORS, PAGES, ROOT
from ruamel.yaml import YAML

import greval

PACKAGE = Path(greval.__file__).parent
RECORDS = ROOT / "docs" / "design" / "decisions"
NAMED = (*FOR_CONTRIBUTORS, "docs/design/decisions/0021-twelve-parts.md")
"""The pages whose names of functions and classes are checked. Other decision records also name those of packages."""
ALL = sorted({*NAMED, *(page for page in PAGES if page.startswith("docs/design/"))})
SPAN = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)(\(\))?")
TEST = re.compile(r"\w+(?:::\w+)+")
FOLDERS = ("greval", "tests", "docs", "benchmarks", "metric_library")
UP_TO_THREE = 3
"""A word of capitals with fewer letters, such as YAML's own, is an abbreviation."""


def read(page):
    return PAGES[page].read_text(encoding="utf-8")


def section(page, title):
    return re.split(r"^## ", read(page).split(f"\n## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text):
    """Return the rows of the tables of a text as cells, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {n - 1 for n, line in enumerate(lines) if re.fullmatch(r"[|\- ]+", line)}
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for n, line in enumerate(lines)
        if n not in heads and n - 1 not in heads
    ]


def folders_of(folder):
    """Return the names of the folders within a folder that hold files of the package."""
    return {path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith(("__", "."))}


@cache
def list_definitions(path):
    """Return what a Python file defines in its order, each as `name` or `Class.name` with the kind of its node."""
    found = []

    def walk(node, prefix):
        for child in ast.iter_child_nodes(node):
            names = []
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [child.name]
            elif isinstance(child, ast.AnnAssign | ast.Assign):
                targets = [child.target] if isinstance(child, ast.AnnAssign) else child.targets
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            found.extend((f"{prefix}{name}", type(child)) for name in names)
            if isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.")

    walk(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def names_in(path):
    return {name for name, _ in list_definitions(path)}


@cache
def every_name():
    return {name for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*.py") for name in names_in(path)}


def is_name(span):
    """Return whether a span of code is to be read as a name of the package: a call, a class, or a constant."""
    found = NAME.fullmatch(span)
    if not found or span.startswith("greval.") or (ROOT / span).exists():
        return False
    last = found[1].split(".")[0].lstrip("_")
    return bool(found[2]) or (last[:1].isupper() and (not last.isupper() or len(last) > UP_TO_THREE))


@pytest.mark.parametrize("page", ALL)
def test_every_path_exists(page):
    """Each path of the repository on a page is a file or folder; a bare module name is one somewhere in greval."""
    for span in SPAN.findall(read(page)):
        if span.split("/")[0] in FOLDERS and "/" in span:
            assert (ROOT / span).exists(), span
        elif re.fullmatch(r"\w+\.py", span):
            assert [*PACKAGE.rglob(span)], span


@pytest.mark.parametrize("page", ALL)
def test_every_dotted_name_can_be_imported(page):
    """Each `greval.x.y` on a page is a module, or an attribute of one; `greval.yaml` is a file of a user."""
    for span in SPAN.findall(read(page)):
        if re.fullmatch(r"greval(\.\w+)+", span) and span != "greval.yaml":
            parts = span.split(".")
            size = next(n for n in range(len(parts), 0, -1) if is_module(parts[1:n]))
            module = import_module(".".join(parts[:size]))
            assert size == len(parts) or attrgetter(".".join(parts[size:]))(module) is not None, span


def is_module(parts):
    """Return whether a dotted name below greval is a module or a folder of modules."""
    path = PACKAGE.joinpath(*parts)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@pytest.mark.parametrize("page", NAMED)
def test_every_name_is_defined(page):
    """Each function (`name()`), class and constant that a page names is defined in the package or its tests."""
    names = [span.removesuffix("()") for span in SPAN.findall(read(page)) if is_name(span)]
    tests = [part for span in SPAN.findall(read(page)) if TEST.fullmatch(span) for part in [span.replace("::", ".")]]
    assert [name for name in [*names, *tests] if name not in every_name()] == []


@pytest.mark.parametrize("page", ALL)
def test_a_name_is_in_the_module_that_is_given(page):
    """What is said to be "`name` in `greval/path.py`" is defined in that file."""
    text = re.sub(r"\s+", " ", read(page))
    for name, path in re.findall(r"`(\w[\w.]*)(?:\(\))?` in `(greval/[\w/]+\.py)`", text):
        assert name in names_in(ROOT / path), f"{name} in {path}"


def test_every_folder_is_in_the_table_of_parts():
    """The table has a row for each folder of greval/, and its row names each folder within it."""
    table = {SPAN.findall(cells[0])[0]: cells for cells in rows(section("docs/architecture.md", "The parts"))}
    assert {*table} == {f"{name}/" for name in folders_of(PACKAGE)}
    for name, cells in table.items():
        assert {*SPAN.findall(cells[2])} == {f"{inner}/" for inner in folders_of(PACKAGE / name)}, name


def test_the_layers_are_those_that_are_enforced():
    """The ten layers on the page are those of import-linter's contract, and hold every part."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (enforced,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    shown = re.search(r"```text\n(.*?)```", section("docs/architecture.md", "The ten layers"), re.DOTALL)
    assert shown
    layers = shown[1].splitlines()
    assert layers == enforced
    modules = {path.stem for path in PACKAGE.glob("[a-z]*.py")}
    assert {*re.findall(r"\w+", shown[1])} == modules | folders_of(PACKAGE) - {"demo"}


def test_the_drawing_names_modules_of_their_parts():
    """Each module in the drawing of a case's trip is in a part that the drawing names."""
    drawing = re.search(r"```text\n(.*?)```", section("docs/architecture.md", "The trip of one case"), re.DOTALL)
    assert drawing
    parts = folders_of(PACKAGE) & {*re.findall(r"\w+", drawing[1])}
    modules = re.findall(r"[\w/]+\.py", drawing[1])
    assert len(modules) > len(parts)
    assert [one for one in modules if not any((PACKAGE / part / one).is_file() for part in parts)] == []


def test_a_class_name_exists_once():
    """CONTRIBUTING.md promises that one class name exists once."""
    defined = (one for path in PACKAGE.rglob("*.py") for one in list_definitions(path))
    names = Counter(name for name, kind in defined if kind is ast.ClassDef and "." not in name)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_decision_record_is_in_the_index():
    """The index has a row for each record, in order, with its title, a date and a status that names known records."""
    index = rows(read("docs/design/decisions/README.md"))
    files = sorted(path.name for path in RECORDS.glob("[0-9]*.md"))
    assert [cells[0] for cells in index] == [f"[{name[:4]}]({name})" for name in files]
    numbers = {name[:4] for name in files}
    for name, (_, title, date, status) in zip(files, index, strict=True):
        head = (RECORDS / name).read_text(encoding="utf-8").splitlines()[0]
        assert head == f"# {name[:4]}: {title}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date), name
        assert re.fullmatch(r"(accepted|replaced by \d{4})(; extended by \d{4}( and \d{4})*)?", status), name
        assert {*re.findall(r"\d{4}", status)} <= numbers - {name[:4]}, name


def test_every_command_of_make_is_there():
    """Each `make ...` that a page for contributors names is a target."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in NAMED:
        for target in re.findall(r"`make (?:\w+=\S+ )?([\w-]+)[^`\n]*`", read(page)):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page}: make {target}"


def test_the_hooks_run_what_make_check_runs():
    """Each hook of .pre-commit-config.yaml is a local one, and together they are the commands of `make check`."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    check = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert check
    (local,) = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == check[1].replace("\t$(BIN)", ".venv/bin").splitlines()
