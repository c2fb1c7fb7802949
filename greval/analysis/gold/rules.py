"""The findings on the gold of a sample: its own consistency, and its consistency with the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from greval._util.wording import format_names
from greval.analysis.gold.index_lookup import IndexLookup, NodeNames
from greval.metrics.computed.graph_walk import format_edge, normalise_name
from greval.records.case import Edge, Gold
from greval.records.record import Record

FindingLevel = Literal["fault", "remark"]
RuleMessage = tuple[FindingLevel, str]
LIST_FIELDS = ("essential_docs", "helpful_docs", "essential_repos", "expected_nodes", "start_nodes", "answers")
SELDOM_EMPTY = ("essential_docs", "expected_edges", "expected_nodes", "start_nodes", "answers")
"""Lists that are rarely empty on purpose."""


class GoldFinding(Record):
    """A finding on the gold of a sample.

    `place` is a file and a line, or the sample's id. `level` is `fault` if figures would be wrong or missing, and
    `remark` if it may be intended. `message` says what is wrong and what to do.
    """

    place: str
    sample_id: str
    level: FindingLevel = "fault"
    message: str

    def __str__(self) -> str:
        where = self.place if self.sample_id in self.place else f"{self.place}: {self.sample_id}"
        return f"{where}: {'' if self.level == 'fault' else 'remark: '}{self.message}"


def check_consistency(gold: Gold) -> Iterator[RuleMessage]:
    """Report the contradictions within the gold of a sample."""
    yield from _check_lists(gold)
    if both := [name for name in gold.helpful_docs or () if name in (gold.essential_docs or ())]:
        are = "is" if len(both) == 1 else "are"
        yield "fault", f"gold.helpful_docs: {format_names(both)} {are} essential too; keep it in one of the two"
    yield from _check_grades(gold)
    yield from _check_edges(gold)
    yield from _check_aliases(gold)


def _check_grades(gold: Gold) -> Iterator[RuleMessage]:
    """Report documents that are listed as relevant and graded as not relevant, and empty names."""
    grades = gold.grades or {}
    for field in ("essential_docs", "helpful_docs"):
        if low := [name for name in getattr(gold, field) or () if grades.get(name, 1) <= 0]:
            yield "fault", f"gold.{field}: {format_names(low)} graded 0 or less in gold.grades; keep one of the two"
    if any(not name.strip() for name in grades):
        yield "fault", "gold.grades: holds an empty name; take it out"


def check_index(gold: Gold, holdings: IndexLookup) -> Iterator[RuleMessage]:
    """Report what the gold names and the index does not hold; kinds of which it holds nothing are not checked."""
    relevant = [name for name, grade in (gold.grades or {}).items() if grade > 0]
    documents_by_field = {"essential_docs": gold.essential_docs, "helpful_docs": gold.helpful_docs, "grades": relevant}
    for field, documents in documents_by_field.items():
        missing = [name for name in documents or () if name not in holdings.documents]
        if missing and holdings.documents:
            yield "fault", f"gold.{field}: {format_names(missing)} not in the index; index it, or mend the id"
    node_names = NodeNames(gold, holdings)
    yield from _check_nodes(gold, holdings, node_names)
    if holdings.ties:
        missing = [
            format_edge(*edge) for edge in gold.expected_edges or () if not _has_edge(edge, holdings, node_names)
        ]
        if missing:
            remedy = "mend the edge, or index its document"
            yield "fault", f"gold.expected_edges: {format_names(missing)} not in the index; {remedy}"


def _check_lists(gold: Gold) -> Iterator[RuleMessage]:
    """Report lists that hold a name twice, an empty name, or nothing."""
    for field in LIST_FIELDS:
        counts = Counter(getattr(gold, field) or ())
        if repeated := [name for name, count in counts.items() if count > 1]:
            yield "remark", f"gold.{field}: {format_names(repeated)} more than once; once is enough"
        if any(not name.strip() for name in counts):
            yield "fault", f"gold.{field}: holds an empty name; take it out"
    for field in SELDOM_EMPTY:
        if getattr(gold, field) == ():
            yield "remark", f"gold.{field}: is empty, so none is needed; leave it out if it is not known"


def _check_edges(gold: Gold) -> Iterator[RuleMessage]:
    """Report edges and nodes that are inconsistent with each other."""
    group = NodeNames(gold, None).find_names
    edges = gold.expected_edges or ()
    ends = {end for source, _, target in edges for end in (source, target)}
    if any(not end.strip() for end in ends):
        form = "(source, label, target) or (source, target)"
        yield "fault", f"gold.expected_edges: holds an empty name; an edge is {form}"
    loose = [name for name in gold.expected_nodes or () if edges and _is_missing(ends, group(name))]
    yield from _check_edge_ends(gold, loose)
    if loose:
        yield "remark", f"gold.expected_nodes: {format_names(loose)} on no expected edge; is an edge missing?"
    begun = (*ends, *(gold.expected_nodes or ()))
    if begun and (apart := [name for name in gold.start_nodes or () if _is_missing(begun, group(name))]):
        yield "fault", f"gold.start_nodes: {format_names(apart)} on no expected edge or node; mend the name"


def _check_edge_ends(gold: Gold, loose: Collection[str]) -> Iterator[RuleMessage]:
    """Report ends of edges that are not among the expected nodes.

    It is a remark if the gold names no start nodes, unless both ends of an edge are unknown or an expected node is on
    no edge.
    """
    group, edges = NodeNames(gold, None).find_names, gold.expected_edges or ()
    declared = (*(gold.expected_nodes or ()), *(gold.start_nodes or ()))
    ends = {end for source, _, target in edges for end in (source, target)}
    unknown = sorted(end for end in ends if _is_missing(declared, group(end)))
    if not gold.expected_nodes or not unknown:
        return
    has_unknown_edge = any({source, target} <= {*unknown} for source, _, target in edges)
    message = f"gold.expected_edges: {format_names(unknown)} not among expected_nodes"
    # Start nodes may be missing among the expected ones; if none are named, a single unknown end may be one.
    if gold.start_nodes or has_unknown_edge or loose:
        yield "fault", f"{message}; add it there, or mend the name"
    else:
        yield "remark", f"{message}; if the walk begins there name it in start_nodes, else add it or mend it"


def _is_missing(among: Iterable[str], names: frozenset[str]) -> bool:
    return names.isdisjoint(map(normalise_name, among))


def _check_aliases(gold: Gold) -> Iterator[RuleMessage]:
    """Report names that are aliases of two nodes, and aliases of unknown names."""
    owners: dict[str, set[str]] = {}
    for name, aliases in (gold.aliases or {}).items():
        for spelling in (name, *aliases):
            owners.setdefault(normalise_name(spelling), set()).add(name)
    for spelling, of in owners.items():
        if len(of) > 1:
            yield "fault", f"gold.aliases: {spelling!r} stands for {' and '.join(sorted(of))}; let it stand for one"
    used = {end for source, _, target in gold.expected_edges or () for end in (source, target)}
    used |= {*(gold.expected_nodes or ()), *(gold.start_nodes or ())}
    if idle := [name for name in gold.aliases or {} if normalise_name(name) not in set(map(normalise_name, used))]:
        remedy = "mend the name, or take it out"
        yield "remark", f"gold.aliases: {format_names(idle)} is named nowhere else in the gold; {remedy}"


def _check_nodes(gold: Gold, holdings: IndexLookup, node_names: NodeNames) -> Iterator[RuleMessage]:
    """Report the nodes of each field that the index does not hold."""
    ends = [end for source, _, target in gold.expected_edges or () for end in (source, target)]
    fields = {"expected_nodes": gold.expected_nodes or (), "start_nodes": gold.start_nodes or ()}
    for field, nodes in {**fields, "expected_edges": tuple(dict.fromkeys(ends))}.items():
        missing = [name for name in nodes if holdings.nodes.keys().isdisjoint(node_names.find_names(name))]
        if missing and holdings.nodes:
            remedy = "mend the name, or give its alias"
            yield "fault", f"gold.{field}: no node {format_names(missing)} in the index; {remedy}"


def _has_edge(edge: Edge, holdings: IndexLookup, node_names: NodeNames) -> bool:
    """Return whether the index holds an edge, or lacks one of its ends."""
    source, label, target = edge
    ends = node_names.find_names(source), node_names.find_names(target)
    # The missing node is reported already.
    if holdings.nodes and any(holdings.nodes.keys().isdisjoint(names) for names in ends):
        return True
    normalised = normalise_name(label)
    known_label = normalised if normalised in holdings.ties.labels else ""
    return holdings.ties.find_documents(ends[0], known_label or None, ends[1]) is not None
