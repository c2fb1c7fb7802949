"""Think-on-Graph: a beam search over relations and entities that a model prunes and stops.

After Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph", ICLR 2024
(arXiv:2307.07697). From the entities of the question, each step keeps the relations, then the entities, that the model
chooses from numbered lists, and asks whether what was found suffices. At most `1 + 3 * tog_depth` calls are made.

Unlike in the paper, the model sees the chunks that state the edges of the paths, and it answers from these and the
paths alone, never from its memory.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.messages import HumanMessage, SystemMessage

from greval.judging.answer_schema import build_object_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.prompt import format_need
from greval.records.case import Case, Response
from greval.records.result import Usage
from greval.reference.answering import answer_question, select_context
from greval.reference.index import read_in_turn
from greval.reference.model_call import MATERIAL_RULE, ask_for_object, format_numbered_lines
from greval.reference.response_parts import build_triple, read_found_chunks
from greval.reference.searches import NOTHING_LINKED, SearchFindings, WalkedEdge, search_chunks

if TYPE_CHECKING:
    from greval.judging.model.client import JudgeClient
    from greval.reference.index import ReferenceIndex
    from greval.reference.linking import LinkedEntity
    from greval.reference.searches import Where
    from greval.reference.settings import SearchSettings
    from greval.reference.traversal import Mask

MAX_RELATIONS = 30
MAX_ENTITIES = 20
"""The most relations and entities that a model is shown at a step. A longer list is cut by similarity."""
MAX_ANSWER_CHARS = 120
"""The most characters of each text that the embedded model writes when it is asked whether the paths suffice."""
STOP_CONTEXT_SHARE = 1 / 2
"""The share of the context that is shown at a step. The answer at the end gets all of it."""
LOG = logging.getLogger("greval")
RELATIONS_PROMPT = """\
You look for the answer to a question in a graph. Choose the relations that lead towards the answer.

{material}

The items are relations from where the search stands; ? is what would be found. Choose at most {width}, the most \
helpful first.
Answer with JSON only, in this form: {{"items": [number, ...]}}"""
ENTITIES_PROMPT = """\
You look for the answer to a question in a graph. Choose the facts that hold the answer or lead towards it.

{material}

Choose at most {width} of the items, the most helpful first.
Answer with JSON only, in this form: {{"items": [number, ...]}}"""
STOP_PROMPT = """\
You look for the answer to a question in a graph. Decide whether the facts found so far hold it.

{material}

