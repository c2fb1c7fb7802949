"""Cases, the input of metrics: a sample of a dataset and a method's response to it in one flat record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import not_
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from greval.records.record import Record

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ClaimField = Literal["claims", "expected_claims"]
"""The claims of the answer, or of the expected answer."""
Over = Literal["chunks", "triples", "claims", "expected_claims"]


def _add_empty_label(edge: object) -> object:
    """Convert an edge without a label, (source, target), to one with an empty label."""
    return (edge[0], "", edge[1]) if isinstance(edge, list | tuple) and len(edge) == 2 else edge  # noqa: PLR2004


Edge = Annotated[
    tuple[str, str, str],
    BeforeValidator(_add_empty_label, json_schema_input_type=Annotated[list[str], Field(min_length=2, max_length=3)]),
]
"""(source, label, target). An edge given as (source, target) has an empty label."""
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ESSENTIAL, HELPFUL = 2, 1
"""The gains of essential and helpful documents that have no grade."""
MAX_GRADE = 1_000
"""The highest grade. The exponential gain of a higher one, 2**grade - 1, exceeds the range of a float."""
Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]


class Chunk(Record):
    """A retrieved passage; `score` is the retriever's score.

    A chunk needs a text or an id. If only ids were recorded, `text` is None: rankings are computed, and no model judges
    the chunk. An empty text is one that was retrieved empty.
    """

    id: str
    text: str | None = None
    doc_id: str | None = None
    repo: str | None = None
    version: str | None = None
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _require_text_or_id(cls, chunk: object) -> object:
        """Raise if a chunk has neither a text nor an id."""
        if isinstance(chunk, Mapping) and all(chunk.get(name) is None for name in ("text", "id", "doc_id")):
            # A misspelt field is named together with the missing text, which it was perhaps meant to be.
            unknown = [name for name in chunk if name not in cls.model_fields]
            faults = [InitErrorDetails(type="missing", loc=("text",), input=chunk)]
            faults += [InitErrorDetails(type="extra_forbidden", loc=(name,), input=chunk[name]) for name in unknown]
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return chunk


class Triple(Record):
    """A retrieved fact of the graph: the subject is an entity, the object an entity or a value."""

    id: str
    subject: str
    predicate: str
    object: str


class Claim(Record):
    """A statement of a text that is true or false by itself."""

    id: str
    text: str


class NodeSource(Record):
    """The source of a graph node: its document, repository and version, as far as they are known."""

    doc_id: str | None = None
    repo: str | None = None
    version: str | None = None


class Traversal(Record):
    """A graph traversal in order; an edge is (source, label, target) or (source, target).

    `nodes` maps the names of nodes to their sources. It is never part of a prompt.
    """

    start_nodes: tuple[str, ...] = ()
    traversed_edges: tuple[Edge, ...] = ()
    final_nodes: tuple[str, ...] = ()
    nodes: dict[str, NodeSource] | None = None

    @property
    def visited(self) -> tuple[str, ...]:
        """The distinct names of the visited nodes in the order of their first visit."""
        ends = (end for source, _, target in self.traversed_edges for end in (source, target))
        return tuple(dict.fromkeys((*self.start_nodes, *ends, *self.final_nodes)))


class Gold(Record):
    """The gold data of a sample: what should be retrieved, traversed and answered.

    None means not recorded, empty means recorded and empty. `start_nodes` are the nodes at which the
    traversal should begin, `answers` alternatives that are as good as the expected answer, `aliases` the
    other names of a node by the name that the gold uses. `grades` are the gains of documents, such as 3
    for the best; 0 or less means not relevant. A plain mapping of documents to numbers is read as grades.

    Example:
        >>> Gold.model_validate({"d1": 3, "d2": 1}).essential
        ('d1',)
    """

    essential_docs: tuple[str, ...] | None = None
    helpful_docs: tuple[str, ...] | None = None
    essential_repos: tuple[str, ...] | None = None
    expected_edges: tuple[Edge, ...] | None = None
    expected_nodes: tuple[str, ...] | None = None
    start_nodes: tuple[str, ...] | None = None
    answers: tuple[str, ...] | None = None
    aliases: dict[str, tuple[str, ...]] | None = None
    grades: dict[str, Grade] | None = None

    @model_validator(mode="before")
    @classmethod
    def _wrap_grades(cls, gold: object) -> object:
        """Read a plain mapping of documents to numbers as `grades`."""
        return {"grades": gold} if is_grade_mapping(gold) else gold

    @property
    def essential(self) -> tuple[str, ...] | None:
        """The essential documents, or those graded 2 or more if no list is recorded. None if neither is recorded."""
        if self.essential_docs is not None or self.grades is None:
            return self.essential_docs
        return tuple(document for document, grade in self.grades.items() if grade >= ESSENTIAL)

    @property
    def gains(self) -> dict[str, int] | None:
        """The gain of each relevant document: its grade, else 2 if essential, 1 if helpful; None if not recorded."""
        if self.essential_docs is None and self.helpful_docs is None and self.grades is None:
            return None
        essential = dict.fromkeys(self.essential_docs or (), ESSENTIAL)
        # Essential documents twice: first for their order, then because they stay essential if they are in both lists.
        gains = {**essential, **dict.fromkeys(self.helpful_docs or (), HELPFUL), **essential, **(self.grades or {})}
        return {document: gain for document, gain in gains.items() if gain > 0}


def is_grade_mapping(gold: object) -> bool:
    """Return whether gold data is a plain mapping of documents to grades; no field of `Gold` is a number."""
    if not isinstance(gold, Mapping) or not gold or any(name in Gold.model_fields for name in gold):
        return False
    # A bool is an int in Python, but no grade.
    return all(isinstance(grade, int | float) and not isinstance(grade, bool) for grade in gold.values())


class ResponseUsage(Record):
    """The resources that a method used for a response: `latency` in seconds, `cost` in US dollars, and counts.

    `waited` is the time in seconds for which the method waited for its turn: for locks, queues, limits of calls, pauses
    before retries, and the opening of what it reads. It is not part of `latency`.
    """

    latency: Amount | None = None
    waited: Amount | None = None
    llm_calls: Count | None = None
    prompt_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Amount | None = None


def _build_items_validator(prefix: str, read: Any) -> BeforeValidator:  # noqa: ANN401 - a reader of items of any form
    """Build a validator that reads a list of items; missing ids are made from the position (`c1`, `c2`, ...)."""

    def read_items(items: object) -> object:
        if not isinstance(items, Sequence) or isinstance(items, str):
            return items
        return tuple(read(item, f"{prefix}{n}") for n, item in enumerate(items, 1))

    return BeforeValidator(read_items)


def _read_text_item(item: object, made_id: str) -> object:
    if isinstance(item, str):
        return {"id": made_id, "text": item}
    return {"id": made_id, **item} if isinstance(item, Mapping) and "id" not in item else item


def _read_chunk(item: object, made_id: str) -> object:
    """Read a chunk as `_read_text_item` does; a made id is no substitute for a text."""
    if isinstance(item, Mapping) and item.get("text") is None and item.get("doc_id") is None:
        return item
    return _read_text_item(item, made_id)


def _read_triple(item: object, made_id: str) -> object:
    """Read a triple given as three items or as a mapping without an id."""
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 3:  # noqa: PLR2004 - a triple
        return {"id": made_id, "subject": item[0], "predicate": item[1], "object": item[2]}
    return {"id": made_id, **item} if isinstance(item, Mapping) and "id" not in item else item


def is_unnamed(chunk: Chunk, position: int) -> bool:
    """Return whether a chunk has no document and only the id that was made from its position, which begins at 1."""
    return chunk.doc_id is None and chunk.id == f"{CHUNK_PREFIX}{position}"


CHUNK_PREFIX = "c"
"""The letter of the ids that are made for chunks, such as `c1`."""
Chunks = Annotated[tuple[Chunk, ...], _build_items_validator(CHUNK_PREFIX, _read_chunk)]
Triples = Annotated[tuple[Triple, ...], _build_items_validator("t", _read_triple)]
CLAIM_PREFIXES: Mapping[ClaimField, str] = {"claims": "a", "expected_claims": "e"}
"""The letter of the ids that are made for claims, such as `a1` and `e1`."""
Claims = Annotated[tuple[Claim, ...], _build_items_validator(CLAIM_PREFIXES["claims"], _read_text_item)]
ExpectedClaims = Annotated[
    tuple[Claim, ...], _build_items_validator(CLAIM_PREFIXES["expected_claims"], _read_text_item)
]


def _convert_tags(tags: object) -> object:
    """Convert the values of tags to text, so that a year or a flag can be a tag."""
    if not isinstance(tags, Mapping):
        return tags
    return {str(name): value if isinstance(value, str) else _convert_tag_value(value) for name, value in tags.items()}


def _convert_tag_value(value: object) -> object:
    """Convert a number or a flag to text. Other values stay as they are, for validation to reject."""
    # Before the numbers, because a bool is an int as well.
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


Tags = dict[str, str]
InputTags = Annotated[Tags, BeforeValidator(_convert_tags)]


Role = Literal["user", "assistant", "system", "tool"]
ROLE_NAMES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human", "customer"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "bot", "chatbot", "gpt", "agent"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""Who wrote a turn, by the names of roles in the forms of all tools."""


