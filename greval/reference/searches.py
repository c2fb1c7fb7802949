"""Searches of an index behind one function: basic, bm25, graph, local and hybrid."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log10
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from greval.errors import MethodError
from greval.reference.fusion import fuse_minmax, fuse_ranks, fuse_weighted
from greval.reference.linking import LinkedEntity, link_entities
from greval.reference.search_tables import SearchTables, rank_nodes
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
Linked = tuple[LinkedEntity, ...]
LOGGED_NODES = 100
"""The nodes with the highest PageRank that are logged, with the edges between them."""
ROUNDED = 12
"""The decimals in which scores differ; sums in another order differ in later ones."""
GRAPH_SETTINGS = ("graph", "depth", "decay", "neighbours", "damping", "linking", "top_k")
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

    Linked entities are the start nodes. `fallback` says why the graph was not searched; empty if it was.
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


def search_chunks(
    index: ReferenceIndex,
    question: str,
    search: Search,
    settings: SearchSettings,
    where: Where | None = None,
    names: Sequence[str] = (),
) -> SearchFindings:
    """Search the chunks of an index for a question.

    `where` has accepted values of tags, `doc_id`, `repo` and `version`. Other chunks, and the entities and relations
    that only they state, are left out of every step. `names` are linked to entities besides those that the question
    holds. For `tog`, which asks a model, see `think_on_graph`.
    """
    return QuestionSearch(index, question, where, names).search(search, settings)


class QuestionSearch:
    """Searches of an index for one question with several settings; what they share is computed once."""

    def __init__(
        self, index: ReferenceIndex, question: str, where: Where | None = None, names: Sequence[str] = ()
    ) -> None:
        self.index = index
        self.question = question
        self.names = names
        self.allowed = index.select_chunks(where) if where else None
        self._computed: dict[tuple[object, ...], Any] = {}

    def search(self, search: Search, settings: SearchSettings) -> SearchFindings:
        """Search with these settings."""
        if search in TEXT_SEARCHES:
            return _search_words(self, settings) if search == "bm25" else _search_basic(self, settings)
        if search not in _GRAPH_SEARCHES:
            choices = ", ".join([*TEXT_SEARCHES, *_GRAPH_SEARCHES])
            raise MethodError(f"search: expected one of {choices} here, got {search!r}, which asks a model")
        linked = self.link(settings.linking)
        if linked or (search == "hybrid" and settings.words):
            return _GRAPH_SEARCHES[search](self, settings, linked)
        return replace(_search_basic(self, settings), fallback=NOTHING_LINKED)

    def compute_once(self, key: tuple[object, ...], compute: Callable[[], Computed]) -> Computed:
        """Return what was computed under a key before, or compute it."""
        if key not in self._computed:
            self._computed[key] = compute()
        value: Computed = self._computed[key]
        return value

    @property
    def tables(self) -> SearchTables:
        """The tables of the index, which a search of texts does not read."""
        return self.index.tables

    @cached_property
    def vector(self) -> npt.NDArray[np.float32]:
        """The vector of the question."""
        return np.asarray(self.index.embedder.embed_query(self.question), dtype=np.float32)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The edges that allowed chunks state."""
        neighbours = self.tables.neighbours
        if self.allowed is None:
            return neighbours
        return neighbours.select_edges(self.tables.edges.evidence.find_allowed(self.allowed))

    def search_vectors(self, k: int) -> dict[int, float]:
        """Return the scores of the nearest chunks."""
        positions, scores = self.compute_once(
            ("vectors", k), lambda: self.index.vectors.search(self.vector, k, self.allowed)
        )
        return dict(zip(map(int, positions), map(float, scores), strict=True))

    def search_words(self, k: int) -> dict[int, float]:
        """Return the scores of the chunks that have most of the question's words, by BM25."""
        positions, scores = self.compute_once(
            ("words", k), lambda: self.index.words.search(self.question, k, self.allowed)
        )
        return dict(zip(map(int, positions), map(float, scores), strict=True))

    def link(self, threshold: float) -> tuple[LinkedEntity, ...]:
        """Return the entities of the question that an allowed chunk mentions."""

        def link() -> tuple[LinkedEntity, ...]:
            entities = None if self.allowed is None else self.tables.mentions.chunks.find_allowed(self.allowed)
            return link_entities(
                self.question, self.tables, threshold=threshold, allowed=entities, further_names=self.names
            )

        return self.compute_once(("link", threshold), link)


