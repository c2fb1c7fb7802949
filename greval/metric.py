"""Metrics: the definition of what good means. Four public classes over one definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from greval.case import Case, Over
from greval.record import Label, Name, Record, Text
from greval.result import Judgement, Skipped
from greval.scale import (
    Better,
    CategoricalScale,
    Category,
    JudgedScale,
    MeasureScale,
    OffScaleError,
    Scale,
    ValueScale,
    has,
)

FIELDS = ("question", "expected_answer", "answer", "chunks", "triples", "context", "traversal", "gold", "usage")
"""What a metric can need of a case; `context` is the chunks and triples together, `tags.NAME` a tag."""

PROMPT_FIELDS = FIELDS[:7]
"""What a judged metric can show to the judge."""

TAG = "tags."
RESERVED = ("reason", "value", "item", "judgements")
"""Names of the judge's own answer, which no note may take."""


def _words(given: object) -> object:
    """Read one word as a list of one."""
    return (given,) if isinstance(given, str) else given


def _known(need: str) -> str:
    """Refuse what no case has."""
    if need not in FIELDS and (not need.startswith(TAG) or need == TAG):
        message = f"{need!r} is no field of a case; known: {', '.join(FIELDS)}, {TAG}NAME"
        raise ValueError(message)
    return need


Need = Annotated[str, AfterValidator(_known)]
Words = Annotated[tuple[Label, ...], Field(min_length=1), BeforeValidator(_words)]


Entry = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Annotated[tuple[Label, ...], Field(min_length=1)], Tag("words")],
    Discriminator(lambda given: "words" if isinstance(given, list | tuple) else "text"),
]
"""A field of a list note: its description, or the words that are allowed in it."""


class TextNote(Record):
    """A further text asked of the judge, after the verdict unless `when` says before."""

    means: Text
    when: Literal["before", "after"] = "after"


class ListNote(Record):
    """A further list asked of the judge: objects with the fields of `each`.

    A field's content is its description, or the list of the words that are allowed in it.
    """

    means: Text
    each: Annotated[dict[Label, Entry], Field(min_length=1)]
    when: Literal["before", "after"] = "after"


class ShareNote(Record):
    """A share counted in code over a list note: of the entries that match `among`, those that match `where`.

    An entry matches where each named field holds the given word, or one of the given words.
    """

    share: Label
    where: dict[Label, Words]
    among: dict[Label, Words] = Field(default_factory=dict)


def _note(given: object) -> str:
    return "list" if has(given, "each") else "share" if has(given, "share") else "text"


Note = Annotated[
    Annotated[ListNote, Tag("list")] | Annotated[ShareNote, Tag("share")] | Annotated[TextNote, Tag("text")],
    Discriminator(_note),
]
Notes = dict[Label, Note]


class Use(Record):
    """A narrowing: only the items to which the metric `judged_by` gave a value of `as`."""

    judged_by: Name
    as_: Annotated[tuple[Label, ...], Field(min_length=1, alias="as")]

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)


class Example(Record):
    """A judged case that is shown to the judge before the case to judge.

    Where a metric is over items, the case holds one of them; `notes` are those that are asked for.
    """

    case: Case
    reason: Text
    value: StrictInt | StrictFloat | StrictStr
    notes: dict[Label, JsonValue] = Field(default_factory=dict)

    @field_serializer("case")
    def _short(self, case: Case) -> dict[str, Any]:
        """Write only what the author wrote."""
        return case.model_dump(mode="json", exclude_defaults=True)


