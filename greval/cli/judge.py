"""`greval judge`: check the capabilities of a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from greval.cli.options import JudgeName, JudgeOptions, Only, create_console, expand_groups
from greval.errors import JudgeUnavailableError
from greval.judging.model.failures import format_failure_hint

if TYPE_CHECKING:
    from greval.judging.judge_check import Capabilities

app = typer.Typer(help="Check the capabilities of a judge.", no_args_is_help=True)

TIERS = {"schema": "native JSON schema", "tools": "tool calls", "text": "JSON in plain text"}


@app.callback()
def _group() -> None:
    """Check the capabilities of a judge."""


@app.command("check")
@expand_groups
def check(*, judge: JudgeName = None, options: Annotated[JudgeOptions, Only(["base_url", "timeout"])]) -> None:
    """Send four small requests to a judge, and print its capabilities. Nothing is stored."""
    from greval._util.concurrency import run_sync
    from greval.judging.judge_check import check_judge

    found = run_sync(check_judge(options.create_judge(judge)))
    _print_capabilities(found)
    if not found.answers:
        what = "does not answer" if found.reachable or found.failure == "authentication" else "cannot be reached"
        hint = f"; {format_failure_hint(found.failure, found.judge)}" if found.failure else ""
        raise JudgeUnavailableError(f"{found.judge} {what}: {found.message}{hint}")


def _print_capabilities(found: Capabilities) -> None:
    table = Table(title=found.judge, title_justify="left", show_header=False, box=None, pad_edge=False)
    rows = (
        ("asked by", TIERS.get(found.tier, found.tier)),
        ("follows a JSON schema", found.schema_enforced),
        ("tool calls", found.tool_calls),
        ("token probabilities (--confidence)", found.probabilities),
        ("repeatable answers", found.repeatable),
        ("reports tokens", found.token_counts),
        ("time to first reply", f"{found.seconds:.1f} s"),
        ("cost of this check", f"{found.usage.calls} calls, {found.usage.input_tokens or 0} tokens in"),
    )
    for row in rows:
        table.add_row(*row)
    create_console().print(table)