def _read_role(name: object) -> object:
    return ROLE_NAMES.get(name.strip().lower(), name) if isinstance(name, str) else name


class Turn(Record):
    """A turn of a conversation: who wrote it, and its text, which may also be given as `content`.

    Example:
        >>> Turn.model_validate({"role": "human", "content": "Who wrote it?"})
        Turn(role='user', text='Who wrote it?')
    """

    role: Annotated[Role, BeforeValidator(_read_role)]
    text: str

    @model_validator(mode="before")
    @classmethod
    def _read_content(cls, message: object) -> object:
        if not isinstance(message, Mapping) or "content" not in message or "text" in message:
            return message
        return {"text" if name == "content" else name: part for name, part in message.items()}


History = Annotated[tuple[Turn, ...] | None, Field(exclude_if=not_)]
"""The turns before the question, oldest first; JSON omits the field if it is empty."""


def format_history(turns: Iterable[Turn] | None) -> str:
    r"""Format turns for people, one after the other; empty without turns."""
    return "\n".join(f"{turn.role}: {turn.text}" for turn in turns or ())


class Sample(Record):
    """A row of a dataset: the question, the expected answer with its claims, gold data, and tags to group by.

    `history` are the turns of the conversation before the question.
    """

    id: str = ""
    question: str
    history: History = None
    expected_answer: str | None = None
    expected_claims: ExpectedClaims | None = None
    gold: Gold | None = None
    tags: InputTags = Field(default_factory=dict)


