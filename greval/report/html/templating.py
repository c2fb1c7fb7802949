"""Templates of pages, and the policy that forbids a page every request and every script but its own."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from greval.report.html.case_view import CaseView

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = "templates"
JOINING_SIGN = re.compile(r"(?<=[_/.:@])(?=\w)")
"""A place after a sign in a name at which a browser breaks no line by itself, as it does after a hyphen."""
FRAGMENT_POLICY = "greval-fragments"
"""The name of the only policy of Trusted Types by which the script of a page may make markup of text."""


class PageOrigin(NamedTuple):
    """When and by which command a page was made, and whether it may name the addresses of the judges."""

    at: datetime
    command: str
    version: str
    with_addresses: bool = True

    @property
    def date(self) -> str:
        """The day and the time for people."""
        return f"{self.at.day} {self.at:%B %Y, %H:%M %Z}".rstrip()


@lru_cache(maxsize=1)
def create_environment() -> Environment:
    """Create the environment of the templates, in which every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("greval.report.html", FOLDER),
        autoescape=True,
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


def render_page(template: str, made: PageOrigin, /, **content: object) -> str:
    """Render a page with its style, its script and its policy.

    Args:
        template: The name of the template.
        made: When and by which command the page is made.
        **content: The content of the page.
    """
    style, script = (_read_asset(name) for name in ("page.css", "page.js"))
    return (
        create_environment()
        .get_template(template)
        .render(
            made=made,
            policy=_build_policy(style, script),
            style=Markup(style),  # noqa: S704 - a file of the package
            script=Markup(script),  # noqa: S704 - a file of the package
            **content,
        )
    )


def render_case(view: CaseView) -> str:
    """Render the details of a case as a fragment of a page."""
    return str(_get_macro("case.html", "case_body")(view))


def render_changed(view: NamedTuple) -> str:
    """Render both sides of a question of a comparison as a fragment of a page."""
    return str(_get_macro("changed.html", "changed_body")(view))


@lru_cache
def _get_macro(template: str, name: str) -> Callable[[object], str]:
    found: Callable[[object], str] = vars(create_environment().get_template(template).module)[name]
    return found


def _read_asset(name: str) -> str:
    return files("greval.report.html").joinpath(FOLDER, name).read_text(encoding="utf-8")


def _build_policy(style: str, script: str) -> str:
    """Build a content security policy: no request, and no style and script but these two."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash_asset(style)}'",
            f"script-src '{_hash_asset(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            f"trusted-types {FRAGMENT_POLICY}",
        )
    )


def _hash_asset(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"
