"""A window on the page that notices what goes wrong: errors, refused scripts, requests to anyone else."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Self

from playwright.sync_api import TimeoutError  # noqa: A004 - its own
from waiting import SECONDS

WATCH = """
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  console.error(`refused: ${violatedDirective} ${blockedURI}`);
});
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


class Visit:
    """A window of its own, with no cookies and nothing kept.

    `at` is playwright's page. Every request that is not to the server is cut off and counts as a fault, as every
    console message of a warning or an error does, but for those that `expect` names.
    """

    def __init__(self, browser: Any, url: str, **window: Any) -> None:
        """Open the window; nothing is loaded yet."""
        window.setdefault("viewport", {"width": 1280, "height": 900})
        self.url = url
        self.faults: list[str] = []
        self._expected: list[str] = []
        self._context = browser.new_context(**window)
        self._context.route("**/*", self._let)
        self._context.add_init_script(WATCH)
        self.at = self._context.new_page()
        self.at.set_default_timeout(60_000)
        self.at.on("console", self._told)
        self.at.on("pageerror", lambda error: self.faults.append(f"error: {error}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._context.close()
        if kind is None:
            assert not self.faults, "\n".join(self.faults)

    def open(self, address: str = "", *, rest: bool = True) -> Self:
        """Load the page at an address after `#/`, and wait until it is at rest, or only until it is there."""
        self.at.goto(f"{self.url}/#/{address}")
        self.at.wait_for_selector(f"main{':not([aria-busy])' if rest else ''} h1")
        return self

    def expect(self, pattern: str) -> None:
        self._expected.append(pattern)

    def text(self, selector: str = "main") -> str:
        return self.at.locator(selector).inner_text()

    def sees(self, text: str, selector: str = "main") -> None:
        try:
            self.at.locator(selector).get_by_text(text).first.wait_for()
        except TimeoutError as error:
            shown = f"{text!r} is not in {self.at.url}:\n{self.text()[:2000]}"
            raise AssertionError(shown) from error

    def until(self, holds: Callable[[], Any], seconds: float = SECONDS) -> None:
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self.text()[:2000]
            self.at.wait_for_timeout(50)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.at.keyboard.press(key)

    def tab_to(self, selector: str, most: int = 80) -> None:
        """Press Tab until the focus is there; it must be visible on the way."""
        for _ in range(most):
            self.at.keyboard.press("Tab")
            if self.at.evaluate("(wanted) => document.activeElement?.matches(wanted)", selector):
                return
        message = f"{selector}: not reached with {most} times Tab; the focus is on {self.focus()}"
        raise AssertionError(message)

    def focus(self) -> str:
        """Give what has the focus, as markup."""
        return str(self.at.evaluate("document.activeElement.outerHTML.slice(0, 200)"))

    def _let(self, route: Any) -> None:
        if route.request.url.startswith(f"{self.url}/"):
            route.continue_()
        else:
            self.faults.append(f"asked somebody else: {route.request.url}")
            route.abort()

    def _told(self, message: Any) -> None:
        if message.type not in {"warning", "error"}:
            return
        if not any(re.search(pattern, message.text) for pattern in self._expected):
            self.faults.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")
