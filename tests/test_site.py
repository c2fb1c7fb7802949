"""The site of the documentation: it builds without a broken link, and its pages load nothing from another host."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import tomllib
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from doc_pages import PAGES, ROOT

LOADED = {"src", "srcset", "data", "poster", "action"}
"""The attributes whose address a browser loads without a click; and `href` of `link`."""
NOT_IN_NAV = re.compile(r"design/decisions/\d{4}-")
"""The decision records are linked by their index."""


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a folder, with every warning as an error."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def copy_docs(folder: Path) -> Path:
    """Copy what the site is built from, so that the build leaves nothing in the repository."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site."""
    folder = copy_docs(tmp_path_factory.mktemp("site"))
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


class LoadedAddresses(HTMLParser):
    """Collects the addresses that a page loads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        names = LOADED | ({"href"} if tag in {"link", "use", "image"} else set())
        self.found += [value for name, value in attrs if name in names and value]
        self.found += [url for name, value in attrs if name == "style" for url in find_css_addresses(value or "")]


def find_css_addresses(text: str) -> list[str]:
    return re.findall(r"(?:url\(\s*|@import\s+)[\"']?([^\"')\s]+)", text)


def test_every_page_is_built_and_in_the_navigation(site):
    """Each page of docs/ is an HTML file, and each but the decision records has its place in the navigation."""
    with (ROOT / "zensical.toml").open("rb") as file:
        nav = tomllib.load(file)["project"]["nav"]
    placed = {
        page if isinstance(page, str) else next(iter(page.values()))
        for section in nav
        for pages in section.values()
        for page in pages
    }
    pages = {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}
    assert {page for page in pages - placed if not NOT_IN_NAV.match(page)} == set(), "add it to nav in zensical.toml"
    names = {page.replace("README.md", "index.md").replace(".md", ".html") for page in pages}
    assert {name for name in names if not (site / name).is_file()} == set()


def test_no_page_loads_anything_from_another_host(site):
    """Scripts, styles, fonts and pictures are files of the site."""
    for path in site.rglob("*.html"):
        for address in LoadedAddresses(path.read_text(encoding="utf-8")).found:
            assert not urlsplit(address).netloc, f"{path.name}: {address}"
    for path in site.rglob("*.css"):
        for address in find_css_addresses(path.read_text(encoding="utf-8")):
            assert not urlsplit(address).netloc, f"{path.name}: {address}"


@pytest.mark.parametrize("fault", ["[a](nowhere.md)", "[a](input.md#no-such-heading)"])
def test_a_broken_link_stops_the_build(tmp_path, fault):
    """A link to a page or a heading that is not there is reported with its page, and the site is not built."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "input.md").write_text("# Input\n", encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text(f"# Start\n\n{fault}\n", encoding="utf-8")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "x"\n', encoding="utf-8")
    built = build(tmp_path)
    assert built.returncode != 0
    assert "index.md:3" in re.sub(r"\x1b\[[\d;]*m", "", built.stdout + built.stderr)


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        """Print nothing."""


@pytest.mark.browser
def test_a_browser_reads_and_searches_the_site_without_another_host(site, chromium):
    """Pages, pictures and the search work in Chromium, which asks no other host for anything."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{base}reference_pipeline.html")
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth)")
    search = page.get_by_placeholder("Search")
    search.wait_for(state="attached")
    page.keyboard.press("/")
    # Keys that are typed before the search is open go nowhere.
    search.fill("Tarone")
    page.get_by_text(re.compile(r"^\d+ results$")).wait_for()
    page.close()
    server.shutdown()
    server.server_close()
    assert [url for url in asked if not url.startswith((base, "data:", "blob:"))] == []
