"""What axe-core finds wrong on a page that is open in a browser."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

WCAG = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
"""The rules for WCAG 2.2 AA and good practice; those of WCAG 2.2, such as the size of targets, apply only if named.
The elements that keep the rules are not listed, which takes half of the time."""
WINDOWS = (390, 1024, 1440)
"""The widths of a telephone, a tablet and a desk, in pixels."""
NO_WIDER = "document.documentElement.scrollWidth <= innerWidth"


def find_violations(page: Any) -> list[str]:
    """Return the rules that a page breaks in each of the windows, with the elements, and where it is wider than one."""
    found = []
    for width in WINDOWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(50)
        if not page.evaluate(NO_WIDER):
            found.append(f"{width} px: the page is wider than the window")
        whole = page.evaluate("Math.max(900, document.documentElement.scrollHeight)")
        page.set_viewport_size({"width": width, "height": whole})  # so that no bar which stays in view covers a target
        page.wait_for_timeout(50)
        for rule in Axe().run(page, options=WCAG).response["violations"]:
            places = [node["html"][:200] for node in rule["nodes"]][:3]
            found.append(f"{width} px: {rule['id']}: {rule['help']}: {places}")
    return found
