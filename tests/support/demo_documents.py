"""The documents of the demo as rows, read from its facts: each heading is a document, each paragraph a passage."""

from __future__ import annotations

import re
from pathlib import Path

import greval

FOLDER = Path(greval.__file__).parent / "demo"
OLD = {"booking/fare-engine@v6": "v6.4"}
"""The versions of documents that are left over from an earlier release than that of their repository."""


def read_facts():
    """Give a row for each document of facts.md: id, repository, version and text."""
    text = (FOLDER / "facts.md").read_text(encoding="utf-8").partition("\n## The graph")[0]
    rows = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, *parts = re.split(r"^### ", section, flags=re.MULTILINE)
        repo, version = re.fullmatch(r"(\w+)(?:, (v[\d.]+))?.*", heading.splitlines()[0]).groups()
        for part in parts:
            name, _, body = part.partition("\n")
            row = {"id": name.strip(), "text": body.strip(), "repo": repo, "version": OLD.get(name.strip(), version)}
            rows.append({field: value for field, value in row.items() if value})
    return rows
