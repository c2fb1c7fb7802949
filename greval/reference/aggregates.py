"""Aggregates: counts and groupings over the whole graph, computed in Cypher for questions such as "which has most?".

With a schema, the words of the question decide what is counted: relations, filters (entities that it names) and the
type to group by. Documents are counted, each once, however many of its chunks state a relation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from greval._util.wording import format_count
from greval.methods.index_records import find_document
from greval.reference.count_questions import (
    CountQuestion,
    find_named_entities,
    read_count_question,
)
from greval.reference.schema import GraphSchema, RelationType

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex

Where = Mapping[str, str | Collection[str]]

MAX_VALUES = 20
"""The most values that one aggregate lists."""
MAX_AGGREGATES = 12
"""The most aggregates of one question."""


class _Companion(NamedTuple):
    """Entities of a further type that a counted document must have.

    `label` is the relation between them and the sources, which the documents state; if it is empty, they are
    sources of the counted relation themselves.
    """

    kind: str
    names: tuple[str, ...] = ()
    label: str = ""
    forward: bool = True


@dataclass(frozen=True)
class _Count:
    """A count of documents that state a relation, grouped by the entities of one type.

    It is grouped by the variable `by`: `s` (sources), `t` (targets) or `x` (companions), by entities of `kind`. No
    names of sources or of targets: all count.
    """

    label: str
    by: str
    kind: str
    source_kinds: tuple[str, ...]
    target_kinds: tuple[str, ...]
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    companion: _Companion | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the groups are restricted to; if it is empty, all are."""
        companions = self.companion.names if self.companion else ()
        return {"s": self.sources, "t": self.targets, "x": companions}[self.by]


class Tally(NamedTuple):
    """A count that a question asks for: the documents that state a relation, by the entities of one type.

    `names` are those that the groups are restricted to; if it is empty, all are.
    """

    label: str
    kind: str
    names: tuple[str, ...]
    documents: Mapping[str, frozenset[str]]


def compute_aggregates(index: ReferenceIndex, question: str, where: Where | None = None) -> tuple[str, ...]:
    """Return what a question asks to be counted, as texts for an answering model; empty if it asks for no count.

    An index without a schema has no counts.
    """
    schema = index.manifest.graph_schema
    if schema is None:
        return ()
    count_question = read_count_question(index, schema, question)
    scope = _Scope(index, where)
    texts = (_compute_count(scope, schema, count, count_question) for count in _plan_counts(schema, count_question))
    return tuple(text for text in texts if text)


def list_tallies(index: ReferenceIndex, question: str) -> list[Tally]:
    """Return the documents behind the counts that a question asks for, as `compute_aggregates` counts them."""
    schema = index.manifest.graph_schema
    if schema is None:
        return []
    scope = _Scope(index, None)
    return [
        Tally(
            count.label,
            count.kind,
            count.names,
            {name: frozenset(documents) for name, documents in _list_documents(scope, count).items()},
        )
        for count in _plan_counts(schema, read_count_question(index, schema, question))
    ]


def _plan_counts(schema: GraphSchema, count_question: CountQuestion) -> list[_Count]:
    """Return the counts that answer a question, each once."""
    planners = (_Planner(schema, count_question, label) for label in count_question.labels)
    return [*dict.fromkeys(count for planner in planners for count in planner.plan_counts())][:MAX_AGGREGATES]


def derive_filter(index: ReferenceIndex, question: str) -> dict[str, tuple[str, ...]]:
    """Return the metadata filter that a question implies: the tags whose values it names, by the schema.

    It is empty if the question names none, or if no chunk has all of the tags that it names.
    """
    schema = index.manifest.graph_schema
    if schema is None or not schema.tags:
        return {}
    tags = {kind: tag for tag, kind in schema.tags.items()}
    where: dict[str, tuple[str, ...]] = {}
    for entity in find_named_entities(index, question, schema):
        if entity.type in tags:
            values = where.get(tags[entity.type], ())
            where[tags[entity.type]] = tuple(dict.fromkeys((*values, entity.name, *entity.aliases)))
    selected = index.select_chunks(where)
    # A filter that would leave nothing is not used.
    return where if selected is not None and selected.any() else {}


class _Scope:
    """The documents that are counted, and the graph that is asked."""

    def __init__(self, index: ReferenceIndex, where: Where | None) -> None:
        self.graph = index.graph
        selected = index.select_chunks(where) if where else None
        ids: Sequence[str] = index.chunk_ids
        if selected is not None:
            ids = [chunk for chunk, is_selected in zip(ids, selected, strict=True) if is_selected]
        documents = frozenset(map(find_document, ids))
        self.size = len(documents)
        self.documents = None if selected is None else documents

    def list_names(self, kind: str) -> list[str]:
        """Return the names of all entities of a type."""
        rows = self.graph.query("MATCH (e:Entity) WHERE e.type = $kind RETURN e.name AS name", {"kind": kind})
        return [str(row["name"]) for row in rows]


