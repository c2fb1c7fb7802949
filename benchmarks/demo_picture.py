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
from greval.cli.console import ReportConsole
from greval.cli.demo import copy_shipped_run, show_run

IMAGE = Path(greval.__file__).parents[1] / "docs" / "images" / "demo.svg"
RUN = Path("runs/demo")
WIDTH = 100
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts of another host, which a picture of a README must not load."""


def main() -> None:
    """Show the run to a console that records it, and write the picture."""
    console = ReportConsole(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        copy_shipped_run(RUN)
        show_run(RUN, console)
        os.chdir(IMAGE.parent)
    # The ids of its parts are those of the title, so that the same output is the same file.
    picture = console.export_svg(title="greval demo", unique_id="demo")
    IMAGE.write_text(FONTS.sub("", picture), encoding="utf-8")
    print(f"{IMAGE}: {IMAGE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
