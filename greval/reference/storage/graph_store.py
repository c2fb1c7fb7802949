"""The property graph of an index: the interface of its stores, and the checks of what they take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from greval._util.wording import format_names, shorten_text
from greval.errors import DataError
from greval.methods.index_records import Entity, Relation

NO_PARAMETERS: Mapping[str, object] = MappingProxyType({})


class GraphStore(Protocol):
    """A property graph for queries in Cypher. The arrays of the index hold the same, and everything else reads those.

    Nodes are `Entity {name, type, aliases, chunks}`; edges are `RELATION {label, chunks, documents, weight}`.
    """

    def write(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Replace the whole graph.

        Raises:
            DataError: If two entities have one name, or a relation names an entity that is not given.
        """
        ...

    def query(self, cypher: str, parameters: Mapping[str, object] = NO_PARAMETERS) -> list[dict[str, object]]:
        """Return the rows of a reading query, one dictionary a row.

        Raises:
            DataError: If the query is invalid, or would write.
        """
        ...

    def close(self) -> None:
        """Close the connection or file. Closing again changes nothing."""
        ...


def check_graph(entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
    """Check that no entity and no relation is given twice, and that both ends of each relation are given."""
    names = {entity.name for entity in entities}
    if len(names) < len(entities):
        counts = Counter(entity.name for entity in entities)
        raise DataError(
            f"two entities are called {counts.most_common(1)[0][0]!r}; give each name once, with all of its chunks"
        )
    edges = {(relation.source, relation.label, relation.target) for relation in relations}
    if len(edges) < len(relations):
        repeats = Counter((relation.source, relation.label, relation.target) for relation in relations)
        raise DataError(
            f"the relation {' '.join(map(repr, repeats.most_common(1)[0][0]))} is given twice; give it once, with all "
            "of its chunks"
        )
    for relation in relations:
        for end in (relation.source, relation.target):
            if end not in names:
                raise DataError(
                    f"the relation {relation.source!r} {relation.label!r} {relation.target!r} names {end!r}, "
                    "which is no entity of the graph; add the entity"
                )


def check_query(cypher: str, parameters: Mapping[str, object]) -> None:
    """Check that a query only reads the graph and that its parameters are given.

    A graph that is opened to be read refuses writing itself. Here, what reads or writes other files, loads extensions
    or changes settings is refused too.

    Raises:
        DataError: If it does not.

    Example:
        >>> check_query("MATCH (e:Entity {name: $name}) RETURN e.type", {"name": "Drop"})
        >>> check_query("MATCH (e) DELETE e", {})
        Traceback (most recent call last):
            ...
        greval.errors.DataError: DELETE: queries only read the graph; begin with MATCH, and write a name that is ...
    """
    # Quoted texts, quoted names and comments may hold any word.
    bare = _QUOTED.sub(" ", cypher)
    first = re.match(r"\s*(\w*)", bare)
    if first is None or first[1].upper() not in _BEGINNINGS:
        raise DataError(
            f"{shorten_text(cypher.strip())!r}: queries only read the graph; begin with {format_names(_BEGINNINGS)}"
        )
    refused = _REFUSED.search(bare)
    if refused:
        raise DataError(
            f"{refused[0].upper()}: queries only read the graph; begin with MATCH, and write a name that is also a "
            f"keyword in backquotes: `{refused[0]}`"
        )
    if ";" in bare.rstrip().removesuffix(";"):
        raise DataError("';': expected one query per call, found several")
    missing = [name for name in dict.fromkeys(_PARAMETER.findall(bare)) if name not in parameters]
    if missing:
        raise DataError(f"the query has parameters without a value: {format_names(missing)}; give them")


_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|/\*.*?\*/|//[^\n]*""",
    re.DOTALL,
)
_BEGINNINGS = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN")
_REFUSED = re.compile(
    r"(?<![\w.:$])(?:ALTER|ATTACH|CALL|COMMENT|COPY|CREATE|DELETE|DETACH|DROP|EXPORT|FOREACH|IMPORT|INSTALL|LOAD|MERGE"
    r"|REMOVE|SET|UNINSTALL|USE)(?!\w)",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"\$(\w+)")
