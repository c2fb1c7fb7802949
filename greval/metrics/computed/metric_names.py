"""Names of computed metrics: `ndcg@10-exponential` is the metric's code, command-line argument and key.

A name consists of a family, a cut-off or threshold after @, and options after hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from functools import cache

from greval._util.wording import find_similar
from greval.metrics.computed import (
    claim_shares,
    efficiency,
    judged_ranking,
    ranking,
    repository,
    shared_words,
    text,
    traversal,
)
from greval.metrics.computed.families import MetricFamily, MetricSetting
from greval.metrics.computed.judged_ranking import JUDGED
from greval.records.metric import FunctionMetric

FAMILIES: dict[str, MetricFamily] = {
    family.name: family
    for families in (ranking, repository, traversal, text, shared_words, efficiency)
    for family in families.FAMILIES
}
"""Every family of metrics that are computed from a case, by name."""
JUDGED_FAMILIES: dict[str, MetricFamily] = {family.name: family for family in judged_ranking.FAMILIES}
"""Every family of metrics that are computed from verdicts, by name; their names have the option `judged`."""
CLAIM_FAMILIES: dict[str, MetricFamily] = {family.name: family for family in claim_shares.FAMILIES}
"""Every family of metrics that are computed from the verdicts on claims, by name."""

# Every text matches, so that a wrong setting gets a message of its own.
_NAME = re.compile(r"(?P<base>[^@-]*)(?:@(?P<at>[^-]*))?(?P<options>(?:-.*)?)", re.DOTALL)
_CUTOFF_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_THRESHOLD_NUMBER = re.compile(r"0?\.[0-9]{1,4}|1(?:\.0{1,4})?")
EXAMPLE_CUTOFF = 10
EXAMPLE_THRESHOLD = "0.50"


class _BadNameError(ValueError):
    """The name belongs to a family, but its setting is invalid."""


def find_computed_metric(name: str) -> FunctionMetric | None:
    """Return the computed metric of a name, a family with its setting such as `ndcg@5`; None if the name is unknown.

    With the option `judged` it is one that is computed from verdicts, such as `ndcg@5-judged`; so is one of claims,
    such as `claim_recall`.

    Its own name is the standard form, such as `fuzzy_containment@0.90` for `@0.9`. Equal metrics are the same object.

    Example:
        >>> find_computed_metric("edge_recall-unlabelled-undirected").name
        'edge_recall-undirected-unlabelled'
        >>> find_computed_metric("ndcg@ten") is None
        True
    """
    try:
        parsed = _parse_name(name)
    except _BadNameError:
        return None
    return _build_metric(*parsed) if parsed else None


def explain_bad_name(name: str) -> str | None:
    """Return the fault of a name that begins with a computed family, with a correction; None for other names."""
    try:
        _parse_name(name)
    except _BadNameError as error:
        return str(error)
    return None


def list_name_variants(name: str) -> list[str]:
    """List the names of all families with the setting of this name, as suggestions for a misspelt name."""
    setting = name[len(_split_name(name)["base"] or "") :]
    judged = (f"{family}{setting}{end}" for family in JUDGED_FAMILIES for end in ("", f"-{JUDGED}"))
    names = dict.fromkeys((*(f"{family}{setting}" for family in (*FAMILIES, *CLAIM_FAMILIES)), *judged))
    return [variant for variant in names if find_computed_metric(variant)]


def _split_name(name: str) -> re.Match[str]:
    """Split a name into base, number and options; every text matches."""
    match = _NAME.fullmatch(name)
    assert match  # noqa: S101 - the last part matches any rest
    return match


def _parse_name(name: str) -> tuple[str, MetricSetting] | None:
    """Parse a name, None if it has no known family; raise `_BadNameError` if the family has no such setting."""
    parts = _split_name(name)
    option_words = parts["options"].split("-")[1:]
    family = _find_family(parts["base"], option_words)
    if family is None:
        return None
    options = _parse_options(family, parts["at"], option_words)
    if family.at == "cutoff":
        return family.name, MetricSetting(k=_parse_cutoff(family, parts["at"]), options=options)
    if family.at == "threshold":
        return family.name, MetricSetting(threshold=_parse_threshold(family, parts["at"]), options=options)
    if parts["at"] is not None:
        raise _BadNameError(f"{family.name} has no number after @; write {family.name}")
    return family.name, MetricSetting(options=options)


def _find_family(base: str, options: Collection[str]) -> MetricFamily | None:
    """Return the family of a name, that of verdicts if it has the option `judged`; None if it is unknown."""
    if JUDGED in options and base in JUDGED_FAMILIES:
        return JUDGED_FAMILIES[base]
    return FAMILIES.get(base) or CLAIM_FAMILIES.get(base)


def _parse_options(family: MetricFamily, at: str | None, words: list[str]) -> frozenset[str]:
    stem = family.name if at is None else f"{family.name}@{at}"
    # `-judged` leads to another family of the same name; here it is suggested as if it were an option.
    further = (JUDGED,) if family.name in JUDGED_FAMILIES and JUDGED not in family.options else ()
    for option in words:
        if option not in family.options:
            options = (*family.options, *further)
            allowed = f"has {', '.join(options)}" if options else "has none"
            similar = find_similar(option, options)
            write = f"{stem}-{similar}" if similar else stem
            raise _BadNameError(f"{option!r} is no option, {family.name} {allowed}; write {write}")
    return frozenset(words)


def _parse_cutoff(family: MetricFamily, text: str | None) -> int | None:
    if text is not None and not _CUTOFF_NUMBER.fullmatch(text):
        usual = f"{family.name}@{EXAMPLE_CUTOFF}"
        raise _BadNameError(f"after @ stands a whole number from 1 to 999999, got {text!r}; write {usual}")
    return None if text is None else int(text)


def _parse_threshold(family: MetricFamily, at: str | None) -> str:
    """Return a threshold with at least two digits after the point; an empty one if the family needs none."""
    text = family.threshold if at is None else at
    if at is None and not text:
        return ""
    if not _THRESHOLD_NUMBER.fullmatch(text) or not Decimal(text):
        usual = f"{family.name}@{family.threshold or EXAMPLE_THRESHOLD}"
        raise _BadNameError(f"after @ stands a number above 0, up to 1, got {text!r}; write {usual}")
    integer, _, digits = text.partition(".")
    return f"{integer or '0'}.{digits.rstrip('0').ljust(2, '0')}"


@cache
def _build_metric(name: str, setting: MetricSetting) -> FunctionMetric:
    """Build the metric of a setting under its standard name; cached, so that equal metrics are the same object."""
    family = (JUDGED_FAMILIES if JUDGED in setting.options else FAMILIES | CLAIM_FAMILIES)[name]
    at = setting.k if setting.k is not None else setting.threshold
    options = "".join(f"-{option}" for option in family.options if option in setting.options)
    return family.make(f"{name}{f'@{at}' if at else ''}{options}", setting)
