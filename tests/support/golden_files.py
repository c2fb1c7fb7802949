"""Golden files: compare a text with its file, or write the file anew."""

from __future__ import annotations

import os
from difflib import unified_diff
from itertools import islice
from pathlib import Path

MAX_LINES, MAX_WIDTH = 40, 300
GOLDEN = Path(__file__).parents[1] / "golden"


def same(path: Path, text: str) -> None:
    """Compare a text with its golden file, or write the file."""
    if os.environ.get("GREVAL_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: run make golden"
    golden = path.read_text(encoding="utf-8")
    difference = unified_diff(golden.splitlines(), text.splitlines(), "golden", "now", n=1, lineterm="")
    message = "\n".join(line[:MAX_WIDTH] for line in islice(difference, MAX_LINES))
    assert text == golden, f"{path.name} changed: look at the difference, then make golden\n{message}"


def titled(parts: dict[str, str]) -> str:
    return "".join(f"=== {title} ===\n{text}\n" for title, text in parts.items())