class Metric(Record):
    """What every metric has: a name, a description, what it needs of a case, and a scale.

    `over` names the items that are judged each by itself. Use one of the four classes below for
    what a model judges, `ComputedMetric` for what is computed.
    """

    name: Name
    description: Text
    over: Over | None = None
    needs: Annotated[tuple[Need, ...], Field(min_length=1)]
    scale: Scale

    @field_validator("needs")
    @classmethod
    def _each_once(cls, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Drop what is named again."""
        return tuple(dict.fromkeys(needs))


class ComputedMetric(Metric):
    """A metric that is a function of the case; `compute` gives judgements, or why there are none."""

    scale: CategoricalScale | ValueScale | MeasureScale
    compute: Annotated[Callable[[Case], tuple[Judgement, ...] | Skipped], Field(exclude=True, repr=False)]


class JudgedMetric(Metric):
    """A metric that a model judges, by steps; the base of the four public classes."""

    scale: JudgedScale
    steps: Annotated[tuple[Text, ...], Field(min_length=1)]
    instructions: str = ""
    notes: Notes = Field(default_factory=dict)
    uses: dict[Over, Use] = Field(default_factory=dict)
    examples: tuple[Example, ...] = ()

    @field_validator("notes", mode="before")
    @classmethod
    def _short_notes(cls, given: object) -> object:
        """Read a note given as text only."""
        if not isinstance(given, Mapping):
            return given
        return {name: {"means": note} if isinstance(note, str) else note for name, note in given.items()}

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse parts that do not fit together, all at once."""
        if faults := [*_misfits(self)]:
            raise ValueError("\n".join(faults))
        return self

    @model_serializer(mode="wrap")
    def _brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what holds nothing, so that a file reads as its author wrote it."""
        return {key: value for key, value in dump(self).items() if value}


class _Categorical(JudgedMetric):
    """On categories; `categories` and `ordered` may stand for the scale."""

    scale: CategoricalScale

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, given: object) -> object:
        return _folded(given, ("categories", "ordered"))

    if TYPE_CHECKING:  # what the folding accepts, for type checkers and editors

        def __init__(  # noqa: PLR0913 - the fields of a definition
            self,
            *,
            name: str,
            description: str,
            needs: Sequence[str],
            steps: Sequence[str],
            categories: Mapping[str, str | Mapping[str, object] | Category] = ...,
            ordered: bool = ...,
            scale: CategoricalScale = ...,
            over: Over | None = ...,
            instructions: str = ...,
            notes: Mapping[str, object] = ...,
            uses: Mapping[Over, Use | Mapping[str, object]] = ...,
            examples: Sequence[Example | Mapping[str, object]] = ...,
        ) -> None: ...


class _Valued(JudgedMetric):
    """On integers; `range`, `levels` and `better` may stand for the scale."""

    scale: ValueScale

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, given: object) -> object:
        return _folded(given, ("range", "levels", "better"))

    if TYPE_CHECKING:  # what the folding accepts, for type checkers and editors

        def __init__(  # noqa: PLR0913 - the fields of a definition
            self,
            *,
            name: str,
            description: str,
            needs: Sequence[str],
            steps: Sequence[str],
            range: tuple[int, int] = ...,  # noqa: A002 - the word of the file form
            levels: Mapping[int, str] = ...,
            better: Better = ...,
            scale: ValueScale = ...,
            over: Over | None = ...,
            instructions: str = ...,
            notes: Mapping[str, object] = ...,
            uses: Mapping[Over, Use | Mapping[str, object]] = ...,
            examples: Sequence[Example | Mapping[str, object]] = ...,
        ) -> None: ...


class CategoricalMetric(_Categorical):
    """One category for the case.

    Raises:
        pydantic.ValidationError: With the faults of the definition.

    Example:
        >>> metric = CategoricalMetric(
        ...     name="tone", description="Whether the answer keeps a professional tone.",
        ...     needs=["question", "answer"], steps=["Read the answer.", "Weigh its tone."],
        ...     categories={"Professional": "Neutral and courteous.", "Rude": "Insults."})
        >>> metric.scale.names
        ('Professional', 'Rude')
    """

    over: None = None


class ValueMetric(_Valued):
    """One integer for the case.

    Raises:
        pydantic.ValidationError: With the faults of the definition.

    Example:
        >>> ValueMetric(
        ...     name="depth", description="How deep the answer goes.", needs=["question", "answer"],
        ...     steps=["Compare."], range=(1, 5), levels={1: "Shallow.", 5: "Deep."}).scale.range
        (1, 5)
    """

    over: None = None


class ManyCategoricalMetric(_Categorical):
    """One category for each chunk or triple."""

    over: Over


class ManyValueMetric(_Valued):
    """One integer for each chunk or triple."""

    over: Over


def define(given: Mapping[str, object]) -> JudgedMetric:
    """Give the metric that a mapping in the file form defines, in the class that fits it.

    Args:
        given: The content of a metric file.

    Returns:
        A metric of one of the four public classes.

    Raises:
        pydantic.ValidationError: With the faults of the definition.
    """
    many = given.get("over") is not None
    scale = given.get("scale")
    valued = (isinstance(scale, Mapping) and "categories" not in scale) or "range" in given or "levels" in given
    return _CLASSES[valued, many].model_validate(given)


_CLASSES: dict[tuple[bool, bool], type[JudgedMetric]] = {
    (False, False): CategoricalMetric,
    (False, True): ManyCategoricalMetric,
    (True, False): ValueMetric,
    (True, True): ManyValueMetric,
}


def _folded(given: object, parts: tuple[str, ...]) -> object:
    """Give the definition with the parts of a scale put into its scale."""
    if not isinstance(given, Mapping) or not any(part in given for part in parts):
        return given
    rest = {key: value for key, value in given.items() if key not in parts}
    if "scale" in rest:
        message = f"scale: give either the scale or its parts ({', '.join(parts)}), not both"
        raise ValueError(message)
    return {**rest, "scale": {part: given[part] for part in parts if part in given}}


def _misfits(metric: JudgedMetric) -> Iterator[str]:
    """Name each part that does not fit the others, as `place: fault`."""
    for need in metric.needs:
        if need not in PROMPT_FIELDS and not need.startswith(TAG):
            yield f"needs: {need!r} cannot be shown to a judge; use it in a computed metric"
    if metric.over and metric.over not in metric.needs:
        yield f"needs: add {metric.over!r}, the metric is over them"
    for field in metric.uses:
        if field not in metric.needs and "context" not in metric.needs:
            yield f"uses.{field}: the metric does not need {field!r}; add it (or context) to needs"
    for name, note in metric.notes.items():
        if name in RESERVED:
            yield f"notes.{name}: the name is taken; choose another than {', '.join(RESERVED)}"
        if isinstance(note, ShareNote):
            yield from (f"notes.{name}: {fault}" for fault in _unshared(note, metric.notes))
    for number, example in enumerate(metric.examples):
        yield from (f"examples.{number}: {fault}" for fault in _unfit(example, metric))


def _unfit(example: Example, metric: JudgedMetric) -> Iterator[str]:
    """Name what an example lacks of what the metric shows and asks."""
    try:
        metric.scale.read(example.value)
    except OffScaleError as error:
        yield f"value: {error}"
    for need in metric.needs:
        if not _holds(example.case, need):
            yield f"case: {need} is missing"
    if metric.over and len(getattr(example.case, metric.over) or ()) != 1:
        yield f"case: give one of the {metric.over}, the one that is judged"
    asked = {name for name, note in metric.notes.items() if not isinstance(note, ShareNote)}
    if asked != set(example.notes):
        yield f"notes: give those that are asked for: {', '.join(sorted(asked)) or 'none'}"


def _holds(case: Case, need: str) -> bool:
    """Say whether a case has what a judge is shown; what no judge is shown is told elsewhere."""
    if need.startswith(TAG):
        return need.removeprefix(TAG) in case.tags
    fields = ("chunks", "triples") if need == "context" else (need,)
    return need not in PROMPT_FIELDS or any(getattr(case, field) is not None for field in fields)


def _unshared(note: ShareNote, notes: Notes) -> Iterator[str]:
    """Name what a share counts that its list does not hold."""
    listed = notes.get(note.share)
    if not isinstance(listed, ListNote):
        lists = [name for name, other in notes.items() if isinstance(other, ListNote)]
        yield f"share: {note.share!r} is no list note; known: {', '.join(lists) or 'none'}"
        return
    for field, wanted in (*note.among.items(), *note.where.items()):
        words = listed.each.get(field)
        if not isinstance(words, tuple):
            yield f"{field!r} is no field of {note.share!r} with listed words"
        elif unknown := [word for word in wanted if word not in words]:
            yield f"{field}: {', '.join(map(repr, unknown))} not among {', '.join(words)}"