def _search_basic(query: QuestionSearch, settings: SearchSettings) -> SearchFindings:
    return SearchFindings(chunks=tuple(query.search_vectors(settings.k).items()))


def _search_words(query: QuestionSearch, settings: SearchSettings) -> SearchFindings:
    return SearchFindings(chunks=tuple(query.search_words(settings.k).items()))


def _search_graph(query: QuestionSearch, settings: SearchSettings, linked: Linked) -> SearchFindings:
    chunks, scores, log = _explore_graph(query, settings, linked)
    return _put_chunks(log, chunks[: settings.k], scores[: settings.k])


def _search_local(query: QuestionSearch, settings: SearchSettings, linked: Linked) -> SearchFindings:
    """Search for the chunks with the most, and the rarest, of the entities of the question and their neighbours."""
    walk = _walk_graph(query, settings, linked, depth=min(1, settings.depth))
    positions, _, mass = score_chunks(walk.activation, query.tables, query.allowed)
    order = np.lexsort((positions, -mass))[: settings.k]
    return _put_chunks(_log_walk(query, linked, walk), positions[order], mass[order])


def _search_hybrid(query: QuestionSearch, settings: SearchSettings, linked: Linked) -> SearchFindings:
    """Fuse the rankings by vectors, by words and by the graph, which ranks nothing if no entity is linked."""
    top_k = settings.top_k if linked else max(settings.k, settings.top_k)
    vector = query.search_vectors(top_k)
    words = query.search_words(top_k) if settings.words else {}
    log = SearchFindings(fallback=NOTHING_LINKED)
    ranks: dict[int, int] = {}
    scores: dict[int, float] = {}
    if linked:
        chunks, graph_scores, log = _explore_graph(query, settings, linked)
        # Chunks that only the graph finds keep its order, so that no other of them can be among the first k.
        candidates = dict.fromkeys([*chunks[: max(settings.k, settings.top_k)].tolist(), *vector, *words])
        places = np.full(query.tables.chunks, -1)
        places[chunks] = np.arange(len(chunks))
        ranks = {chunk: int(places[chunk]) + 1 for chunk in candidates if places[chunk] >= 0}
        scores = {chunk: float(graph_scores[rank - 1]) for chunk, rank in ranks.items()}
    alpha = settings.alpha if linked else 1.0
    weights = (alpha * (1 - settings.words), alpha * settings.words, 1 - alpha)
    match settings.fusion:
        case "weighted":
            fused = fuse_weighted((vector, words, scores), weights)
        case "minmax":
            # PageRanks span several orders of magnitude: without logarithms, a few would hide all others.
            fused = fuse_minmax((vector, words, {chunk: log10(score) for chunk, score in scores.items()}), weights)
        case "rrf":
            fused = fuse_ranks((_number_ranks(vector), _number_ranks(words), ranks), weights, settings.rrf_k)
    last = query.tables.chunks + 1
    order = sorted(fused, key=lambda chunk: (-fused[chunk], ranks.get(chunk, last), -vector.get(chunk, 0.0), chunk))
    return replace(log, chunks=tuple((chunk, fused[chunk]) for chunk in order[: settings.k]))


