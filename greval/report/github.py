"""A list of checks as workflow commands of GitHub Actions, which become annotations of a run."""

from __future__ import annotations

from collections.abc import Iterator

from greval.report.check_list import CheckList


def format_github(found: CheckList) -> str:
    """Format checks as one annotation a line.

    A condition that is missed or cannot be decided is an error, a warning of the report a warning. A notice at the end
    holds the result.
    """
    return "\n".join(_yield_commands(found))


def _yield_commands(found: CheckList) -> Iterator[str]:
    for check in found.list_conditions():
        if check.status != "passed":
            yield format_command("error", f"greval: {check.status}", f"{check.name}; {check.text}")
    for line in found.warnings:
        yield format_command("warning", "greval", line)
    yield format_command("notice", "greval", f"{found.title}: {found.describe()}")


def format_command(level: str, title: str, text: str) -> str:
    r"""Format a workflow command; neither the title nor the text can end it or begin another one.

    Example:
        >>> format_command("error", "a: b", "50% lost\n::error::c")
        '::error title=a%3A b::50%25 lost%0A::error::c'
    """
    title = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{_escape(text)}"


def _escape(text: str) -> str:
    """Escape the data of a command, as GitHub's own toolkit does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
