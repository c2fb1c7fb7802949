"""Entities and relations of a chunk by a model, checked against a schema and against the text."""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from greval.errors import MalformedVerdictError, MethodError
from greval.judging.answer_schema import build_object_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient
from greval.judging.prompt import join_lines, neutralise_fences, wrap_in_fence
from greval.methods.reference.model_call import MATERIAL_RULE, ask_for_object, format_numbered_lines
from greval.methods.reference.records import Extraction, IndexedChunk, Mention, Statement
from greval.methods.reference.schema import GraphSchema
from greval.records.result import Usage

EXTRACTION_VERSION = "1"
"""The version of the prompt and of the checks, part of the key of an extraction. Increase it whenever they change."""
MAX_TRIES = 2
LOCAL_ENTITIES, LOCAL_RELATIONS, LOCAL_NAME_CHARS = 10, 8, 60
"""Limits for the embedded model, which follows the schema by a grammar and might never stop without them."""
LOG = logging.getLogger("greval")
SYSTEM_PROMPT = """\
You read a passage and write down what it names and states.

{material}

- entities: the people, organisations, places, products, works and events that the passage names. Copy each name \
from the passage, letter by letter. {types}
- relations: facts that the passage states about two of the entities. subject and object are names of entities. \
{predicates}
Use no pronouns as names. Add nothing that the passage does not say.
Answer with JSON only, in this form: {form}"""
FREE_TYPES = "type: one lower-case word, such as person or place."
FREE_PREDICATES = "predicate: the words between them, such as wrote or is part of."


async def extract_with_model(
    chunk: IndexedChunk, client: JudgeClient, schema: GraphSchema | None = None
) -> tuple[Extraction, Usage]:
    """Return the entities and relations of a chunk as a model reads them, with the usage.

    Names that the text does not hold are dropped and counted, so that nothing invented enters the graph. The ends of a
    relation that are not among the entities are added to them. An answer of another form is asked for once more, with
    the error.

    Args:
        chunk: The chunk to read, with its title.
        client: The model that reads it.
        schema: The types and relations that are allowed. None: any.

    Raises:
        MethodError: If the call fails, or the second answer has another form too.

    Example:
        >>> import asyncio
        >>> from greval.testing import ScriptedJudge
        >>> found = {"entities": [{"name": "Ada", "type": "person"}, {"name": "Bob", "type": "person"}],
        ...          "relations": [{"subject": "Ada", "predicate": "wrote", "object": "the Notes"}]}
        >>> chunk = IndexedChunk(id="d#1", doc_id="d", text="Ada wrote the Notes.")
        >>> extraction, _ = asyncio.run(extract_with_model(chunk, JudgeClient(ScriptedJudge([found]))))
        >>> [mention.name for mention in extraction.mentions], extraction.dropped
        (['Ada', 'the Notes'], 1)
    """
    form = AnswerFormat("extraction", _build_schema(schema, brief=client.judge.local), client.tier)
    first: list[BaseMessage] = [SystemMessage(_format_system_text(schema)), HumanMessage(_format_chunk(chunk, schema))]
    messages, usage, fault = first, Usage(), ""
    for _ in range(MAX_TRIES):
        reply = await ask_for_object(client, form, messages)
        usage += reply.usage
        fault = reply.fault
        if reply.fields is not None:
            try:
                extraction = _read_extraction(reply.fields, chunk, schema)
            except MalformedVerdictError as error:
                fault = str(error)
            else:
                if extraction.dropped:
                    LOG.info("%s: dropped %d of what the model extracted", chunk.id, extraction.dropped)
                return extraction, usage
        answered = [AIMessage(reply.text)] if reply.text.strip() else []
        messages = [*first, *answered, HumanMessage(f"That cannot be used: {fault}\nAnswer again, in the form given.")]
    raise MethodError(
        f"{chunk.id}: {client.label} gave no entities and relations in {MAX_TRIES} tries: {fault}; "
        "index again, with another model, or without one (extract=rules)"
    )


def _list_tagged(chunk: IndexedChunk, schema: GraphSchema | None) -> dict[str, str]:
    """Return the entities that the tags of a chunk name, with their types."""
    tags = {} if schema is None else schema.tags
    return {value: kind for tag, kind in tags.items() if (value := join_lines(chunk.tags.get(tag, "")))}


def _format_system_text(schema: GraphSchema | None) -> str:
    entity = {"name": "...", "type": "..."}
    relation = {"subject": "...", "predicate": "...", "object": "..."}
    types, predicates = FREE_TYPES, FREE_PREDICATES
    if schema is not None:
        types = f"Only these types: {', '.join(schema.entities)}."
        listed = (
            f"{label} (from {' or '.join(one.from_)} to {' or '.join(one.to)})"
            for label, one in schema.relations.items()
        )
        predicates = f"predicate: one of {', '.join(listed)}." if schema.relations else "There are none; write []."
    form = json.dumps({"entities": [entity], "relations": [relation]})
    return SYSTEM_PROMPT.format(
        material=MATERIAL_RULE.replace("question", "chunk"), types=types, predicates=predicates, form=form
    )


def _format_chunk(chunk: IndexedChunk, schema: GraphSchema | None) -> str:
    """Format the message about a chunk: what its document is about, if tags say so, and its text."""
    tagged = [f"{name} ({kind})" for name, kind in _list_tagged(chunk, schema).items()]
    about = [f"The passage is from a document about:\n{format_numbered_lines(tagged)}"] if tagged else []
    text = wrap_in_fence("chunk", neutralise_fences(chunk.content))
    return "\n".join((*about, text, "List the entities and relations of the passage."))


