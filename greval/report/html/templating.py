"""Templates of pages, the facts of a run on them, and the policy that forbids requests and scripts of others."""

from __future__ import annotations

import json
import platform
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup
from pydantic import JsonValue

from greval.report.html.case_view import CaseView
from greval.report.html_console import TableView
from greval.report.markup import create_environment
from greval.runs.manifest import RunCommand, read_judges, read_sources
from greval.runs.store import Store

FRAGMENT_POLICY = "greval-fragments"
"""The name of the only policy of Trusted Types by which the script of a page may make markup of text."""
ADDRESSES = frozenset({"base_url", "openai_api_base"})
"""The settings of a judge that are its address, which clients of a server do not see."""


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


def render_page(template: str, page: PageOrigin, /, **content: object) -> str:
    """Render a page with its style, its script and its policy."""
    style, script = (_read_asset(name) for name in ("page.css", "page.js"))
    return (
        create_environment()
        .get_template(template)
        .render(
            made=page,
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
    macro: Callable[[object], str] = vars(create_environment().get_template(template).module)[name]
    return macro


def _read_asset(name: str) -> str:
    return files("greval.report.html").joinpath("templates", name).read_text(encoding="utf-8")


def _build_policy(style: str, script: str) -> str:
    """Build a content security policy: no request, and no style and script but these two."""
    return "; ".join(
        (
            "default-src 'none'",
            # Hashes instead of `'unsafe-inline'`: no style or script that a text might smuggle in has one of them.
            f"style-src '{_hash_asset(style)}'",
            f"script-src '{_hash_asset(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            # The script makes markup of the fragments, which the same templates have escaped, and of nothing else.
            f"trusted-types {FRAGMENT_POLICY}",
        )
    )


def _hash_asset(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"


def list_run_facts(store: Store, page: PageOrigin, command: RunCommand | None = None) -> Iterator[tuple[str, str]]:
    """Yield what made a run and a page, as names and texts; `command` is the last command on the run."""
    # A report is shared, and folders say whose machine it was made on.
    sources = dict.fromkeys((Path(source.path).name, source.digest) for source in read_sources(store) if source.path)
    yield from (("cases", f"{name} (sha256 {digest})" if digest else name) for name, digest in sources)
    for metric, settings in _read_judges(store).items():
        judge = f"judge of {metric}" if metric else "judge"
        visible = {name: value for name, value in settings.items() if page.with_addresses or name not in ADDRESSES}
        yield from ((judge if name == "label" else f"{judge}: {name}", str(value)) for name, value in visible.items())
    # The options of a command may name addresses and paths too.
    if command and page.with_addresses:
        yield from ((f"option: {name}", format_option(value)) for name, value in command.options.items())
    yield "greval", f"{page.version}, Python {platform.python_version()}"
    yield "page made", page.date
    if page.command:
        yield "command", page.command


def _read_judges(store: Store) -> Mapping[str, Mapping[str, JsonValue]]:
    """Read the settings of the judge of each metric by its name, or of the last judge by no name if they have one."""
    judge = store.fact("judge")
    judged = {plan.metric for plan in store.plans() if plan.judge}
    judges = {name: settings for name, settings in read_judges(store).items() if name in judged}
    if any(settings != judge for settings in judges.values()):
        return judges
    return {"": {name: value for name, value in judge.items() if value is not None} if isinstance(judge, dict) else {}}


def format_option(value: JsonValue) -> str:
    """Format the value of an option: a text as it is, anything else as JSON.

    Example:
        >>> format_option("openai:gpt-5.4-mini"), format_option(["correctness", "ndcg@10"])
        ('openai:gpt-5.4-mini', '["correctness", "ndcg@10"]')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def build_versions_table(store: Store) -> TableView:
    """Build the table of definitions and judges; methods that share them have one row."""
    methods: dict[tuple[str, str, str], list[str]] = {}
    for plan in store.plans():
        if plan.method is not None:
            methods.setdefault((plan.metric, plan.fingerprint, plan.judge or "computed"), []).append(plan.method)
    rows = tuple((*key, ", ".join(filter(None, names))) for key, names in methods.items())
    return TableView("", ("metric", "fingerprint", "judge", "methods"), (True,) * 4, rows)