def _number_ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Return the ranks of items, best first, from 1."""
    return {item: rank for rank, item in enumerate(scores, 1)}


_GRAPH_SEARCHES: Mapping[str, Callable[[QuestionSearch, SearchSettings, Linked], SearchFindings]] = {
    "graph": _search_graph,
    "local": _search_local,
    "hybrid": _search_hybrid,
}
"""The searches from the entities of the question. Without such an entity, texts are searched."""


def _put_chunks(log: SearchFindings, positions: Positions, scores: Scores) -> SearchFindings:
    return replace(log, chunks=tuple(zip(positions.tolist(), scores.tolist(), strict=True)))


def _explore_graph(
    query: QuestionSearch, settings: SearchSettings, linked: Linked
) -> tuple[Positions, Scores, SearchFindings]:
    """Return the chunks that the graph reaches with their scores, best first, and the log without chunks.

    Ties are broken by rarity, then by the vector score.
    """

    def explore() -> tuple[Positions, Scores, SearchFindings]:
        way = _rank_graph if settings.graph == "pagerank" else _spread_graph
        positions, scores, ties, log = way(query, settings, linked)
        vector = query.search_vectors(settings.top_k)
        similarity = np.zeros(query.tables.chunks)
        similarity[[*vector]] = [*vector.values()]
        order = np.lexsort((positions, -similarity[positions], -ties.round(ROUNDED), -scores.round(ROUNDED)))
        return positions[order], scores[order], log

    return query.compute_once(("graph", *(getattr(settings, name) for name in GRAPH_SETTINGS)), explore)


def _spread_graph(
    query: QuestionSearch, settings: SearchSettings, linked: Linked
) -> tuple[Positions, Scores, Scores, SearchFindings]:
    """Score chunks by the best activation of their entities."""
    walk = _walk_graph(query, settings, linked, depth=settings.depth)
    return *score_chunks(walk.activation, query.tables, query.allowed), _log_walk(query, linked, walk)


def score_chunks(activation: Scores, tables: SearchTables, allowed: Mask | None) -> tuple[Positions, Scores, Scores]:
    """Return the chunks that mention a reached entity, with two scores of each.

    The first is the best activation of the entities of the chunk. The second breaks ties: the sum of the activations,
    each multiplied by the rarity of the entity.
    """
    reached = np.flatnonzero(activation > 0)
    chunks, places = tables.mentions.chunks.gather_items(reached)
    entities = reached[places]
    count = len(tables.mentions.entities.offsets) - 1
    best = np.zeros(count)
    np.maximum.at(best, chunks, activation[entities])
    mass = np.bincount(chunks, weights=activation[entities] * tables.rarity[entities], minlength=count)
    scored = np.flatnonzero(best > 0 if allowed is None else (best > 0) & allowed)
    return scored, best[scored], mass[scored].astype(np.float64)


def _walk_graph(query: QuestionSearch, settings: SearchSettings, linked: Linked, depth: int) -> Walk:
    starts = dict.fromkeys([link.position for link in linked], 1.0)
    return spread_activation(query.neighbours, starts, depth=depth, decay=settings.decay, limit=settings.neighbours)


def _log_walk(query: QuestionSearch, linked: Linked, walk: Walk) -> SearchFindings:
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
    return SearchFindings((), linked, walked, nodes, {names[node]: count for node, count in walk.cut.items()})


def _rank_graph(
    query: QuestionSearch, settings: SearchSettings, linked: Linked
) -> tuple[Positions, Scores, Scores, SearchFindings]:
    """Score chunks by their personalised PageRank.

    Walks start at the entities of the question, at rare ones more often.
    """
    tables = query.tables
    entities = len(tables.entities)
    graph = tables.rank_graph if query.allowed is None else tables.build_rank_graph(query.allowed)
    starts = np.zeros(len(graph.roots))
    positions = [link.position for link in linked]
    starts[positions] = tables.rarity[positions]
    ranks = rank_nodes(graph, starts, settings.damping)
    log = _log_ranks(query, settings, linked, ranks[:entities])
    ranked = np.flatnonzero(ranks[entities:] > 0)
    return ranked, ranks[entities + ranked], np.zeros(len(ranked)), log


def _log_ranks(query: QuestionSearch, settings: SearchSettings, linked: Linked, ranks: Scores) -> SearchFindings:
    """Log the nodes with the highest ranks, as shares of the highest, and the edges between them near the start nodes.

    PageRank follows every edge. The activation of an edge is the lowest rank on the way to its end.
    """
    best = np.argsort(-ranks, kind="stable")[:LOGGED_NODES]
    best = best[ranks[best] > 0]
    share = np.zeros(len(ranks))
    share[best] = ranks[best] / ranks[best].max()
    edges = query.tables.edges
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