class Response(Record):
    """The response of one method to a sample.

    `aggregates` are computed texts, such as counts over many documents, that the method passed to its
    answering model in addition to chunks and triples. `claims` are those of the answer. `error` is the reason
    why the method failed. A response with an error is not judged: every metric fails on it with the kind `method`.
    """

    method: str = ""
    answer: str | None = None
    claims: Claims | None = None
    chunks: Chunks | None = None
    triples: Triples | None = None
    aggregates: tuple[str, ...] | None = None
    traversal: Traversal | None = None
    usage: ResponseUsage | None = None
    error: str | None = None


class Case(Sample, Response):
    """A sample and a response in one flat record: the only input of a metric.

    Every field except `question` may be missing. A metric lists the fields that it `needs` and is
    skipped, with a reason, if one is missing. None means not recorded, empty means recorded and empty.
    A case with an `other_response` to the same sample is a pair, which preference metrics judge; JSON omits the field
    if it is None.

    Example:
        >>> case = Case(question="Who wrote it?", answer="Ada.", chunks=["Ada wrote it in 1843."])
        >>> case.chunks[0].id
        'c1'
    """

    other_response: Annotated[Response | None, Field(exclude_if=not_)] = None

    @model_validator(mode="wrap")
    @classmethod
    def _name_fields(cls, raw: object, build: ModelWrapValidatorHandler[Self]) -> Self:
        """Let the error of an unknown field name the fields that there are."""
        try:
            return build(raw)
        except ValidationError as error:
            details = error.errors(include_url=False)
            if not any(map(_is_unknown_field, details)):
                raise
            raise ValidationError.from_exception_data(cls.__name__, [*map(_name_known_fields, details)]) from None


