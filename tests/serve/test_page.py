"""The files of the page: what is served of them, and rules that all of them keep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from greval import serve
from greval.records.result import FailureKind
from greval.serve.app import create_app
from greval.serve.routes.page import CONTENT_SECURITY_POLICY
from greval.serve.settings import ServerSettings

FOLDER = Path(serve.__file__).parent / "page"
FILES = {
    path.relative_to(FOLDER).as_posix(): path.read_bytes()
    for path in FOLDER.rglob("*.*")
    if path.suffix not in {".md", ".txt"}  # they say where the libraries of the page come from, and their licences
}
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SCRIPTS = {path: content.decode() for path, content in FILES.items() if path.endswith(".js")}
OWN_SCRIPTS = {path: text for path, text in SCRIPTS.items() if not path.startswith("vendor/")}
STYLES = {path: content.decode() for path, content in FILES.items() if path.endswith(".css")}
INDEX = FILES["index.html"].decode()
RISKY = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTML|createContextualFragment"
)
IMPORT = re.compile(r'^import ?\{[^}]*\} ?from ?"([^"]+)";', re.MULTILINE)


@pytest.fixture
def client(tmp_path):
    with TestClient(create_app(ServerSettings(runs=tmp_path)), base_url="http://127.0.0.1:8000") as client:
        yield client


def test_the_page_is_at_the_root(client):
    """`/` gives the page, with rules that let in nothing but files of this server and no markup from text."""
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "script-src" not in CONTENT_SECURITY_POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_file_is_served(client):
    """Each file that ships is served with its type, and with HEAD without its content."""
    for path, content in FILES.items():
        answer = client.get(f"/page/{path}")
        assert answer.content == content
        assert answer.headers["content-type"] == TYPES[path.rpartition(".")[2]]
        assert client.head(f"/page/{path}").content == b""


OTHERS = (
    *("", "nothing.js", "js", "js/", "../app.py", "..%2fapp.py", "%2e%2e/app.py"),
    *("js/../../app.py", "__init__.py", "/etc/passwd"),
)


def test_nothing_else_is_served(client):
    """No path leads to anything but the page's files."""
    for path in OTHERS:
        answer = client.get(f"/page/{path}")
        assert answer.status_code == 404, path
        assert answer.headers["content-type"].startswith("application/problem+json") or b"detail" in answer.content


def test_what_the_page_needs_ships():
    """Each file that the page or one of its modules names is there, and each that is there is needed."""
    linked_files = set(re.findall(r'(?:href|src)="/page/([^"]+)"', INDEX))
    for path, text in SCRIPTS.items():
        for target in IMPORT.findall(text):
            folder = path.rsplit("/", 1)[0].split("/")
            for part in target.split("/"):
                folder = folder[:-1] if part == ".." else folder if part == "." else [*folder, part]
            linked_files.add("/".join(folder))
    assert linked_files == FILES.keys() - {"index.html"}


def test_modules_are_fetched_at_once():
    """The page names each module beforehand, so that none waits for another to be read."""
    started = set(re.findall(r'<script type="module" src="/page/([^"]+)"', INDEX))
    assert started == {"js/early_request.js", "js/main.js"}
    assert set(re.findall(r'<link rel="modulepreload"[^>]* href="/page/([^"]+)">', INDEX)) == SCRIPTS.keys() - started


def test_nothing_comes_from_elsewhere():
    """No file names another server, and the page holds no script or style of its own that its rules would refuse."""
    for path, text in {**OWN_SCRIPTS, **STYLES, "index.html": INDEX}.items():
        addresses = set(re.findall(r"https?://[^\"'\s)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not addresses, path
        assert "@import" not in text, path
        assert "url(" not in text, path
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", INDEX)


def test_text_never_becomes_markup():
    """No module uses what makes markup or code of text."""
    for path, text in OWN_SCRIPTS.items():
        assert not RISKY.search(text), path


def test_every_kind_of_failure_says_what_to_do():
    """The page knows what to do for each kind of failure that there is."""
    table = re.search(r"WHAT_TO_DO = \{(.*?)\n\};", SCRIPTS["js/components/failure_details.js"], re.DOTALL)
    assert table
    assert set(re.findall(r"^  (\w+):", table[1], re.MULTILINE)) == set(get_args(FailureKind))


def test_files_stay_small():
    """A file of ours has 300 lines at most, and all of them with their libraries weigh little."""
    for path, text in {**OWN_SCRIPTS, **STYLES}.items():
        assert text.count("\n") <= 300, path
    assert sum(map(len, FILES.values())) < 480_000
