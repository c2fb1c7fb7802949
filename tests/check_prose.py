"""Check the docstrings and messages of the package: `python tests/check_prose.py`; `make check` runs it.

A function's docstring begins with an imperative verb, a condition is *if* or *when*, and the words of no dialect of our
own appear in texts that people read.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "greval"
NO_VERB = re.compile(r"(Gives?|Tells?|Says?|Whether|Wh(at|o|ere|ich)|How|That)\b")
WHERE = re.compile(r"\bwhere\b")
DIALECT = re.compile(
    r"\b(tells?|told|untold|telling|foretell\w*|foresee\w*|nobody|so many|there (is|are) none|amid"
    r"|desks?|crews?|shel(f|ves)|lanes?|seats?|benche?s|jury|wish(es)?)\b"
)
FORMATS = {"too few questions to tell", "not told"}
"""Values that reports and results hold: formats, which do not change with the prose."""
PROMPTS = {"whole.py", "literal.py", "counts.py", "ranking.py"}
"""Modules with texts that a judge reads, or that are part of a metric's fingerprint."""
LISTS = {"words.py"}
"""Modules whose texts are lists of words."""
QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|^\s*((>>>|\.\.\.).*$|where:)", re.MULTILINE)
"""What is not prose: code, examples, and the name of an argument."""


def find_faults(path: Path) -> Iterator[str]:
    """Yield a line for each docstring or message of a module that does not keep the rules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = set()
    for node in ast.walk(tree):  # parents come before their docstrings
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = QUOTED.sub("", ast.get_docstring(node) or "")
            docstrings.update(id(child.value) for child in node.body[:1] if isinstance(child, ast.Expr))
            line = getattr(node, "lineno", 1)
            if not isinstance(node, ast.Module | ast.ClassDef) and NO_VERB.match(text):
                yield f"{path}:{line}: begin with a verb such as Return, Read, Check: {text.splitlines()[0]}"
            for word in [*WHERE.finditer(text), *DIALECT.finditer(text)]:
                yield f"{path}:{line}: docstring: {word[0]!r}; say it in plain terms (if, when, report, raise ...)"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            fixed = " " not in node.value or node.value in FORMATS or path.name in PROMPTS | LISTS
            for word in DIALECT.finditer("" if fixed else QUOTED.sub("", node.value)):
                yield f"{path}:{node.lineno}: text: {word[0]!r}; say it in plain terms (report, show, no ...)"


def main() -> int:
    """Print the faults of the package and return the exit code."""
    faults = sorted({fault for path in PACKAGE.rglob("*.py") for fault in find_faults(path)})
    print(*faults, sep="\n", end="\n" if faults else "")  # noqa: T201 - a command
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