def _build_schema(schema: GraphSchema | None, *, brief: bool) -> dict[str, Any]:
    """Build the JSON schema of an extraction; `brief` limits the lengths of texts and lists."""
    text: dict[str, Any] = {"type": "string", "maxLength": LOCAL_NAME_CHARS} if brief else {"type": "string"}

    def choose_from(words: Sequence[str]) -> dict[str, Any]:
        return {"type": "string", "enum": [*words]} if words else text

    def build_list(item: Mapping[str, Any], most: int) -> dict[str, Any]:
        return {"type": "array", "items": build_object_schema({**item}), **({"maxItems": most} if brief else {})}

    kinds, labels = ([*schema.entities], [*schema.relations]) if schema else ([], [])
    entity = {"name": text, "type": choose_from(kinds)}
    relation = {"subject": text, "predicate": choose_from(labels), "object": text}
    parts = {"entities": build_list(entity, LOCAL_ENTITIES), "relations": build_list(relation, LOCAL_RELATIONS)}
    return build_object_schema(parts)


def _read_extraction(fields: Mapping[str, Any], chunk: IndexedChunk, schema: GraphSchema | None) -> Extraction:
    """Read the answer of a model, and keep what the text and the schema allow.

    Raises:
        MalformedVerdictError: If the answer has another form.
    """
    entities = [*_read_rows(fields, "entities", ("name", "type"))]
    relations = [*_read_rows(fields, "relations", ("subject", "predicate", "object"))]
    checks = _Checks(chunk, schema)
    for name, kind in entities:
        checks.add_mention(name, kind)
    for subject, predicate, obj in relations:
        checks.add_statement(subject, predicate, obj)
    return Extraction(
        mentions=tuple(checks.mentions.values()), statements=tuple(checks.statements), dropped=checks.dropped
    )


def _read_rows(fields: Mapping[str, Any], part: str, names: Sequence[str]) -> Iterator[list[str]]:
    """Iterate over the objects of a list, each as its texts on one line."""
    rows = fields.get(part)
    if not isinstance(rows, list):
        raise MalformedVerdictError("malformed", f"{part}: must be a list of objects")
    for row in rows:
        if not isinstance(row, Mapping) or not all(isinstance(row.get(name), str) for name in names):
            raise MalformedVerdictError(
                "malformed", f"{part}: each must be an object with the texts {', '.join(names)}"
            )
        yield [join_lines(row[name]) for name in names]


@dataclass
class _Checks:
    """What a text and a schema allow of an extraction; mentions are by their name in lower case."""

    chunk: IndexedChunk
    schema: GraphSchema | None
    mentions: dict[str, Mention] = field(default_factory=dict)
    statements: dict[Statement, None] = field(default_factory=dict)
    dropped: int = 0

    def __post_init__(self) -> None:
        self.text = _fold(self.chunk.content)
        for name, kind in _list_tagged(self.chunk, self.schema).items():
            self.mentions[_fold(name)] = Mention(name=name, type=kind)

    def add_mention(self, name: str, kind: str) -> Mention | None:
        """Add an entity and return it; None if the text does not hold its name, or the schema not its type."""
        known = self.find_mention(name)
        if known is not None:
            return known
        found = Mention(name=name, type=kind) if self.is_in_text(name) else None
        if found is not None and self.schema is not None:
            term = self.schema.spellings.get(name.casefold())
            found = Mention(name=term[0], type=term[1]) if term else found
            found = found if found.type in self.schema.entities else None
        if found is None:
            self.dropped += 1
            return None
        return self.mentions.setdefault(_fold(found.name), found)

    def find_mention(self, name: str) -> Mention | None:
        """Return the entity of a name that was added before, also if the name is another spelling of a term."""
        term = self.schema.spellings.get(name.casefold()) if self.schema else None
        return self.mentions.get(_fold(term[0] if term else name))

    def is_in_text(self, name: str) -> bool:
        """Return whether the text holds a name as whole words."""
        folded = _fold(name)
        return any(c.isalnum() for c in folded) and bool(re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", self.text))

    def add_statement(self, subject: str, predicate: str, obj: str) -> None:
        """Add a relation if both of its ends are entities of the text and the schema allows it."""
        if not self.is_predicate(predicate):
            self.dropped += 1
            return
        source, target = self.add_mention(subject, ""), self.add_mention(obj, "")
        if source is None or target is None:
            return  # the end was counted
        if source == target or not self.is_allowed(source, predicate, target):
            self.dropped += 1
            return
        self.statements[Statement(subject=source.name, predicate=predicate, object=target.name)] = None

    def is_predicate(self, predicate: str) -> bool:
        """Return whether a relation may have this name."""
        return predicate in self.schema.relations if self.schema else bool(predicate)

    def is_allowed(self, source: Mention, predicate: str, target: Mention) -> bool:
        """Return whether the schema allows the relation between entities of these types."""
        if self.schema is None:
            return True
        relation = self.schema.relations[predicate]
        return source.type in relation.from_ and target.type in relation.to


def _fold(text: str) -> str:
    """Return a text as names are compared: in lower case and compatibility form, with single spaces."""
    return join_lines(unicodedata.normalize("NFKC", text).casefold())
