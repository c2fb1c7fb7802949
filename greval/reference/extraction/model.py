"""Entities and relations of a chunk by a model, checked against a schema and against the text.

The time and the price of an extraction depend on the output tokens. So a relation is a list of three texts, such as
`["Ada Lovelace", "wrote", "Notes"]`, its ends need not be listed again, and types are asked for only if a schema has
them. Strict schemas of OpenAI-compatible servers have no lists of a fixed length, so that lengths are checked here.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from greval.errors import MalformedVerdictError, MethodError
from greval.judging.answer_schema import build_object_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import NO_RUN, CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.prompt import join_lines, neutralise_control_tokens, neutralise_fences, wrap_in_fence
from greval.methods.index_records import IndexedChunk
from greval.records.result import Usage
from greval.reference.model_call import MATERIAL_RULE, ask_for_object, format_numbered_lines
from greval.reference.records import Extraction, Mention, Statement
from greval.reference.schema import GraphSchema

EXTRACTION_VERSION = "2"
"""The version of the prompt and of the checks, part of the key of an extraction. Increase it whenever they change."""
MAX_TRIES = 2
ASSUMED_OUTPUT_TOKENS = 180
"""The assumed output tokens of an extraction, as long as none is known: nine relations of twenty tokens."""
MAX_RELATIONS, MAX_PREDICATE_WORDS = 12, 5
"""What a model is asked to keep to. More are not refused, because they are paid for."""
LOCAL_ENTITIES, LOCAL_RELATIONS, LOCAL_NAME_CHARS, LOCAL_PREDICATE_CHARS = 4, 8, 60, 40
"""Limits for the embedded model, which follows the schema by a grammar and might never stop without them."""
LOCAL_TYPED_ENTITIES = 10
"""The limit of entities if a schema has types, because the ends of relations are then listed with their types."""
LOG = logging.getLogger("greval")
SYSTEM_PROMPT = """\
You read a passage and write down what it states and names.

{material}