class _Planner:
    """Decides which counts of one relation answer a question."""

    def __init__(self, schema: GraphSchema, count_question: CountQuestion, label: str) -> None:
        self._label = label
        self._relation = schema.relations[label]
        self._joins = find_joins(schema, self._relation)
        self._group_by = count_question.group_by
        names_by_kind: dict[str, tuple[str, ...]] = {}
        for entity in count_question.entities:
            names_by_kind[entity.type] = (*names_by_kind.get(entity.type, ()), entity.name)
        self._sources = {kind: names for kind, names in names_by_kind.items() if self._is_source(kind)}
        self._targets = {kind: names for kind, names in names_by_kind.items() if kind in self._relation.to}
        # A type that can be on both sides is taken for a source.
        self._targets = {kind: names for kind, names in self._targets.items() if kind not in self._sources}
        self._target_names = tuple(name for names in self._targets.values() for name in names)

    def plan_counts(self) -> Iterator[_Count]:
        """Iterate over the counts: by the types that are asked for, else by the side of which nothing is named."""
        groups = [kind for kind in self._group_by if self._is_source(kind) or kind in self._relation.to]
        for kind in groups:
            if self._is_source(kind):
                yield self._group_sources(kind, self._sources.get(kind, ()), self._target_names)
            else:
                yield from self._group_targets(kind, ())
        if not groups:
            yield from self._plan_without_groups()

    def _plan_without_groups(self) -> Iterator[_Count]:
        if self._target_names and not (self._sources and len(self._target_names) > 1):
            for kind, names in (self._sources or dict.fromkeys(self._relation.from_, ())).items():
                yield self._group_sources(kind, names, self._target_names)
            return
        for kind, names in self._sources.items():
            if len(names) > 1 and not self._target_names:
                yield self._group_sources(kind, names, ())
        for kind in self._relation.to:
            yield from self._group_targets(kind, self._targets.get(kind, ()))

    def _is_source(self, kind: str) -> bool:
        return kind in self._relation.from_ or kind in self._joins

    def _group_sources(self, kind: str, names: tuple[str, ...], targets: tuple[str, ...]) -> _Count:
        """Return the count by sources of one type; if others are named, of documents that have one of these as well."""
        ends = self._relation.from_, self._relation.to
        if kind in self._joins:
            return _Count(self._label, "x", kind, *ends, targets=targets, companion=self._join(kind, names))
        companions = [
            self._join(source_kind, source_names)
            for source_kind, source_names in self._sources.items()
            if source_kind != kind and not names
        ]
        return _Count(self._label, "s", kind, (kind,), ends[1], names, targets, companions[0] if companions else None)

    def _group_targets(self, kind: str, targets: tuple[str, ...]) -> Iterator[_Count]:
        """Iterate over the counts by targets of one type, one count for each named source."""
        if not self._sources:
            yield _Count(self._label, "t", kind, self._relation.from_, (kind,), targets=targets)
        for source_kind, name in ((kind, name) for kind, names in self._sources.items() for name in names):
            if source_kind in self._joins:
                joined = self._join(source_kind, (name,))
                yield _Count(self._label, "t", kind, self._relation.from_, (kind,), (), targets, joined)
            else:
                yield _Count(self._label, "t", kind, (source_kind,), (kind,), (name,), targets)

    def _join(self, kind: str, names: tuple[str, ...]) -> _Companion:
        label, forward = self._joins.get(kind, ("", True))
        return _Companion(kind, names, label, forward)


def find_joins(schema: GraphSchema, relation: RelationType) -> dict[str, tuple[str, bool]]:
    """Return the types that are no end of a relation, but that documents relate to its sources, each with how."""
    joins: dict[str, tuple[str, bool]] = {}
    for label, between in schema.stated_by_documents.items():
        for kind in between.from_ if {*between.to} & {*relation.from_} else ():
            joins.setdefault(kind, (label, True))
        for kind in between.to if {*between.from_} & {*relation.from_} else ():
            joins.setdefault(kind, (label, False))
    return {kind: how for kind, how in joins.items() if kind not in relation.from_ and kind not in relation.to}


def _build_match(count: _Count) -> tuple[str, dict[str, object]]:
    """Return the MATCH of a count with its parameters, without its companion."""
    # The text is made of fixed parts: names and labels are parameters only.
    # It has a single relation: over patterns of two, ladybug 0.22.0 loses rows if both the first relation and its
    # node have a condition.
    conditions = ["r.label = $label", "s.type IN $source_kinds", "t.type IN $target_kinds"]
    parameters: dict[str, object] = {
        "label": count.label,
        "source_kinds": [*count.source_kinds],
        "target_kinds": [*count.target_kinds],
    }
    if count.sources:
        conditions.append("s.name IN $sources")
        parameters["sources"] = [*count.sources]
    if count.targets:
        conditions.append("t.name IN $targets")
        parameters["targets"] = [*count.targets]
    return (
        f"MATCH (s:Entity)-[r:RELATION]->(t:Entity) WHERE {' AND '.join(conditions)} "
        "UNWIND r.documents AS document WITH s, t, document"
    ), parameters


