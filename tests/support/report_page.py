"""A report as the command line prints it, and what it is made of."""

from __future__ import annotations

import io

from greval.report.tables import ReportConsole


def print_page(render, found, *, width=200, **options):
    """Return what `render` prints of a finding."""
    out = io.StringIO()
    render(found, ReportConsole(file=out, width=width), **options)
    return out.getvalue()


def print_objects(*objects, width=120):
    """Return what a console of a width prints of tables and texts."""
    return print_page(lambda shown, console: console.print(*shown), objects, width=width)


def known(value, n=9, **more):
    """Return a known figure as JSON."""
    return {"status": "known", "value": value, "n": n, **more}


def find_row(page, first):
    """Return the cells of the first line that begins with a text, split at wide gaps."""
    line = next(line for line in page.splitlines() if line.strip().startswith(first))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]
