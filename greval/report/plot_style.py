"""The style of plots, and their form as an SVG element."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from greval.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#30343b"
"""The colour of texts and axes."""
UNWANTED_SVG = re.compile(r"\s*<metadata>.*?</metadata>|\s*<style .*?</style>| id=\"[a-z.\d]+_\d+\"", re.DOTALL)
"""What several drawings on one page would share: rules for the whole page, and ids that count from 1 in each."""
STYLE: dict[Any, Any] = {
    # Text stays text: it can be selected, searched and read aloud.
    "svg.fonttype": "none",
    # The same figures give the same bytes.
    "svg.hashsalt": "greval",
    "font.family": "sans-serif",
    "font.size": 9.0,
    # `$` in a name begins no formula.
    "text.parse_math": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


def format_svg(figure: Figure) -> str:
    """Format a figure as an SVG element, without XML declaration and without any address."""
    file = io.StringIO()
    figure.savefig(file, format="svg")
    text = file.getvalue()
    # What comes before the element (XML declaration, document type with an address) is not allowed within HTML.
    return UNWANTED_SVG.sub("", text[text.index("<svg") :])


@contextmanager
def use_style() -> Iterator[None]:
    """Apply the style within a block."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("plots", "matplotlib") from error
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The font of the layout may lack a character; the reader's font, which draws the text, may have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
