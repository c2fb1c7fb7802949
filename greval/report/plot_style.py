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
    "svg.fonttype": "none",  # text stays text: it can be selected, searched and read aloud
    "svg.hashsalt": "greval",  # the same figures give the same bytes
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.parse_math": False,  # `$` in a name begins no formula
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


def format_svg(figure: Figure) -> str:
    """Format a figure as an SVG element, without XML declaration and without any address."""
    file = io.StringIO()
    figure.savefig(file, format="svg")
    text = file.getvalue()
    return UNWANTED_SVG.sub("", text[text.index("<svg") :])


@contextmanager
def use_style() -> Iterator[None]:
    """Apply the style within a block, without warnings about characters that the font of the layout lacks."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("plots", "matplotlib") from error
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