def _count_groups(scope: _Scope, count: _Count) -> tuple[dict[str, int], int]:
    """Return the number of documents by group, and in all."""
    match, parameters = _build_match(count)
    # Cypher counts by itself only without a filter and a companion.
    if scope.documents is None and count.companion is None:
        number = "count(DISTINCT document) AS number"
        rows = scope.graph.query(f"{match} RETURN {count.by}.name AS name, {number}", parameters)
        total = scope.graph.query(f"{match} RETURN {number}", parameters)
        return {str(row["name"]): int(str(row["number"])) for row in rows}, sum(
            int(str(row["number"])) for row in total
        )
    groups = _list_documents(scope, count)
    return {name: len(documents) for name, documents in groups.items()}, len(set[str]().union(*groups.values()))


def _list_documents(scope: _Scope, count: _Count) -> Mapping[str, set[str]]:
    """Return the counted documents by group."""
    match, parameters = _build_match(count)
    groups: dict[str, set[str]] = defaultdict(set)
    companions = _read_companions(scope, count)
    end = "t" if count.companion and not count.companion.label else "s"
    for row in scope.graph.query(f"{match} RETURN DISTINCT s.name AS s, t.name AS t, document", parameters):
        document = str(row["document"])
        if scope.documents is not None and document not in scope.documents:
            continue
        if companions is None:
            groups[str(row[count.by])].add(document)
            continue
        for name in companions.get((str(row[end]), document), ()):
            groups[name if count.by == "x" else str(row[count.by])].add(document)
    return groups


def _read_companions(scope: _Scope, count: _Count) -> dict[tuple[str, str], list[str]] | None:
    """Return the companions by what they are related to in which document; None if the count has no companion."""
    if count.companion is None:
        return None
    kind, names, label, forward = count.companion
    this, opposite = ("s", "t") if forward else ("t", "s")
    conditions = ["r.label = $label", f"{this}.type = $kind", *([f"{this}.name IN $names"] if names else [])]
    parameters = {"label": label or count.label, "kind": kind, **({"names": [*names]} if names else {})}
    rows = scope.graph.query(
        f"MATCH (s:Entity)-[r:RELATION]->(t:Entity) WHERE {' AND '.join(conditions)} "
        f"UNWIND r.documents AS document RETURN DISTINCT {this}.name AS name, {opposite}.name AS other, document",
        parameters,
    )
    companions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        companions[str(row["other"]), str(row["document"])].append(str(row["name"]))
    return companions


def _compute_count(scope: _Scope, schema: GraphSchema, count: _Count, count_question: CountQuestion) -> str:
    """Compute a count and format it; empty if no document states the relation."""
    counts, total = _count_groups(scope, count)
    if count.names or count_question.ascending:
        counts = {name: counts.get(name, 0) for name in count.names or scope.list_names(count.kind)}
    if not counts:
        return ""
    relation = schema.relations[count.label]
    text = _format_count(count, relation, counts, total, ascending=count_question.ascending)
    if not relation.cues and count.by == "s" and not count.targets and scope.documents is None:
        match, parameters = _build_match(count)
        rows = scope.graph.query(f"{match} RETURN s.name AS name, count(DISTINCT t.name) AS number", parameters)
        related = {str(row["name"]): int(str(row["number"])) for row in rows}
        values = _format_values(related, ascending=count_question.ascending)
        text += f"; distinct {' or '.join(count.target_kinds)}: {values}"
    return f"{text}; counted in Cypher over {format_count(scope.size, 'document')}"


def _format_count(
    count: _Count, relation: RelationType, counts: Mapping[str, int], total: int, *, ascending: bool
) -> str:
    words = f" ({relation.words[0]})" if relation.words else ""
    head = f"documents that state {count.label}{words}"
    single = len(count.names) == 1
    if count.sources and (count.by != "s" or single):
        head += f" of {' or '.join(count.source_kinds)} {', '.join(count.sources)}"
    if count.companion and count.companion.names and (count.by != "x" or single):
        head += f" of {count.companion.kind} {', '.join(count.companion.names)}"
    if count.targets and (count.by != "t" or single):
        head += f" for {' or '.join(count.target_kinds)} {', '.join(count.targets)}"
    if single:
        return f"{head}: {total}"
    order = ", fewest first" if ascending else ""
    size = "" if count.names else f" ({format_count(len(counts), 'value')}{order})"
    return f"{head}, by {count.kind}{size}: {_format_values(counts, ascending=ascending)}; {total} in all"


def _format_values(counts: Mapping[str, int], *, ascending: bool) -> str:
    """Format counts, highest first, or lowest first."""
    ranked = sorted(counts.items(), key=lambda item: (item[1] if ascending else -item[1], item[0]))
    listed = ", ".join(f"{name}: {number}" for name, number in ranked[:MAX_VALUES])
    return f"{listed}, and {len(ranked) - MAX_VALUES} more" if len(ranked) > MAX_VALUES else listed
