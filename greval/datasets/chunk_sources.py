"""Repositories and versions of chunks and nodes, derived from their document ids by a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

from greval.errors import DataError
from greval.records.case import Case, Chunk, NodeSource, Traversal

T = TypeVar("T")
SOURCE_FIELDS = ("repo", "version")
CHECKED_CASES = 1_000
"""The number of cases checked before the first is yielded: a pattern that matches none of them is an error."""
EXAMPLE = r"^(?P<repo>[^/@]+)@(?P<version>[^/]+)/"


def fill_sources(rows: Iterable[Case | T], pattern: str) -> Iterator[Case | T]:
    """Fill in the repository and version of chunks and visited nodes from their document ids.

    A chunk is matched by its `doc_id`, or by its own id if it has none; a node by its `doc_id` in
    `traversal.nodes`, or by its own name. Values that are already recorded stay unchanged, and so does what does
    not match.

    Args:
        rows: Cases; anything else, such as a faulty row, is passed through unchanged.
        pattern: A regular expression with a group `repo` or `version`, or both, that is searched in each id.

    Raises:
        DataError: If the pattern is not a valid regular expression or has neither group, or if it matches no id of
            the first 1,000 cases.

    Example:
        >>> case = Case(question="?", chunks=[{"text": "", "doc_id": "core@v2/auth.py"}])
        >>> [filled] = fill_sources([case], r"^(?P<repo>[^/@]+)@(?P<version>[^/]+)/")
        >>> filled.chunks[0].repo, filled.chunks[0].version
        ('core', 'v2')
    """
    return _fill_rows(rows, read_pattern(pattern))


def read_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; raise `DataError` if it is not a valid regular expression or has neither group."""
    try:
        rule = re.compile(pattern)
    except re.error as error:
        raise DataError(
            f"doc_id pattern {pattern!r}: no regular expression: {error}; write such as {EXAMPLE}"
        ) from error
    if not {*SOURCE_FIELDS} & rule.groupindex.keys():
        raise DataError(f"doc_id pattern {pattern!r}: has no group named repo or version; write such as {EXAMPLE}")
    return rule


def _fill_rows(rows: Iterable[Case | T], rule: re.Pattern[str]) -> Iterator[Case | T]:
    following = iter(rows)
    first = [*islice(following, CHECKED_CASES)]
    ids = [source_id for row in first if isinstance(row, Case) for source_id in _list_ids(row)]
    if ids and not any(map(rule.search, ids)):
        raise DataError(
            f"doc_id pattern {rule.pattern!r}: matches no id of a chunk or node in the first {len(first):,} cases, "
            f"such as {ids[0]!r}; mend it"
        )
    for row in chain(first, following):
        yield _fill_case(row, rule) if isinstance(row, Case) else row


def _list_ids(case: Case) -> Iterator[str]:
    """Yield the ids of a case that the pattern is searched in."""
    yield from (chunk.doc_id or chunk.id for chunk in case.chunks or ())
    if case.traversal:
        nodes = case.traversal.nodes or {}
        yield from (nodes.get(name, NodeSource()).doc_id or name for name in case.traversal.visited)


def _fill_case(case: Case, rule: re.Pattern[str]) -> Case:
    chunks = case.chunks and tuple(_derive(chunk, chunk.doc_id or chunk.id, rule) for chunk in case.chunks)
    walk = case.traversal and _fill_walk(case.traversal, rule)
    return case.model_copy(update={"chunks": chunks, "traversal": walk})


def _fill_walk(walk: Traversal, rule: re.Pattern[str]) -> Traversal:
    recorded = walk.nodes or {}
    nodes = {**recorded}
    for name in walk.visited:
        node = recorded.get(name, NodeSource())
        derived = _derive(node, node.doc_id or name, rule)
        if derived != node:
            nodes[name] = derived
    return walk.model_copy(update={"nodes": nodes}) if nodes else walk


P = TypeVar("P", Chunk, NodeSource)


def _derive(part: P, name: str, rule: re.Pattern[str]) -> P:
    """Return a chunk or node with the values of the matched groups that are not recorded yet."""
    match = rule.search(name)
    groups = match.groupdict() if match else {}
    new = {key: groups[key] for key in SOURCE_FIELDS if groups.get(key) and getattr(part, key) is None}
    return part.model_copy(update=new) if new else part
