"""The rules for the gold of one sample: its own consistency, and its consistency with the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from greval._util.wording import names
from greval.analysis.gold.finding import Level
from greval.analysis.gold.index_lookup import Holdings, Names
from greval.metrics.computed.graph_walk import plain, write_edge
from greval.records.case import Edge, Gold

Told = tuple[Level, str]
LISTS = ("essential_docs", "helpful_docs", "essential_repos", "expected_nodes", "start_nodes", "answers")
DOUBTFUL = ("essential_docs", "expected_edges", "expected_nodes", "start_nodes", "answers")
"""Lists that are rarely empty on purpose."""


def in_itself(gold: Gold) -> Iterator[Told]:
    """Report the contradictions within the gold of a sample.

    Example:
        >>> [level for level, _ in check_consistency(Gold(essential_docs=("d1", "d1")))]
        ['remark']
    """
    yield from _lists(gold)
    if both := [name for name in gold.helpful_docs or () if name in (gold.essential_docs or ())]:
        are = "is" if len(both) == 1 else "are"
        yield "fault", f"gold.helpful_docs: {names(both)} {are} essential too; keep it in one of the two"
    yield from _grades(gold)
    yield from _edges(gold)
    yield from _aliases(gold)


def _grades(gold: Gold) -> Iterator[Told]:
    """Report documents that are listed as relevant and graded as not relevant, and empty names."""
    grades = gold.grades or {}
    for field in ("essential_docs", "helpful_docs"):
        if low := [name for name in getattr(gold, field) or () if grades.get(name, 1) <= 0]:
            yield "fault", f"gold.{field}: {names(low)} graded 0 or less in gold.grades; keep one of the two"
    if any(not name.strip() for name in grades):
        yield "fault", "gold.grades: holds an empty name; take it out"


def in_index(gold: Gold, holdings: Holdings) -> Iterator[Told]:
    """Report what the gold names and the index does not hold.

    Args:
        gold: The gold of a sample.
        holdings: The contents of the index; a kind of item of which it holds nothing is not checked.
    """
    relevant = [name for name, grade in (gold.grades or {}).items() if grade > 0]
    named = {"essential_docs": gold.essential_docs, "helpful_docs": gold.helpful_docs, "grades": relevant}
    for field, documents in named.items():
        missing = [name for name in documents or () if name not in holdings.documents]
        if missing and holdings.documents:
            yield "fault", f"gold.{field}: {names(missing)} not in the index; index it, or mend the id"
    known = Names(gold, holdings)
    yield from _nodes_in_index(gold, holdings, known)
    if holdings.ties:
        missing = [_written(edge) for edge in gold.expected_edges or () if not _held(edge, holdings, known)]
        if missing:
            yield (
                "fault",
                f"gold.expected_edges: {names(missing)} not in the index; mend the edge, or index its document",
            )


def _lists(gold: Gold) -> Iterator[Told]:
    """Report lists that hold a name twice, an empty name, or nothing."""
    for field in LISTS:
        counts = Counter(getattr(gold, field) or ())
        if twice := [name for name, count in counts.items() if count > 1]:
            yield "remark", f"gold.{field}: {names(twice)} more than once; once is enough"
        if any(not name.strip() for name in counts):
            yield "fault", f"gold.{field}: holds an empty name; take it out"
    for field in DOUBTFUL:
        if getattr(gold, field) == ():
            yield (
                "remark",
                f"gold.{field}: is empty, which says that none is needed; leave it out where it is not known",
            )


def _edges(gold: Gold) -> Iterator[Told]:
    """Report edges and nodes that are inconsistent with each other."""
    group = Names(gold, None).all
    edges = gold.expected_edges or ()
    ends = {end for source, _, target in edges for end in (source, target)}
    if any(not end.strip() for end in ends):
        yield (
            "fault",
            "gold.expected_edges: holds an empty name; an edge is (source, label, target) or (source, target)",
        )
    loose = [name for name in gold.expected_nodes or () if edges and _lacks(ends, group(name))]
    yield from _unknown_ends(gold, loose)
    if loose:
        yield "remark", f"gold.expected_nodes: {names(loose)} on no expected edge; is an edge missing?"
    begun = (*ends, *(gold.expected_nodes or ()))
    if begun and (apart := [name for name in gold.start_nodes or () if _lacks(begun, group(name))]):
        yield "fault", f"gold.start_nodes: {names(apart)} on no expected edge and no expected node; mend the name"


def _unknown_ends(gold: Gold, loose: Collection[str]) -> Iterator[Told]:
    """Report ends of edges that are not among the expected nodes.

    Start nodes may be missing there. If the gold names no start nodes, an unknown end may be one: the finding is then
    only a remark. It is a fault if both ends of an edge are unknown, or if an expected node is on no edge.
    """
    group, edges = Names(gold, None).all, gold.expected_edges or ()
    known = (*(gold.expected_nodes or ()), *(gold.start_nodes or ()))
    ends = {end for source, _, target in edges for end in (source, target)}
    unknown = sorted(end for end in ends if _lacks(known, group(end)))
    if not gold.expected_nodes or not unknown:
        return
    whole = any({source, target} <= {*unknown} for source, _, target in edges)
    told = f"gold.expected_edges: {names(unknown)} not among expected_nodes"
    if gold.start_nodes or whole or loose:
        yield "fault", f"{told}; add it there, or mend the name"
    else:
        yield "remark", f"{told}; if the walk begins there name it in start_nodes, else add it or mend it"


def _lacks(among: Iterable[str], wanted: frozenset[str]) -> bool:
    return wanted.isdisjoint(map(plain, among))


def _aliases(gold: Gold) -> Iterator[Told]:
    """Report names that are aliases of two nodes, and aliases of unknown names."""
    owners: dict[str, set[str]] = {}
    for name, others in (gold.aliases or {}).items():
        for own in (name, *others):
            owners.setdefault(plain(own), set()).add(name)
    for own, of in owners.items():
        if len(of) > 1:
            yield "fault", f"gold.aliases: {own!r} stands for {' and '.join(sorted(of))}; let it stand for one"
    used = {end for source, _, target in gold.expected_edges or () for end in (source, target)}
    used |= {*(gold.expected_nodes or ()), *(gold.start_nodes or ())}
    if idle := [name for name in gold.aliases or {} if plain(name) not in set(map(plain, used))]:
        yield "remark", f"gold.aliases: {names(idle)} is named nowhere else in the gold; mend the name, or take it out"


def _nodes_in_index(gold: Gold, holdings: Holdings, known: Names) -> Iterator[Told]:
    """Report the nodes of each field that the index does not hold."""
    ends = [end for source, _, target in gold.expected_edges or () for end in (source, target)]
    fields = {"expected_nodes": gold.expected_nodes or (), "start_nodes": gold.start_nodes or ()}
    for field, nodes in {**fields, "expected_edges": tuple(dict.fromkeys(ends))}.items():
        missing = [name for name in nodes if not any(own in holdings.nodes for own in known.all(name))]
        if missing and holdings.nodes:
            yield "fault", f"gold.{field}: no node {names(missing)} in the index; mend the name, or give its alias"


def _held(edge: Edge, holdings: Holdings, known: Names) -> bool:
    """Return whether the index holds an edge.

    An edge with an end that is not in the index counts as held, because its missing node is reported already.
    """
    source, label, target = edge
    ends = known.all(source), known.all(target)
    if holdings.nodes and not all(any(own in holdings.nodes for own in names_) for names_ in ends):
        return True
    own = plain(label)
    return holdings.ties.documents(ends[0], own if own and own in holdings.ties.labels else None, ends[1]) is not None


def _written(edge: Edge) -> str:
    return write_edge(*edge)
