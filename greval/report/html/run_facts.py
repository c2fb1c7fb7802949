"""What a run and a page were made by, as names and texts."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator

from pydantic import JsonValue

from greval.analysis.run_origin import RunOrigin
from greval.report.html.table_view import TableView
from greval.report.html.templating import PageOrigin
from greval.runs.manifest import RunCommand

ADDRESSES = frozenset({"base_url", "openai_api_base"})
"""The settings of a judge that are its address, which clients of a server do not see."""


def list_run_facts(origin: RunOrigin, page: PageOrigin, command: RunCommand | None = None) -> Iterator[tuple[str, str]]:
    """Yield what made a run and a page, as names and texts; `command` is the last command on the run.

    The options of a command may name addresses and paths too.
    """
    yield from (("cases", f"{one.name} (sha256 {one.digest})" if one.digest else one.name) for one in origin.files)
    for metric, settings in origin.judges.items() or [("", origin.judge)]:
        judge = f"judge of {metric}" if metric else "judge"
        shown = {name: value for name, value in settings.items() if page.with_addresses or name not in ADDRESSES}
        yield from ((judge if name == "label" else f"{judge}: {name}", str(value)) for name, value in shown.items())
    if command and page.with_addresses:
        yield from ((f"option: {name}", format_option(value)) for name, value in command.options.items())
    yield "greval", f"{page.version}, Python {platform.python_version()}"
    yield "page made", page.date
    if page.command:
        yield "command", page.command


def format_option(value: JsonValue) -> str:
    """Format the value of an option: a text as it is, anything else as JSON.

    Example:
        >>> format_option("openai:gpt-5.4-mini"), format_option(["correctness", "ndcg@10"])
        ('openai:gpt-5.4-mini', '["correctness", "ndcg@10"]')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def build_versions_table(origin: RunOrigin) -> TableView:
    """Build the table of definitions and judges; methods that share them have one row."""
    methods: dict[tuple[str, str, str], list[str]] = {}
    for one in origin.versions:
        methods.setdefault((one.metric, one.fingerprint, one.judge or "computed"), []).append(one.method)
    rows = tuple((*key, ", ".join(filter(None, names))) for key, names in methods.items())
    return TableView("", ("metric", "fingerprint", "judge", "methods"), (True,) * 4, rows)