- relations: at most {most} facts that the passage states about two names, the most important first. Each is a list \
of three texts: subject, predicate, object. {predicates}
- entities: {entities}
Copy each name from the passage, letter by letter. Use no pronouns: write the name, such as the title with which the \
passage begins. Add nothing that the passage does not say.
{example}Answer with JSON only, on one line, in this form: {form}"""
EXAMPLE_PASSAGE = """\
Salt Atlas is a novel by Orla Vennick, first printed in Quoyness by Tamsin Press. It won the Brine Medal.\
"""
EXAMPLE_RELATIONS = (
    ("Salt Atlas", "is a novel by", "Orla Vennick"),
    ("Salt Atlas", "was first printed in", "Quoyness"),
    ("Salt Atlas", "was printed by", "Tamsin Press"),
    ("Salt Atlas", "won", "Brine Medal"),
)
"""Invented names, which no text holds, so that they are dropped if a small model repeats them. Several relations are
shown because a small model that is shown one gives one."""
NAMED = "people, organisations, places, products, works and events"
FREE_ENTITIES = f"{NAMED} that the passage names and no relation holds. Often the list is empty: []."
FREE_PREDICATES = f"The predicate has at most {MAX_PREDICATE_WORDS} words."


async def extract_with_model(
    chunk: IndexedChunk, client: JudgeClient, schema: GraphSchema | None = None, context: CallContext = NO_RUN
) -> tuple[Extraction, Usage]:
    """Return the entities and relations of a chunk as a model reads them, with the usage.

    Names that the text does not hold are dropped and counted, so that nothing invented enters the graph. The title and
    the ends of relations are entities as well. With a schema they are so only if their type is known: as a term, by a
    tag or from the answer. An answer of another form is asked for once more, with the error.
    """
    form = AnswerFormat("extraction", _build_schema(schema, brief=client.judge.local), client.tier)
    first = build_extraction_messages(chunk, schema, brief=client.judge.local)
    messages, usage, fault = first, Usage(), ""
    for _ in range(MAX_TRIES):
        reply = await ask_for_object(client, form, messages, context)
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
        answered = [AIMessage(neutralise_control_tokens(reply.text))] if reply.text.strip() else []
        messages = [*first, *answered, HumanMessage(f"That cannot be used: {fault}\nAnswer again, in the form given.")]
    raise MethodError(
        f"{chunk.id}: {client.label} gave no entities and relations in {MAX_TRIES} tries: {fault}; "
        "index again, with another model, or without one (extract=rules)"
    )


def build_extraction_messages(
    chunk: IndexedChunk, schema: GraphSchema | None = None, *, brief: bool = False
) -> list[BaseMessage]:
    """Build the first messages about a chunk; `brief` asks for as many relations as the embedded model can list."""
    system = _format_system_text(schema, LOCAL_RELATIONS if brief else MAX_RELATIONS)
    return [SystemMessage(system), HumanMessage(_format_chunk(chunk, schema))]


def _list_tagged(chunk: IndexedChunk, schema: GraphSchema | None) -> dict[str, str]:
    """Return the entities that the tags of a chunk name, with their types."""
    tags = {} if schema is None else schema.tags
    return {value: kind for tag, kind in tags.items() if (value := join_lines(chunk.tags.get(tag, "")))}


def _format_system_text(schema: GraphSchema | None, most: int) -> str:
    entities, predicates = FREE_ENTITIES, FREE_PREDICATES
    if schema is not None:
        entities = (
            f"{NAMED} that the passage names, also those in relations. Each is a list of two texts: name, type. "
            f"Only these types: {', '.join(schema.entities)}."
        )
        listed = (
            f"{label} (from {' or '.join(relation.from_)} to {' or '.join(relation.to)})"
            for label, relation in schema.relations.items()
        )
        predicates = (
            f"The predicate is one of: {', '.join(listed)}." if schema.relations else "Leave the list empty: []."
        )
    return SYSTEM_PROMPT.format(
        material=MATERIAL_RULE.replace("question", "chunk"),
        most=most,
        entities=entities,
        predicates=predicates,
        example="" if schema else f"Example passage: {EXAMPLE_PASSAGE}\n",
        form=json.dumps(_build_form(schema), ensure_ascii=False, separators=(",", ":")),
    )


def _build_form(schema: GraphSchema | None) -> dict[str, list[Any]]:
    """Build an answer that shows the form, without a schema that to the example passage."""
    if schema is None:
        return {"relations": [[*relation] for relation in EXAMPLE_RELATIONS], "entities": []}
    # Small models repeat words such as "subject" instead of replacing them.
    subject, _, obj = EXAMPLE_RELATIONS[0]
    for label, relation in schema.relations.items():
        return {"entities": [[subject, relation.from_[0]], [obj, relation.to[0]]], "relations": [[subject, label, obj]]}
    return {"entities": [[subject, next(iter(schema.entities))]], "relations": []}


def _format_chunk(chunk: IndexedChunk, schema: GraphSchema | None) -> str:
    """Format the message about a chunk: what its document is about, if tags say so, and its text."""
    tagged = [f"{name} ({kind})" for name, kind in _list_tagged(chunk, schema).items()]
    about = [f"The passage is from a document about:\n{format_numbered_lines(tagged)}"] if tagged else []
    text = wrap_in_fence("chunk", neutralise_fences(chunk.content))
    return "\n".join((*about, text, "List the relations and entities of the passage."))


def _build_schema(schema: GraphSchema | None, *, brief: bool) -> dict[str, Any]:
    """Build the JSON schema of an extraction; `brief` limits the lengths of texts and lists."""
    text: dict[str, Any] = {"type": "string"}
    name, label = {**text, "maxLength": LOCAL_NAME_CHARS}, {**text, "maxLength": LOCAL_PREDICATE_CHARS}

    # Only the embedded model gets limits: not every server accepts them in its strict mode.
    def build_list(item: Mapping[str, Any], most: int) -> dict[str, Any]:
        return {"type": "array", "items": item, **({"maxItems": most} if brief else {})}

    # Strict schemas of OpenAI-compatible servers have no lists of a fixed length.
    def build_row(*parts: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "array", "prefixItems": [*parts]} if brief else {"type": "array", "items": text}

    if schema is None:
        relations = build_list(build_row(name, label, name), LOCAL_RELATIONS)
        return build_object_schema(
            {"relations": relations, "entities": build_list(name if brief else text, LOCAL_ENTITIES)}
        )
    kinds = {**text, "enum": [*schema.entities]}
    labels = {**text, "enum": [*schema.relations]} if schema.relations else label
    return build_object_schema(
        {
            "entities": build_list(build_row(name, kinds), LOCAL_TYPED_ENTITIES),
            "relations": build_list(build_row(name, labels, name), LOCAL_RELATIONS if schema.relations else 0),
        }
    )


def _read_extraction(fields: Mapping[str, Any], chunk: IndexedChunk, schema: GraphSchema | None) -> Extraction:
    """Read the answer of a model, and keep what the text and the schema allow."""
    entities = _read_rows(fields, "entities", ("name", "type") if schema else ("name",))
    relations = _read_rows(fields, "relations", ("subject", "predicate", "object"))
    checks = _Checks(chunk, schema)
    for entity in entities:
        checks.add_mention(*entity)
    for relation in relations:
        checks.add_statement(*relation)
    return Extraction(
        mentions=tuple(checks.mentions.values()), statements=tuple(checks.statements), dropped=checks.dropped
    )


def _read_rows(fields: Mapping[str, Any], part: str, names: Sequence[str]) -> list[list[str]]:
    """Return the rows of a list, each with its texts on one line; a row of one part is a text.

    A row with other parts is empty, so that it is dropped and counted.
    """
    form = "a text" if len(names) == 1 else f"a list of {len(names)} texts ({', '.join(names)})"
    items = fields.get(part)
    if not isinstance(items, list):
        raise MalformedVerdictError("malformed", f"{part}: must be a list")
    rows = [[row] if len(names) == 1 else row for row in items]
    sound = [_is_row(row, len(names)) for row in rows]
    # If no row has the parts, the form was not understood.
    if rows and not any(sound):
        raise MalformedVerdictError("malformed", f"{part}: each must be {form}")
    return [[*map(join_lines, row)] if is_row else [""] * len(names) for row, is_row in zip(rows, sound, strict=True)]


def _is_row(row: object, size: int) -> bool:
    return isinstance(row, list) and len(row) == size and all(isinstance(text, str) for text in row)


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
        title = join_lines(self.chunk.title)
        if self.is_in_text(title) and (self.schema is None or title.casefold() in self.schema.spellings):
            self.add_mention(title)

    def add_mention(self, name: str, kind: str = "") -> Mention | None:
        """Add an entity and return it; None if the text does not hold its name, or the schema not its type."""
        existing = self.find_mention(name)
        if existing is not None:
            return existing
        mention = Mention(name=name, type=kind) if self.is_in_text(name) else None
        if mention is not None and self.schema is not None:
            term = self.schema.spellings.get(name.casefold())
            mention = Mention(name=term[0], type=term[1]) if term else mention
            mention = mention if mention.type in self.schema.entities else None
        if mention is None:
            self.dropped += 1
            return None
        return self.mentions.setdefault(_fold(mention.name), mention)

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
        relation = self.schema.relations.get(predicate) if self.schema else None
        if not predicate or (self.schema and relation is None):
            self.dropped += 1
            return
        source, target = self.add_mention(subject), self.add_mention(obj)
        if source is None or target is None:
            # `add_mention` counted the end that is missing.
            return
        if source == target or (relation and not (source.type in relation.from_ and target.type in relation.to)):
            self.dropped += 1
            return
        self.statements[Statement(subject=source.name, predicate=predicate, object=target.name)] = None


def _fold(text: str) -> str:
    """Return a text as names are compared: in lower case and compatibility form, with single spaces."""
    return join_lines(unicodedata.normalize("NFKC", text).casefold())
