"""The browser that tests of web pages drive: where its program is, and with which flags it starts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

VARIABLE = "GREVAL_TEST_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",  # containers seldom grant what its sandbox needs
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers give it little shared memory
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WHY_NOT = f"no browser is here: install Chromium, or name the program of one in {VARIABLE}"
"""The reason to skip a test where `browser_path` finds none."""


def browser_path() -> str | None:
    """Give the program of a browser: the one named in the environment, else the first on the path, else None."""
    named = os.environ.get(VARIABLE)
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def started_browser() -> Iterator[Any]:
    """Start a browser without a window; skip the test if there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = browser_path()
    if not found:
        pytest.skip(WHY_NOT)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*FLAGS])
        yield browser
        browser.close()
