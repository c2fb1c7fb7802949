"""Names of computed metrics: `ndcg@10-exponential` is its metric's code, command-line argument and key.

A name is a family, what stands after @ (a cut-off or a threshold), and options after hyphens.
"""

from __future__ import annotations

import re
from decimal import Decimal
from difflib import get_close_matches
from functools import cache

from greval.metrics.computed import efficiency, ranking, repository, text, traversal
from greval.metrics.computed.families import Family, Setting
from greval.records.metric import ComputedMetric

FAMILIES: dict[str, Family] = {
    family.name: family
    for families in (ranking, repository, traversal, text, efficiency)
    for family in families.FAMILIES
}
"""Every family of computed metrics, by its name."""

_PARTS = re.compile(r"(?P<base>[^@-]*)(?:@(?P<at>[^-]*))?(?P<options>(?:-.*)?)", re.DOTALL)
_CUTOFF = re.compile(r"[1-9][0-9]{0,5}")
_THRESHOLD = re.compile(r"0?\.[0-9]{1,4}|1(?:\.0{1,4})?")
USUAL_CUTOFF = 10


class _MisnamedError(ValueError):
    """The name is one of a family, but its setting is none."""


def parse(name: str) -> ComputedMetric | None:
    """Give the computed metric of a name, the same object for the same metric; None where there is none.

    Args:
        name: A family with its setting: `mrr`, `ndcg@5`, `edge_recall-undirected`, `fuzzy_containment@0.9`.

    Returns:
        The metric; its own name is the usual way to write this one, such as `fuzzy_containment@0.90`.

    Example:
        >>> parse("edge_recall-unlabelled-undirected").name
        'edge_recall-undirected-unlabelled'
        >>> parse("ndcg@ten") is None
        True
    """
    try:
        found = _setting(name)
    except _MisnamedError:
        return None
    return _made(*found) if found else None


def misnamed(name: str) -> str | None:
    """Give what is wrong with a name that begins as a computed metric's, and how to write it; None for others.

    Example:
        >>> misnamed("ndcg@0")
        "after @ stands a whole number from 1 to 999999, got '0'; write ndcg@10"
    """
    try:
        _setting(name)
    except _MisnamedError as error:
        return str(error)
    return None


def variants(name: str) -> list[str]:
    """Give the names of every family with the setting of this name, to find the nearest of a misspelt one.

    Example:
        >>> "ndcg@7" in variants("ndgc@7")
        True
    """
    rest = name[len(_parts(name)["base"] or "") :]
    return [f"{family}{rest}" for family in FAMILIES if parse(f"{family}{rest}")]


def _parts(name: str) -> re.Match[str]:
    """Split a name; every text has these parts."""
    found = _PARTS.fullmatch(name)
    assert found  # noqa: S101 - the last part takes whatever is left
    return found


def _setting(name: str) -> tuple[str, Setting] | None:
    """Read a name.

    Raises:
        _MisnamedError: Where its family has no such setting.
    """
    parts = _parts(name)
    family = FAMILIES.get(parts["base"])
    if family is None:
        return None
    options = _options(family, parts["at"], parts["options"].split("-")[1:])
    if family.at == "cutoff":
        return family.name, Setting(k=_cutoff(family, parts["at"]), options=options)
    if family.at == "threshold":
        return family.name, Setting(threshold=_threshold(family, parts["at"]), options=options)
    if parts["at"] is not None:
        raise _MisnamedError(f"{family.name} has no number after @; write {family.name}")
    return family.name, Setting(options=options)


def _options(family: Family, at: str | None, given: list[str]) -> frozenset[str]:
    stem = family.name if at is None else f"{family.name}@{at}"
    for option in given:
        if option not in family.options:
            known = f"has {', '.join(family.options)}" if family.options else "has none"
            near = get_close_matches(option, family.options, 1)
            write = "-".join([stem, *near])
            raise _MisnamedError(f"{option!r} is no option, {family.name} {known}; write {write}")
    return frozenset(given)


def _cutoff(family: Family, given: str | None) -> int | None:
    if given is not None and not _CUTOFF.fullmatch(given):
        usual = f"{family.name}@{USUAL_CUTOFF}"
        raise _MisnamedError(f"after @ stands a whole number from 1 to 999999, got {given!r}; write {usual}")
    return None if given is None else int(given)


def _threshold(family: Family, given: str | None) -> str:
    """Give a threshold with two digits after the point, or as many as it needs."""
    text = family.threshold if given is None else given
    if not _THRESHOLD.fullmatch(text) or not Decimal(text):
        usual = f"{family.name}@{family.threshold}"
        raise _MisnamedError(f"after @ stands a number above 0, up to 1, got {text!r}; write {usual}")
    whole, _, digits = text.partition(".")
    return f"{whole or '0'}.{digits.rstrip('0').ljust(2, '0')}"


@cache
def _made(name: str, setting: Setting) -> ComputedMetric:
    """Make the metric of a setting, once, under its usual name."""
    family = FAMILIES[name]
    at = setting.k if setting.k is not None else setting.threshold
    options = "".join(f"-{option}" for option in family.options if option in setting.options)
    return family.make(f"{name}{f'@{at}' if at else ''}{options}", setting)
