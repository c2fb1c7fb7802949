"""Draw what `greval demo` shows of the shipped run, as a terminal shows it: docs/images/demo.svg.

python benchmarks/demo_picture.py
"""

from __future__ import annotations

import os
import re
import tempfile
from io import StringIO
from pathlib import Path

import greval
from greval.cli.demo import copy_shipped_run, show_run
from greval.report.tables import ReportConsole

IMAGE = Path(greval.__file__).parents[1] / "docs" / "images" / "demo.svg"
RUN = Path("runs/demo")
WIDTH = 100
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts of another host, which a picture of a README must not load."""


def draw_picture(folder: Path) -> str:
    """Return the picture of what is shown of the shipped run, copied into an empty folder."""
    console = ReportConsole(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    here = Path.cwd()
    os.chdir(folder)
    try:
        copy_shipped_run(RUN)
        show_run(RUN, console)
    finally:
        os.chdir(here)
    # The ids of its parts are those of the title, so that the same output is the same file.
    return FONTS.sub("", console.export_svg(title="greval demo", unique_id="demo"))


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        IMAGE.write_text(draw_picture(Path(folder)), encoding="utf-8")
    print(f"{IMAGE}: {IMAGE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
