"""The templates of pages and drawings, in which every text is escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment

JOINING_SIGN = re.compile(r"(?<=[_/.:@])(?=\w)")
"""A place after a sign in a name at which a browser breaks no line by itself, as it does after a hyphen."""


@lru_cache(maxsize=1)
def create_environment() -> Environment:
    """Create the environment of the templates, in which every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("greval.report.html", "templates"),
        # Strings that are escaped by hand are safe until one is forgotten.
        autoescape=True,
        # A misspelt name raises an error in place of a gap in the page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = make_breakable
    return environment


def make_breakable(name: str) -> Markup:
    """Escape a name, and let lines break after the signs that join its words.

    Example:
        >>> make_breakable("local_search<b>")
        Markup('local_<wbr>search&lt;b&gt;')
    """
    return Markup("<wbr>").join(JOINING_SIGN.split(name))