The items are facts of the graph; the chunks are the passages that state them.
- missing: what the question asks for and no fact says, in a few words; an empty text if nothing is missing.
- sufficient: true if nothing is missing, else false.
- answer: the answer in a few words, from the items and chunks alone; an empty text if sufficient is false.
Answer with JSON only, in this form: {{"missing": "...", "sufficient": true or false, "answer": "..."}}"""


async def think_on_graph(
    index: ReferenceIndex,
    question: str,
    settings: SearchSettings,
    client: JudgeClient,
    where: Where | None = None,
    names: Sequence[str] = (),
) -> tuple[str, SearchFindings, Usage]:
    """Answer a question by a walk over the graph that a model steers.

    The model chooses by number from what the graph holds. Other numbers are ignored. If its choice cannot be read,
    the most similar items are kept and a note says so. If no entity of the question is in the graph, the answer is
    from the chunks of the basic search. `names` are linked to entities besides those that the question holds.
    """
    findings = await read_in_turn(search_chunks, index, question, "local", settings, where, names)
    if not findings.linked:
        basic = await read_in_turn(search_chunks, index, question, "basic", settings, where)
        findings = replace(basic, fallback=findings.fallback or NOTHING_LINKED)
        chunks = await read_in_turn(read_found_chunks, index, findings)
        answer, usage = await answer_question(question, chunks, client=client, context_tokens=settings.context_tokens)
        return answer, findings, usage
    walker = _Walker(index, question, settings, client, index.select_chunks(where or {}))
    answer = await walker.walk(findings.linked)
    walked = await read_in_turn(walker.describe)
    chunks = await read_in_turn(read_found_chunks, index, walked)
    if not answer:
        context = settings.context_tokens
        triples = [build_triple(*edge[:3]) for edge in walked.edges]
        answer, spent = await answer_question(question, chunks, triples, (), client, context_tokens=context)
        walker.usage += spent
    return answer, replace(walked, linked=findings.linked), walker.usage


@dataclass(frozen=True, slots=True)
class _Path:
    """A path from a start node: its end, the activation there, and all nodes on it."""

    end: int
    activation: float
    nodes: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Hop:
    """An edge by which a path could go on."""

    path: _Path
    edge: int
    forward: bool


class _Walker:
    """A walk for one question: the edges kept so far, and what it cost."""

    def __init__(
        self,
        index: ReferenceIndex,
        question: str,
        settings: SearchSettings,
        client: JudgeClient,
        allowed: Mask | None,
    ) -> None:
        self._index = index
        self._question = question
        self._settings = settings
        self._client = client
        self._allowed = allowed
        self.usage = Usage()
        self.edges: dict[int, WalkedEdge] = {}
        self.nodes: dict[str, float] = {}
        self.cut: dict[str, int] = {}
        self.notes: list[str] = []

    async def walk(self, starts: Iterable[LinkedEntity]) -> str:
        """Walk from start nodes until the model says that the paths suffice; return its answer, or an empty text."""
        beam = [_Path(start.position, start.score, frozenset({start.position})) for start in starts]
        self.nodes = {self._index.entities[path.end]: path.activation for path in beam}
        for step in range(1, self._settings.tog_depth + 1):
            hops = await self._choose_hops(await self._choose_relations(self._list_hops(beam)))
            if not hops:
                break
            beam = [self._follow_hop(hop, step) for hop in hops]
            if answer := await self._ask_for_answer():
                return answer
        return ""

    def describe(self) -> SearchFindings:
        """Describe the walk: the chunks that state its edges, the most similar to the question first."""
        ranked = sorted(self.nodes.items(), key=lambda node: -node[1])
        return SearchFindings(
            chunks=self._rank_chunks(),
            edges=tuple(self.edges.values()),
            nodes=dict(ranked),
            cut=self.cut,
            notes=tuple(self.notes),
        )

    def _list_hops(self, beam: Sequence[_Path]) -> list[_Hop]:
        """List the edges at the ends of paths that lead to another node, those that most chunks state first."""
        neighbours, most = self._index.tables.neighbours, self._settings.neighbours
        listed: list[_Hop] = []
        # Of several paths with one end, the first goes on, which the model chose first.
        for path in {path.end: path for path in reversed(beam)}.values():
            slots = range(neighbours.offsets[path.end], neighbours.offsets[path.end + 1])
            hops = [
                _Hop(path, int(neighbours.edges[slot]), bool(neighbours.forward[slot]))
                for slot in slots
                if int(neighbours.nodes[slot]) not in path.nodes and self._is_allowed(int(neighbours.edges[slot]))
            ]
            self._count_cut(hops[most:])
            listed += hops[:most]
        return listed

    def _is_allowed(self, edge: int) -> bool:
        """Return whether a chunk that the filter selects states an edge."""
        return self._allowed is None or bool(self._allowed[self._index.edges.evidence.get_items(edge)].any())

    def _count_cut(self, hops: Iterable[_Hop]) -> None:
        for hop in hops:
            name = self._index.entities[hop.path.end]
            self.cut[name] = self.cut.get(name, 0) + 1

    async def _choose_relations(self, hops: Sequence[_Hop]) -> list[_Hop]:
        """Let the model choose from the relations of all paths, and return the edges with these."""
        grouped: dict[tuple[int, int, bool], list[_Hop]] = {}
        for hop in hops:
            relation = (hop.path.end, int(self._index.edges.label_codes[hop.edge]), hop.forward)
            grouped.setdefault(relation, []).append(hop)
        groups = list(grouped.values())
        lines = [self._format_hop(group[0], "?") for group in groups]
        chosen, hidden = await self._choose("relations", lines, RELATIONS_PROMPT, MAX_RELATIONS)
        self._count_cut(hop for position in hidden for hop in groups[position])
        return [hop for position in chosen for hop in groups[position]]

    async def _choose_hops(self, hops: Sequence[_Hop]) -> list[_Hop]:
        """Let the model choose from edges, each with the node that it leads to."""
        lines = [self._format_hop(hop) for hop in hops]
        chosen, hidden = await self._choose("entities", lines, ENTITIES_PROMPT, MAX_ENTITIES)
        self._count_cut(hops[position] for position in hidden)
        return [hops[position] for position in chosen]

    async def _choose(self, what: str, lines: Sequence[str], prompt: str, most: int) -> tuple[list[int], list[int]]:
        """Let the model choose from lines, of which it is shown the most similar to the question if there are many.

        Return the places of the chosen lines, best first, and of those that it was not shown.
        """
        width = self._settings.width
        if len(lines) <= width:
            return [*range(len(lines))], []
        ranked = await read_in_turn(self._rank_lines, lines) if len(lines) > most else [*range(len(lines))]
        visible, hidden = ranked[:most], ranked[most:]
        number = {"type": "integer", "enum": [*range(1, len(visible) + 1)]}
        # Not every server accepts limits of lists in its strict mode.
        limits = {"minItems": 1, "maxItems": width} if self._client.judge.local else {}
        schema = build_object_schema({"items": {"type": "array", "items": number, **limits}})
        question = format_need("question", Case(question=self._question))
        listed = format_numbered_lines([lines[position] for position in visible])
        system = prompt.format(material=MATERIAL_RULE, width=width)
        fields, fault = await self._ask(what, schema, system, f"{question}\n{listed}\nChoose at most {width} numbers.")
        numbers = read_numbers(fields, len(visible))
        if numbers:
            return [visible[number - 1] for number in numbers[:width]], hidden
        self._note(f"the choice of {what}: {fault or 'no number of the list'}; the most similar were kept")
        ranking = await read_in_turn(self._rank_lines, [lines[position] for position in visible])
        return [visible[position] for position in ranking[:width]], hidden

    async def _ask_for_answer(self) -> str:
        """Ask the model whether the paths suffice, and return its answer; empty if they do not."""
        text: dict[str, Any] = {"type": "string"}
        if self._client.judge.local:
            text["maxLength"] = MAX_ANSWER_CHARS
        # A small model that first names what is missing says far less often that the paths suffice when they do not.
        schema = build_object_schema({"missing": text, "sufficient": {"type": "boolean"}, "answer": text})
        findings = await read_in_turn(self.describe)
        response = Response(
            chunks=await read_in_turn(read_found_chunks, self._index, findings), triples=(), aggregates=()
        )
        tokens = self._settings.context_tokens
        chunks = (await select_context(response, self._client, tokens, share=STOP_CONTEXT_SHARE)).chunks
        case = Case(question=self._question, chunks=chunks)
        facts = format_numbered_lines(
            [_format_edge(edge.source, edge.label, edge.target) for edge in self.edges.values()]
        )
        message = "\n".join((format_need("question", case), facts, format_need("chunks", case), "Decide."))
        system = STOP_PROMPT.format(material=MATERIAL_RULE)
        fields, fault = await self._ask("stop", schema, system, message)
        sufficient, answer = fields.get("sufficient"), fields.get("answer")
        if not isinstance(sufficient, bool) or not isinstance(answer, str):
            self._note(f"whether the paths suffice: {fault or 'not in the form asked for'}; the walk went on")
            return ""
        return answer.strip() if sufficient else ""

    async def _ask(
        self, name: str, schema: Mapping[str, Any], system: str, message: str
    ) -> tuple[Mapping[str, Any], str]:
        """Ask the model for an object; return its fields, none if they cannot be read, and why."""
        form = AnswerFormat(name, schema, self._client.tier)
        reply = await ask_for_object(self._client, form, [SystemMessage(system), HumanMessage(message)])
        self.usage += reply.usage
        return ({} if reply.fields is None else reply.fields), reply.fault

    def _note(self, text: str) -> None:
        self.notes.append(text)
        LOG.warning("Think-on-Graph: %s", text)

    def _follow_hop(self, hop: _Hop, step: int) -> _Path:
        """Keep an edge, and return the path that it continues."""
        edges = self._index.edges
        end = int((edges.target if hop.forward else edges.source)[hop.edge])
        activation = hop.path.activation * self._settings.decay
        source, target = (self._index.entities[int(ends[hop.edge])] for ends in (edges.source, edges.target))
        walked = WalkedEdge(source, edges.label(hop.edge), target, activation, step, hop.forward)
        self.edges.setdefault(hop.edge, walked)
        name = self._index.entities[end]
        self.nodes[name] = max(activation, self.nodes.get(name, 0.0))
        return _Path(end, activation, hop.path.nodes | {end})

    def _format_hop(self, hop: _Hop, substitute: str | None = None) -> str:
        """Format an edge as a line, with another text in place of the node that it leads to, if one is given."""
        edges, names = self._index.edges, self._index.entities
        source, target = names[int(edges.source[hop.edge])], names[int(edges.target[hop.edge])]
        if substitute is not None:
            source, target = (source, substitute) if hop.forward else (substitute, target)
        return _format_edge(source, edges.label(hop.edge), target)

    def _rank_lines(self, lines: Sequence[str]) -> list[int]:
        """Rank lines by their similarity to the question, the most similar first."""
        embedder = self._index.embedder
        similarity = embedder.embed_passages([*lines]) @ embedder.embed_query(self._question)
        return [int(position) for position in np.argsort(-similarity, kind="stable")]

    def _rank_chunks(self) -> tuple[tuple[int, float], ...]:
        """Rank the chunks that state the kept edges by their similarity to the question."""
        stating = np.zeros(len(self._index.chunk_ids), dtype=np.bool_)
        for edge in self.edges:
            stating[self._index.edges.evidence.get_items(edge)] = True
        if self._allowed is not None:
            stating &= self._allowed
        if not stating.any():
            return ()
        vector = self._index.embedder.embed_query(self._question)
        positions, scores = self._index.vectors.search(vector, self._settings.k, stating)
        return tuple(zip(positions.tolist(), scores.tolist(), strict=True))


def _format_edge(source: str, label: str, target: str) -> str:
    return f"{source} -[{label}]-> {target}"


def read_numbers(fields: Mapping[str, Any], count: int) -> list[int]:
    """Return the different numbers from 1 to `count` that a model chose, in its order; all else is ignored.

    Example:
        >>> read_numbers({"items": [2, 2, 9, "1", True, 1]}, 3)
        [2, 1]
    """
    listed = fields.get("items")
    # Not `isinstance`, to which True is an integer.
    numbers = [number for number in listed if type(number) is int] if isinstance(listed, list) else []
    return [number for number in dict.fromkeys(numbers) if 1 <= number <= count]
