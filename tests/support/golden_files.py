"""Golden files: compare a text with its file, or write the file anew."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def same(path: Path, text: str) -> None:
    """Compare a text with its golden file, or write the file."""
    if os.environ.get("GREVAL_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: run make golden"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} changed: look at the difference, then make golden"


def titled(parts: dict[str, str]) -> str:
    """Put texts under titles on one page."""
    return "".join(f"=== {title} ===\n{text}\n" for title, text in parts.items())
