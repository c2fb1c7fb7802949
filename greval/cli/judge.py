"""`greval judge`: check the capabilities of a judge, and show the prices of judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from greval._util.wording import format_count
from greval.cli.judge_options import JudgeName, JudgeOptions, PriceFile
from greval.cli.options import Only, create_console, expand_groups, print_table
from greval.errors import JudgeUnavailableError
from greval.judging.model.failures import format_failure_hint
from greval.judging.model.prices import Price, Prices
from greval.report.tables import print_lines

if TYPE_CHECKING:
    from greval.judging.judge_check import JudgeCapabilities

app = typer.Typer(help="Check the capabilities of a judge, and show prices.", no_args_is_help=True)

SETTINGS = Only(["base_url", "temperature", "judge_options", "max_tokens", "structured", "timeout"])
PRICE_FIELDS = {"input": "input", "cached_input": "cached input", "output": "output"}
TIERS = {"schema": "native JSON schema", "tools": "tool calls", "text": "JSON in plain text"}


@app.command("check")
@expand_groups
def check(*, judge: JudgeName = None, options: Annotated[JudgeOptions, SETTINGS]) -> None:
    """Send four small requests to a judge, and print its capabilities. Nothing is stored.

    If it refuses a part of a request, it is asked without it, and the option for that is printed.
    """
    from greval._util.concurrency import run_sync
    from greval.judging.judge_check import check_judge

    capabilities = run_sync(check_judge(options.create_judge(judge)))
    _print_capabilities(capabilities)
    if not capabilities.answers:
        what = (
            "does not answer"
            if capabilities.reachable or capabilities.failure == "authentication"
            else "cannot be reached"
        )
        hint = f"; {format_failure_hint(capabilities.failure, capabilities.judge)}" if capabilities.failure else ""
        raise JudgeUnavailableError(f"{capabilities.judge} {what}: {capabilities.message}{hint}")


@app.command("prices")
def show_prices(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="a judge, or a part of the names of several; all without it"),
    ] = None,
    *,
    prices: PriceFile = None,
    as_file: Annotated[
        bool, typer.Option("--yaml", help="print them as a file of prices, which you can edit and name with --prices")
    ] = False,
) -> None:
    """Show the prices that costs are computed with, in USD per million tokens, and their date.

    They are those of --prices or GREVAL_PRICES, or else the list prices that are shipped with greval.
    """
    table = Prices.load(prices)
    matching_prices = {label: price for name in names or [""] for label, price in table.find(name).items()}
    if as_file:
        typer.echo(table.model_copy(update={"models": matching_prices}).format_yaml(), nl=False)
        return
    rows = (
        (label, *(_format_price(price, field) for field in PRICE_FIELDS)) for label, price in matching_prices.items()
    )
    print_table(("judge", *PRICE_FIELDS.values()), rows)
    print_lines(create_console(), [f"USD per million tokens as of {table.as_of}; source: {table.source}"])


def _format_price(price: Price, field: str) -> str:
    amount = getattr(price, field)
    return "-" if amount is None else f"{amount:g}"


def _print_capabilities(capabilities: JudgeCapabilities) -> None:
    usage = capabilities.usage
    table = Table(title=capabilities.judge, title_justify="left", show_header=False, box=None, pad_edge=False)
    rows = (
        ("asked by", TIERS.get(capabilities.tier, capabilities.tier)),
        ("follows a JSON schema", capabilities.schema_enforced),
        ("tool calls", capabilities.tool_calls),
        ("token probabilities (--confidence)", capabilities.probabilities),
        ("repeatable answers", capabilities.repeatable),
        ("reports tokens", capabilities.token_counts),
        ("time to first reply", f"{capabilities.seconds:.1f} s"),
        (
            "cost of this check",
            f"{format_count(usage.calls, 'call')}, {format_count(usage.input_tokens or 0, 'token')} in",
        ),
    )
    for row in rows:
        table.add_row(*row)
    console = create_console()
    console.print(table)
    print_lines(console, capabilities.adaptations)
