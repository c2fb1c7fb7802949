"""The pages of the documentation and their fenced blocks."""

from __future__ import annotations

import re
from pathlib import Path

import greval

ROOT = Path(greval.__file__).parents[1]

FILES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
PAGES = {str(path.relative_to(ROOT)): path for path in FILES}

FOR_CONTRIBUTORS = (
    *("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "docs/recipes.md"),
    "docs/design/decisions/README.md",
)
"""The pages for those who change greval: they do not count as documentation for its users."""

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ON_A_CLUSTER = "docs/cluster.md"
"""Its blocks are run by tests/runs/test_ray_cluster.py, where a cluster is up."""


def blocks(page, kind):
    return [text for found, text in BLOCK.findall(PAGES[page].read_text(encoding="utf-8")) if found == kind]