def _is_unknown_field(detail: ErrorDetails) -> bool:
    return detail["type"] == "extra_forbidden" and len(detail["loc"]) == 1


def _name_known_fields(detail: ErrorDetails) -> InitErrorDetails:
    """Return an error as it is, or with the known fields if it is one of an unknown field."""
    message = detail["msg"]
    if _is_unknown_field(detail):
        fields = ", ".join([*Sample.model_fields, *Response.model_fields, OTHER_RESPONSE])
        message = f"is no field of a case; the fields are {fields}"
    kind = PydanticCustomError(detail["type"], message)
    return InitErrorDetails(type=kind, loc=detail["loc"], input=detail["input"])


OTHER_RESPONSE = "other_response"
"""The field of a case that makes it a pair."""

PROMPT_FIELDS = ("question", "expected_answer", "answer", "chunks", "triples", "context", "traversal")
"""The fields that a judged metric can include in the prompt.

`history` is none of them, because it is shown with each question that has one. `context` is everything that the answer
was built from: chunks, triples, and aggregates if there are any.
"""

CLAIM_FIELDS: tuple[ClaimField, ...] = ("claims", "expected_claims")
"""The fields of claims. A judged metric can need only those that it judges one by one."""

FIELDS = (*PROMPT_FIELDS, *CLAIM_FIELDS, "gold", "usage")
"""The fields of a case that a metric can need, in addition to tags, `tags.NAME`."""

TAG = "tags."


RESPONSE_FIELDS = ("answer", "chunks", "triples", "context", "traversal", "usage")
"""The fields that a metric can need which belong to the response, and not to the sample."""


def _check_need(need: str) -> str:
    if need not in FIELDS and (not need.startswith(TAG) or need == TAG):
        raise ValueError(f"{need!r} is no field of a case; known: {', '.join(FIELDS)}, {TAG}NAME")
    return need


Need = Annotated[str, AfterValidator(_check_need)]


def read_need(case: Case, need: str) -> object:
    """Return the content of a needed field, None if it is not recorded; texts are stripped."""
    if need == "context":
        parts = [part for part in (case.chunks, case.triples, case.aggregates or None) if part is not None]
        return [item for part in parts for item in part] if parts else None
    if need.startswith(TAG):
        return case.tags.get(need.removeprefix(TAG))
    content: object = getattr(case, need)
    return content.strip() if isinstance(content, str) else content


def swap_responses(case: Case) -> Case:
    """Return a pair with its two responses exchanged; the names of the methods stay at their places."""
    second = case.other_response or Response()
    # No judge sees the names of the methods.
    fields = Response.model_fields.keys() - {"method"}
    first = Response.model_construct(method=second.method, **{name: getattr(case, name) for name in fields})
    return case.model_copy(update={**{name: getattr(second, name) for name in fields}, OTHER_RESPONSE: first})


def sort_methods(names: Iterable[str], baseline: str | None = None) -> tuple[str, ...]:
    """Sort the names of methods, each once: the baseline first, the others by name."""
    # The order of responses differs between two runs on the same data, and so would the sign of a difference.
    return tuple(sorted(set(names), key=lambda name: (name != baseline, name)))
