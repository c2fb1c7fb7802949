"""API keys and tokens on the page in a real browser."""

from __future__ import annotations

import pytest
from page_judge import page_judge
from serving import served
from visit import Visit

from greval.serve.app import create_app
from greval.serve.middleware.api_keys import add_key
from greval.serve.settings import ServerSettings

TOKEN = "a-token-for-tests-0123456789"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """Give a server that wants a key, and a key."""
    folder = tmp_path_factory.mktemp("keyed")
    key = add_key(folder / "keys", "ana")
    settings = ServerSettings(runs=folder / "runs", keys=folder / "keys")
    with served(create_app(settings, {"quick": page_judge()})) as running:
        yield running.url, key


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Give the address of a server without keys that wants a token."""
    settings = ServerSettings(runs=tmp_path_factory.mktemp("guarded"), token=TOKEN)
    with served(create_app(settings, {"quick": page_judge()})) as running:
        yield running.url


def test_the_printed_address_opens_the_page(chromium, guarded):
    """The token of the address is kept in the tab and gone from the address; a reload still has it."""
    with Visit(chromium, guarded) as visit:
        visit.at.goto(f"{guarded}/#token={TOKEN}")
        visit.sees("Say what good means")
        assert visit.at.evaluate("location.hash") in {"", "#/", "#"}
        assert visit.at.evaluate("Object.values(sessionStorage)") == [TOKEN]
        assert TOKEN not in visit.at.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
        visit.at.reload()
        visit.sees("Say what good means")
        assert visit.at.get_by_role("dialog").count() == 0


@pytest.mark.nightly
def test_the_printed_address_of_a_run_opens_the_run(chromium, guarded):
    """As `greval open` prints it: the view stands after the token."""
    with Visit(chromium, guarded) as visit:
        visit.at.goto(f"{guarded}/#token={TOKEN}/playground")
        visit.at.get_by_role("heading", name="Playground").wait_for()
        assert visit.at.evaluate("location.hash") == "#/playground"


@pytest.mark.nightly
def test_a_new_token_is_taken_in_an_open_tab(chromium, guarded):
    """After a new start of the server its new address works in the tab that has the old token."""
    with Visit(chromium, guarded) as visit:
        visit.expect("401")
        visit.at.goto(f"{guarded}/#token=old/library")
        visit.at.get_by_text("open the address that it printed").wait_for()
        visit.at.evaluate("(hash) => { location.hash = hash; }", f"#token={TOKEN}/runs")
        visit.sees("Runs")
        visit.until(lambda: visit.at.get_by_role("dialog").count() == 0)
        assert visit.at.evaluate("Object.values(sessionStorage)") == [TOKEN]


@pytest.fixture
def locked(chromium, keyed):
    with Visit(chromium, keyed[0]) as visit:
        visit.expect("401")
        yield visit


def test_asks_for_the_key_and_keeps_it_in_the_tab_only(locked, keyed):
    """Without a key the page asks for one, once; it is in the tab's storage, and nowhere that outlives it."""
    locked.open("library", rest=False)
    locked.at.get_by_label("Key", exact=True).fill(keyed[1])
    locked.press("Enter")
    locked.sees("answer_quality")
    assert locked.at.get_by_role("dialog").count() == 0
    assert keyed[1] in locked.at.evaluate("JSON.stringify(sessionStorage)")
    assert keyed[1] not in locked.at.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
    locked.at.get_by_role("button", name="Forget key").click()
    locked.at.get_by_role("dialog").wait_for()
    assert keyed[1] not in locked.at.evaluate("JSON.stringify(sessionStorage)")


@pytest.mark.nightly
def test_a_wrong_key_is_asked_again(locked):
    """A key that the server does not know is asked for again; who gives none is told what is missing."""
    locked.open("runs", rest=False)
    locked.at.get_by_label("Key", exact=True).fill("wrong")
    locked.press("Enter")
    locked.at.get_by_text("It does not know the key that was used.").wait_for()
    locked.press("Escape")
    locked.sees("Try again")


@pytest.mark.nightly
def test_follows_a_run_with_the_key(locked, keyed, demo):
    """A run is started and followed with the key, the stream of its progress too."""
    locked.open("new-run", rest=False)
    locked.at.get_by_label("Key", exact=True).fill(keyed[1])
    locked.press("Enter")
    locked.at.set_input_files("#file", {"name": "a.jsonl", "mimeType": "", "buffer": demo})
    locked.sees("40 cases")
    locked.at.get_by_role("checkbox", name="latency").check()
    locked.at.get_by_role("button", name="Start", exact=True).click()
    locked.at.locator(".badge:text('finished')").wait_for()
