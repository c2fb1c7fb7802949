"""Searches of an index behind one function: basic, bm25, graph, local and hybrid."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from greval.errors import MethodError
from greval.reference.fusion import fuse_minmax, fuse_ranks, fuse_weighted
from greval.reference.linking import LinkedEntity, link_by_embedding, link_entities
from greval.reference.pagerank import rank_nodes
from greval.reference.search_tables import SearchTables, find_allowed, gather_items, get_tables
from greval.reference.settings import TEXT_SEARCHES
from greval.reference.traversal import Mask, Neighbours, Positions, Scores, Walk, spread_activation

if TYPE_CHECKING:
    import numpy.typing as npt

    from greval.methods.reference_index import Search
    from greval.reference.index import ReferenceIndex
    from greval.reference.settings import SearchSettings

Computed = TypeVar("Computed")
Where = Mapping[str, str | Collection[str]]
"""Metadata filter: the accepted values by tag, or by `doc_id`, `repo` or `version`."""
LINKED_CHUNKS = 5
"""The chunks of the vector search whose entities are compared with the question if no name is in it."""
LOGGED_NODES = 100
"""The nodes with the highest PageRank that are logged, with the edges between them."""
ROUNDED = 12
"""The decimals in which scores differ; sums in another order differ in later ones."""
GRAPH_SETTINGS = (
    *("graph", "depth", "decay", "neighbours", "damping", "passages"),
    *("linking", "linking_embedding", "top_k"),
)
"""The settings that the scores of chunks by the graph, or their log, depend on."""
NOTHING_LINKED = "no entity of the question is in the graph"


class WalkedEdge(NamedTuple):
    """An edge that was followed, in its stored direction, with the activation that it passed on, and its step from 1.

    `forward` is whether it was followed from its source to its target.
    """

    source: str
    label: str
    target: str
    activation: float
    step: int = 1
    forward: bool = True


@dataclass(frozen=True, slots=True)
class SearchFindings:
    """What a search found.

    Args:
        chunks: The positions of the chunks in the index with their scores, best first.
        linked: The entities of the question, and how each was found. They are the start nodes.
        edges: The edges followed, in order.
        nodes: The nodes reached with their activation, highest first; start nodes are among them.
        cut: The number of edges that were not followed, by node.
        fallback: Why the search used vectors only; empty if it did not.
        notes: What a model that steered the search answered and could not be used.
    """

    chunks: tuple[tuple[int, float], ...] = ()
    linked: tuple[LinkedEntity, ...] = ()
    edges: tuple[WalkedEdge, ...] = ()
    nodes: Mapping[str, float] = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)
    fallback: str = ""
    notes: tuple[str, ...] = ()

    @property
    def start_nodes(self) -> tuple[str, ...]:
        """The names of the start nodes."""
        return tuple(dict.fromkeys(entity.name for entity in self.linked))


class ChunkScores(NamedTuple):
    """The scores of chunks by the graph, best first. Chunks with equal scores are in the order of their ties."""

    positions: Positions
    scores: Scores


def search_chunks(
    index: ReferenceIndex,
    question: str,
    search: Search,
    settings: SearchSettings,
    where: Where | None = None,
) -> SearchFindings:
    """Search the chunks of an index for a question.

    Args:
        index: The index.
        question: The question.
        search: `basic` (vectors), `bm25` (words), `graph` (the graph only), `local` (the entities of the question,
            their neighbours, and the chunks that mention most of them) or `hybrid` (vectors and graph). The last three
            search vectors only if no entity of the question is in the graph.
        settings: How to search.
        where: Accepted values of tags, `doc_id`, `repo` and `version`. Other chunks, and the entities and relations
            that only they state, are left out of every step.

    Raises:
        DataError: If no chunk has a field that `where` names.
        MethodError: If the search is `tog`, which asks a model; see `greval.reference.think_on_graph`.
    """
    return QuestionSearch(index, question, where).search(search, settings)


class QuestionSearch:
    """Searches of an index for one question with several settings; what they share is computed once.

    Args:
        index: The index.
        question: The question.
        where: Accepted values of tags, `doc_id`, `repo` and `version`; see `search_chunks`.

    Raises:
        DataError: If no chunk has a field that `where` names.
    """

    def __init__(self, index: ReferenceIndex, question: str, where: Where | None = None) -> None:
        self._index = index
        self._question = question
        self._allowed = index.select_chunks(where) if where else None
        self._known: dict[tuple[object, ...], Any] = {}

    def search(self, search: Search, settings: SearchSettings) -> SearchFindings:
        """Search with these settings.

        Raises:
            MethodError: If the search is `tog`, which asks a model.
        """
        query = _Query(self._index, self._question, settings, self._allowed, self._known)
        if search in TEXT_SEARCHES:
            return _search_words(query) if search == "bm25" else _search_basic(query)
        if search not in _GRAPH_SEARCHES:
            choices = ", ".join([*TEXT_SEARCHES, *_GRAPH_SEARCHES])
            raise MethodError(f"search: expected one of {choices} here, got {search!r}, which asks a model")
        if linked := query.link():
            return _GRAPH_SEARCHES[search](query, linked)
        return replace(_search_basic(query), fallback=NOTHING_LINKED)


class _Query:
    """A question to an index, and what several steps of a search need.

    `cache` has what other searches of the same question computed, by its name and the settings that it depends on.
    """

    def __init__(
        self,
        index: ReferenceIndex,
        question: str,
        settings: SearchSettings,
        allowed: Mask | None,
        cache: dict[tuple[object, ...], Any],
    ) -> None:
        self.index = index
        self.question = question
        self.settings = settings
        self.allowed = allowed
        self._known = cache

    def compute_once(self, key: tuple[object, ...], compute: Callable[[], Computed]) -> Computed:
        """Return what was computed under a key before, or compute it."""
        if key not in self._known:
            self._known[key] = compute()
        value: Computed = self._known[key]
        return value

    @cached_property
    def tables(self) -> SearchTables:
        return get_tables(self.index)

    @property
    def vector(self) -> npt.NDArray[np.float32]:
        return self.compute_once(
            ("vector",), lambda: np.asarray(self.index.embedder.embed_query(self.question), dtype=np.float32)
        )

    @cached_property
    def neighbours(self) -> Neighbours:
        """The edges that allowed chunks state."""
        neighbours = self.tables.neighbours
        if self.allowed is None:
            return neighbours
        return neighbours.select_edges(find_allowed(self.tables.edges.evidence, self.allowed))

    def search_vectors(self, k: int) -> dict[int, float]:
        """Return the scores of the nearest chunks."""
        positions, scores = self.compute_once(
            ("vectors", k), lambda: self.index.vectors.search(self.vector, k, self.allowed)
        )
        return dict(zip(map(int, positions), map(float, scores), strict=True))

    def link(self) -> tuple[LinkedEntity, ...]:
        """Return the entities of the question that an allowed chunk mentions."""
        return self.compute_once(("link", self.settings.linking, self.settings.linking_embedding), self._link)

    def _link(self) -> tuple[LinkedEntity, ...]:
        threshold = self.settings.linking_embedding

        def link_near() -> list[LinkedEntity]:
            chunks = np.array([*self.search_vectors(LINKED_CHUNKS)], dtype=np.int64)
            return link_by_embedding(self.vector, self.tables, self.index.embedder, chunks, threshold, entities)

        entities = None if self.allowed is None else find_allowed(self.tables.mentions.chunks, self.allowed)
        return link_entities(
            self.question,
            self.tables,
            threshold=self.settings.linking,
            allowed=entities,
            by_embedding=link_near if threshold < 1 else None,
        )


def _search_basic(query: _Query) -> SearchFindings:
    return SearchFindings(chunks=tuple(query.search_vectors(query.settings.k).items()))


def _search_words(query: _Query) -> SearchFindings:
    positions, scores = query.index.words.search(query.question, query.settings.k, query.allowed)
    return SearchFindings(chunks=tuple(zip(map(int, positions), map(float, scores), strict=True)))


def _search_graph(query: _Query, linked: tuple[LinkedEntity, ...]) -> SearchFindings:
    chunks, log = _explore_graph(query, linked, query.search_vectors(query.settings.top_k))
    return log.rank_chunks(_list_best(chunks, query.settings.k))


def _search_local(query: _Query, linked: tuple[LinkedEntity, ...]) -> SearchFindings:
    """Search for the chunks with the most, and the rarest, of the entities of the question and their neighbours."""
    settings = query.settings
    walk = _walk_graph(query, linked, depth=min(1, settings.depth))
    positions, _, mass = score_chunks(walk.activation, query.tables, query.allowed)
    order = np.lexsort((positions, -mass))[: settings.k]
    log = _log_walk(query, linked, walk)
    return log.rank_chunks(zip(positions[order].tolist(), mass[order].tolist(), strict=True))


def _search_hybrid(query: _Query, linked: tuple[LinkedEntity, ...]) -> SearchFindings:
    settings = query.settings
    vector = query.search_vectors(settings.top_k)
    graph, log = _explore_graph(query, linked, vector)
    # Chunks that only the graph finds keep its order, so that no other of them can be among the first k.
    candidates = list(dict.fromkeys([*graph.positions[: max(settings.k, settings.top_k)].tolist(), *vector]))
    places = np.full(query.tables.chunks, -1)
    places[graph.positions] = np.arange(len(graph.positions))
    ranks = {chunk: int(places[chunk]) + 1 for chunk in candidates if places[chunk] >= 0}
    scores = {chunk: float(graph.scores[rank - 1]) for chunk, rank in ranks.items()}
    match settings.fusion:
        case "weighted":
            fused = fuse_weighted(vector, scores, settings.alpha)
        case "minmax":
            fused = fuse_minmax(vector, scores, settings.alpha)
        case "rrf":
            vector_ranks = {position: rank for rank, position in enumerate(vector, 1)}
            fused = fuse_ranks([vector_ranks, ranks], settings.rrf_k)
    last = len(graph.positions) + 1
    order = sorted(fused, key=lambda chunk: (-fused[chunk], ranks.get(chunk, last), -vector.get(chunk, 0.0), chunk))
    return log.rank_chunks((chunk, fused[chunk]) for chunk in order[: settings.k])


_GRAPH_SEARCHES: Mapping[str, Callable[[_Query, tuple[LinkedEntity, ...]], SearchFindings]] = {
    "graph": _search_graph,
    "local": _search_local,
    "hybrid": _search_hybrid,
}
"""The searches from the entities of the question. Without such an entity, vectors are searched."""


@dataclass(frozen=True, slots=True)
class _GraphLog:
    """What is logged of a search of the graph."""

    linked: tuple[LinkedEntity, ...]
    edges: tuple[WalkedEdge, ...]
    nodes: Mapping[str, float]
    cut: Mapping[str, int]

    def rank_chunks(self, chunks: Iterable[tuple[int, float]]) -> SearchFindings:
        """Return the log with the chunks found."""
        return SearchFindings(tuple(chunks), self.linked, self.edges, self.nodes, self.cut)


def _explore_graph(
    query: _Query, linked: tuple[LinkedEntity, ...], vector: Mapping[int, float]
) -> tuple[ChunkScores, _GraphLog]:
    """Return the scores of chunks by the graph, and the log. Ties are broken by rarity, then by the vector score."""
    way = _rank_graph if query.settings.graph == "pagerank" else _spread_graph
    key = ("graph", *(getattr(query.settings, name) for name in GRAPH_SETTINGS))
    return query.compute_once(key, lambda: way(query, linked, vector))


def _spread_graph(
    query: _Query, linked: tuple[LinkedEntity, ...], vector: Mapping[int, float]
) -> tuple[ChunkScores, _GraphLog]:
    """Score chunks by the best activation of their entities."""
    walk = _walk_graph(query, linked, depth=query.settings.depth)
    positions, best, mass = score_chunks(walk.activation, query.tables, query.allowed)
    return _sort_chunks(query, positions, best, mass, vector), _log_walk(query, linked, walk)


def score_chunks(activation: Scores, tables: SearchTables, allowed: Mask | None) -> tuple[Positions, Scores, Scores]:
    """Return the chunks that mention a reached entity, with two scores of each.

    The first is the best activation of the entities of the chunk. The second breaks ties: the sum of the activations,
    each multiplied by the rarity of the entity.
    """
    reached = np.flatnonzero(activation > 0)
    chunks, places = gather_items(tables.mentions.chunks, reached)
    entities = reached[places]
    count = len(tables.mentions.entities.offsets) - 1
    best = np.zeros(count)
    np.maximum.at(best, chunks, activation[entities])
    mass = np.bincount(chunks, weights=activation[entities] * tables.rarity[entities], minlength=count)
    scored = np.flatnonzero(best > 0 if allowed is None else (best > 0) & allowed)
    return scored, best[scored], mass[scored].astype(np.float64)


def _sort_chunks(
    query: _Query, positions: Positions, scores: Scores, ties: Scores, vector: Mapping[int, float]
) -> ChunkScores:
    """Sort chunks by their scores, equal ones by their ties, then by their vector scores."""
    similarity = np.zeros(query.tables.chunks)
    similarity[[*vector]] = [*vector.values()]
    order = np.lexsort((positions, -similarity[positions], -ties.round(ROUNDED), -scores.round(ROUNDED)))
    return ChunkScores(positions[order], scores[order])


def _list_best(chunks: ChunkScores, k: int) -> Iterable[tuple[int, float]]:
    return zip(chunks.positions[:k].tolist(), chunks.scores[:k].tolist(), strict=True)


def _walk_graph(query: _Query, linked: Iterable[LinkedEntity], depth: int) -> Walk:
    settings = query.settings
    starts = dict.fromkeys([link.position for link in linked], 1.0)
    return spread_activation(query.neighbours, starts, depth=depth, decay=settings.decay, limit=settings.neighbours)


def _log_walk(query: _Query, linked: tuple[LinkedEntity, ...], walk: Walk) -> _GraphLog:
    names = query.tables.entities
    edges = query.tables.edges
    columns = (edges.source, edges.label_codes, edges.target)
    sources, labels, targets = (column[walk.edges].tolist() for column in columns)
    walked = tuple(
        WalkedEdge(names[source], edges.label_names[label], names[target], passed, step, forward)
        for source, label, target, passed, step, forward in zip(
            sources, labels, targets, walk.passed.tolist(), walk.steps.tolist(), walk.forward.tolist(), strict=True
        )
    )
    reached = np.flatnonzero(walk.activation > 0)
    reached = reached[np.argsort(-walk.activation[reached], kind="stable")]
    nodes = {
        names[node]: score for node, score in zip(reached.tolist(), walk.activation[reached].tolist(), strict=True)
    }
    return _GraphLog(linked, walked, nodes, {names[node]: count for node, count in walk.cut.items()})


def _rank_graph(
    query: _Query, linked: tuple[LinkedEntity, ...], vector: Mapping[int, float]
) -> tuple[ChunkScores, _GraphLog]:
    """Score chunks by their personalised PageRank.

    Walks start at the entities of the question, at rare ones more often. Without `passages`, the rank of a chunk is the
    sum of the ranks of its entities, each multiplied by its rarity.
    """
    tables, settings = query.tables, query.settings
    entities = len(tables.entities)
    graph = tables.get_rank_graph(passages=settings.passages, allowed=query.allowed)
    starts = np.zeros(len(graph.roots))
    positions = [link.position for link in linked]
    starts[positions] = tables.rarity[positions]
    key = (settings.passages, settings.damping, settings.linking, settings.linking_embedding)
    ranks = query.compute_once(("ranks", *key), lambda: rank_nodes(graph, starts, settings.damping))
    chunks: Positions
    if settings.passages:
        chunks = np.flatnonzero(ranks[entities:] > 0)
        scores, ties = ranks[entities + chunks], np.zeros(len(chunks))
    else:
        chunks, ties, scores = score_chunks(ranks, tables, query.allowed)
    log = query.compute_once(
        ("log", *key, settings.depth, settings.neighbours), lambda: _log_ranks(query, linked, ranks[:entities])
    )
    return _sort_chunks(query, chunks, scores, ties, vector), log


def _log_ranks(query: _Query, linked: tuple[LinkedEntity, ...], ranks: Scores) -> _GraphLog:
    """Log the nodes with the highest ranks, as shares of the highest, and the edges between them near the start nodes.

    PageRank follows every edge. The activation of an edge is the lowest rank on the way to its end.
    """
    best = np.argsort(-ranks, kind="stable")[:LOGGED_NODES]
    best = best[ranks[best] > 0]
    share = np.zeros(len(ranks))
    share[best] = ranks[best] / ranks[best].max()
    edges, settings = query.tables.edges, query.settings
    between = np.minimum(share[edges.source], share[edges.target])
    starts = [link.position for link in linked]
    neighbours = query.neighbours.select_edges(between > 0)
    walk = spread_activation(
        neighbours, dict.fromkeys(starts, 1.0), depth=settings.depth, decay=1, limit=settings.neighbours
    )
    arrived = {node: float(share[node]) for node in starts}
    passed = np.empty(len(walk.edges))
    for position, (edge, forward) in enumerate(zip(walk.edges.tolist(), walk.forward.tolist(), strict=True)):
        ends = int(edges.source[edge]), int(edges.target[edge])
        origin, end = ends if forward else ends[::-1]
        # As in a traversal, the activation never rises along a path.
        passed[position] = min(arrived[origin], between[edge])
        arrived[end] = max(arrived.get(end, 0.0), passed[position])
    order = np.lexsort((np.arange(len(passed)), -passed, walk.steps))
    logged = Walk(share, walk.edges[order], passed[order], walk.forward[order], walk.steps[order], walk.cut)
    return _log_walk(query, linked, logged)
