"""Searches of an index behind one function: basic, bm25, graph, local and hybrid."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from greval.methods.reference.index import ReferenceIndex
    from greval.methods.reference.settings import Search, SearchSettings

Where = Mapping[str, str | Collection[str]]
"""Metadata filter: the accepted values by tag, or by `doc_id`, `repo` or `version`."""


class LinkedEntity(NamedTuple):
    """An entity that was found in a question: the phrase, how it was found, and how similar it is (0 to 1)."""

    name: str
    phrase: str
    how: Literal["exact", "fuzzy", "embedding", "model"]
    score: float


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
class Found:
    """What a search found.

    Args:
        chunks: The positions of the chunks in the index with their scores, best first.
        linked: The entities of the question, and how each was found. They are the start nodes.
        edges: The edges followed, in order.
        nodes: The nodes reached with their activation, highest first; start nodes are among them.
        cut: The number of edges that were not followed, by node.
        fallback: Why the search used vectors only; empty if it did not.
    """

    chunks: tuple[tuple[int, float], ...] = ()
    linked: tuple[LinkedEntity, ...] = ()
    edges: tuple[WalkedEdge, ...] = ()
    nodes: Mapping[str, float] = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)
    fallback: str = ""

    @property
    def start_nodes(self) -> tuple[str, ...]:
        """The names of the start nodes."""
        return tuple(dict.fromkeys(one.name for one in self.linked))


def search_chunks(
    index: ReferenceIndex,
    question: str,
    search: Search,
    settings: SearchSettings,
    where: Where | None = None,
) -> Found:
    """Search the chunks of an index for a question.

    `tog` is no search of this function, because it asks a model; see `greval.methods.reference.think_on_graph`.
    """
    raise NotImplementedError
