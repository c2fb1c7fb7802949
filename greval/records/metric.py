"""Metric definitions: five public classes of judged metrics with one common definition, and computed metrics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import not_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Required, Self, TypedDict, get_args

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from greval.errors import DefinitionError
from greval.records.case import (
    CLAIM_FIELDS,
    OTHER_RESPONSE,
    PROMPT_FIELDS,
    RESPONSE_FIELDS,
    TAG,
    Case,
    ClaimField,
    Need,
    Over,
    read_need,
    swap_responses,
)
from greval.records.formula import parse_limit
from greval.records.judge_choice import JudgeChoice
from greval.records.note import RESERVED, ListNote, Notes, ShareNote, TextNote, find_share_faults
from greval.records.record import Label, Name, Record, Text
from greval.records.result import CLAIM_LISTS, Judgement, Scored, Skipped
from greval.records.scale import (
    Better,
    CategoricalScale,
    Category,
    JudgedScale,
    MeasureScale,
    OffScaleError,
    Scale,
    Value,
    ValueScale,
    has_field,
)

if TYPE_CHECKING:
    from typing import Unpack

    from greval.records.definition_faults import Path


class Example(Record):
    """A few-shot example: a judged case that the prompt shows before the case to judge.

    If the metric is over items, the case holds one item. A metric whose reason goes step by step needs `findings`.
    """

    case: Case
    findings: tuple[Text, ...] = ()
    reason: Text
    value: StrictInt | StrictFloat | StrictStr
    notes: dict[Label, JsonValue] = Field(default_factory=dict)

    @field_serializer("case")
    def _dump_case(self, case: Case) -> dict[str, Any]:
        """Serialise only the fields that the author set."""
        return case.model_dump(mode="json", exclude_defaults=True)


ComputeReturn = Value | tuple[Value, str] | Judgement | Iterable[Judgement] | Skipped
"""The return types of a computed metric's function; `greval.metrics.computed.outcomes` builds an outcome of them."""

Verdicts = Mapping[str, Scored | Skipped]
"""The outcomes of other metrics for the same case, by the names of the metrics."""

ReasonDepth = Literal["brief", "detailed", "steps"]
"""The length of the reason for a verdict: one sentence, several, or a finding for each step and one sentence."""
PREFERENCE_SCORES = {"A": 1.0, "Tie": 0.5, "B": 0.0}
"""The categories of a preference and their numbers, whose mean is the win rate of the first response."""
GRADED_RANGE = (-2, 2)
"""The range of a graded preference; positive values favour the first response."""
_PREFERENCES = {
    "A": "Response A is better by this metric.",
    "Tie": "Neither response is better by this metric.",
    "B": "Response B is better by this metric.",
}
FINDINGS = "findings"
"""The field of the judge's answer that holds the finding of each step."""


class Use(Record):
    """A filter on items: only those to which the metric `judged_by` gave one of the values `as`."""

    judged_by: Name
    as_: Annotated[tuple[Label, ...], Field(min_length=1, alias="as")]

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)


class Metric(Record):
    """The common fields of all metrics: name, description, needed fields of a case, and scale.

    `over` names the items that are judged individually. Use one of the five classes below for a metric
    that a model judges, `ComputedMetric` for a metric that is computed from the case, and `DerivedMetric` for one that
    is computed from the verdicts of other metrics.
    """

    kind: ClassVar[Literal["judged", "computed"]]
    scale_parts: ClassVar[tuple[str, ...]] = ()
    """The arguments that a definition may have in place of `scale`."""

    name: Name
    description: Text
    over: Over | None = None
    needs: tuple[Need, ...]
    scale: Scale

    def __init__(self, **definition: Any) -> None:  # noqa: ANN401 - the fields above, which pydantic checks
        """Create a metric from its fields; raise `DefinitionError` with all faults, as the reader of files does."""
        try:
            super().__init__(**definition)
        except ValidationError as error:
            fields = (*(field.alias or name for name, field in type(self).model_fields.items()), *self.scale_parts)
            label = definition.get("name") or type(self).__name__
            faults = list_metric_faults(error, definition, fields)
            raise DefinitionError(*(f"{label}: {fault}" for fault in faults)) from None

    # Otherwise pydantic calls the constructor whenever it validates data, and readers of files need its own error.
    setattr(__init__, "__pydantic_base_init__", True)  # noqa: B010 - a function has no such attribute for mypy

    @field_validator("needs")
    @classmethod
    def _drop_repeated_needs(cls, needs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(needs))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The fields of a case that the metric reads, needed or optional."""
        return self.needs

    @property
    def dependencies(self) -> Mapping[Over, Use]:
        """The filter on each field of items by the verdicts of another metric; empty for most metrics."""
        return {}

    @property
    def dependency_places(self) -> Mapping[str, str]:
        """The names of the metrics that this one builds on, each with the place of the definition that names it."""
        return {}

    @property
    def claim_fields(self) -> tuple[ClaimField, ...]:
        """The fields of claims that another metric lists for a case that has none; empty for most metrics."""
        return ()


class FunctionMetric(Metric):
    """A metric that is computed by a function; the base class of `ComputedMetric`, `DerivedMetric` and `FormulaMetric`.

    The function returns a number, a bool, a category, `(value, reason)`, judgements, or `Skipped` with a reason.
    Values must be on the scale; anything else is a failed outcome that names the function.
    `optional` lists further fields that the function reads; it handles them itself if they are missing or empty.
    `version` stands for the code of the function: results are computed again if it changes.
    """

    kind = "computed"

    needs: tuple[Need, ...] = ()
    optional: tuple[Need, ...] = ()
    scale: CategoricalScale | ValueScale | MeasureScale
    # Definitions without a version keep the fingerprints that they had before there were versions.
    version: Annotated[str, Field(exclude_if=not_)] = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The fields of a case that the function reads, needed or optional."""
        return (*self.needs, *self.optional)

    @abstractmethod
    def call_function(self, case: Case, verdicts: Verdicts) -> ComputeReturn:
        """Call the function with what it reads."""


class ComparedIds(NamedTuple):
    """The expected and the returned ids of a case, what each side is of, and the value of a case in which none met."""

    list_ids: Callable[[Case], tuple[Iterable[str], Iterable[str]]]
    names: tuple[str, str]
    value_without_hit: float = 0.0


class ComputedMetric(FunctionMetric):
    """A metric that is a function of the case, see `FunctionMetric` for what the function may return.

    At least one of `needs` and `optional` must not be empty. `compared_ids` are the ids that the function compares: if
    none of a whole run met because they are of two kinds, the metric is skipped for all of its cases.
    """

    compute: Annotated[Callable[[Case], ComputeReturn], Field(exclude=True, repr=False)]
    compared_ids: Annotated[ComparedIds | None, Field(exclude=True, repr=False)] = None

    @model_validator(mode="after")
    def _check_inputs(self) -> Self:
        """Reject a metric that declares no input."""
        # Results are stored by the inputs that are read: without any, all cases would share one result.
        if not self.needs and not self.optional:
            raise ValueError("needs: name at least one field of a case that the function reads, here or in optional")
        return self

    def call_function(self, case: Case, verdicts: Verdicts) -> ComputeReturn:  # noqa: ARG002 - it reads none
        """Call the function with the case."""
        return self.compute(case)


class DerivedMetric(FunctionMetric):
    """A metric that is a function of the case and of the verdicts of other metrics on it.

    `built_on` names the other metrics, judged or computed. `compute` takes the case and the outcomes of these metrics
    by name, each `Scored` or `Skipped`; see `FunctionMetric` for what it may return. If one of them failed, even for
    one item, the function is not called and the result is a failure of kind `dependency`. The result is computed again
    if one of the outcomes changes.

    Example:
        >>> from greval.records.result import Judgement
        >>> def count_relevant(case, verdicts):
        ...     relevance = verdicts["chunk_evaluation"]
        ...     if relevance.status == "skipped":
        ...         return relevance
        ...     return sum(judgement.number == 1 for judgement in relevance.judgements)
        >>> metric = DerivedMetric(name="relevant_chunks", description="The number of relevant chunks.",
        ...                        built_on=["chunk_evaluation"], scale=MeasureScale(), compute=count_relevant)
        >>> judgements = (Judgement(value="Relevant", number=1.0, reason="It answers.", item="c1"),)
        >>> metric.call_function(Case(question="Who?"), {"chunk_evaluation": Scored(judgements=judgements)})
        1
    """

    compute: Annotated[Callable[[Case, Verdicts], ComputeReturn], Field(exclude=True, repr=False)]
    built_on: Annotated[tuple[Name, ...], Field(min_length=1)]

    @property
    def dependency_places(self) -> Mapping[str, str]:
        """The names of the metrics whose verdicts the function reads, with `built_on`, which lists them."""
        return dict.fromkeys(self.built_on, "built_on")

    def call_function(self, case: Case, verdicts: Verdicts) -> ComputeReturn:
        """Call the function with the case and the verdicts that it reads."""
        return self.compute(case, verdicts)


class JudgedMetric(Metric):
    """A metric that a model judges by steps; the base class of the five public classes.

    `reason_depth` sets the length of the reason for a verdict: `brief`, one sentence; `detailed`, several sentences;
    `steps`, a finding for each step, then one sentence. `pass_if`, `pass` in files, is what the number of a case, or
    the mean of its items, must meet for the case to pass, such as `>= 0.7`; it changes no verdict. `judge` names the
    model that judges by this metric instead of the judge of the run. `counts` names a list note: the value is the
    number of its entries, and the judge is not asked for it. `preference` is true if the metric compares two responses;
    use `PreferenceMetric` for these.
    """

    kind = "judged"

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    needs: Annotated[tuple[Need, ...], Field(min_length=1)]
    scale: JudgedScale
    steps: Annotated[tuple[Text, ...], Field(min_length=1)]
    instructions: str = ""
    reason_depth: ReasonDepth = "brief"
    pass_if: Annotated[str, Field(alias="pass")] = ""
    judge: JudgeChoice | None = None
    notes: Notes = Field(default_factory=dict)
    counts: str = ""
    uses: dict[Over, Use] = Field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    preference: bool = False

    @model_validator(mode="before")
    @classmethod
    def _fold_scale(cls, definition: object) -> object:
        return _fold_scale_fields(definition, cls.scale_parts)

    @field_validator("notes", mode="before")
    @classmethod
    def _read_short_notes(cls, notes: object) -> object:
        if not isinstance(notes, Mapping):
            return notes
        return {name: {"means": note} if isinstance(note, str) else note for name, note in notes.items()}

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Reject fields that do not fit together, with all faults at once."""
        if faults := [*_find_misfits(self)]:
            raise ValueError("\n".join(faults))
        return self

    @property
    def dependencies(self) -> Mapping[Over, Use]:
        """The filter on each field of items by the verdicts of another metric, `uses`."""
        return self.uses

    @property
    def dependency_places(self) -> Mapping[str, str]:
        """The metrics that filter the items or list the claims, each with its first place in `uses` or `needs`."""
        places: dict[str, str] = {}
        for field, use in self.uses.items():
            places.setdefault(use.judged_by, f"uses.{field}.judged_by")
        for claims in self.claim_fields:
            places.setdefault(CLAIM_LISTS[claims], f"needs.{claims}")
        return places

    @property
    def claim_fields(self) -> tuple[ClaimField, ...]:
        """The needed fields of claims, which another metric lists for a case that has none."""
        return tuple(field for field in CLAIM_FIELDS if field in self.needs)

    @model_serializer(mode="wrap")
    def _dump_brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out empty fields and defaults."""
        # A file that is written reads as its author wrote it.
        understood = {"reason_depth": "brief"}
        return {key: value for key, value in dump(self).items() if value and value != understood.get(key)}


class _JudgedArguments(TypedDict, total=False):
    """The arguments of all judged metrics, for type checkers and editors."""

    name: Required[str]
    description: Required[str]
    needs: Required[Sequence[str]]
    steps: Required[Sequence[str]]
    over: Over | None
    instructions: str
    reason_depth: ReasonDepth
    pass_if: str
    judge: str | Mapping[str, object] | JudgeChoice | None
    notes: Mapping[str, object]
    counts: str
    uses: Mapping[Over, Use | Mapping[str, object]]
    examples: Sequence[Example | Mapping[str, object]]


class _CategoricalBase(JudgedMetric):
    """A judged metric with categories; accepts `categories` and `ordered` instead of `scale`."""

    scale_parts = ("categories", "ordered")

    scale: CategoricalScale

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            categories: Mapping[str, str | Mapping[str, object] | Category] = ...,
            ordered: bool = ...,
            scale: CategoricalScale = ...,
            **definition: Unpack[_JudgedArguments],
        ) -> None: ...


class _ValueBase(JudgedMetric):
    """A judged metric with numbers; accepts `range`, `step`, `levels` and `better` instead of `scale`."""

    scale_parts = ("range", "step", "levels", "better")

    scale: ValueScale

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            range: tuple[int, int] = ...,  # noqa: A002 - the word of the file form
            step: float | None = ...,
            levels: Mapping[float, str] = ...,
            better: Better = ...,
            scale: ValueScale = ...,
            **definition: Unpack[_JudgedArguments],
        ) -> None: ...


class CategoricalMetric(_CategoricalBase):
    """A metric that gives one category for the case.

    Raises:
        DefinitionError: If the definition is invalid. The error holds all faults.

    Example:
        >>> metric = CategoricalMetric(
        ...     name="tone", description="Whether the answer keeps a professional tone.",
        ...     needs=["question", "answer"], steps=["Read the answer.", "Weigh its tone."],
        ...     categories={"Professional": "Neutral and courteous.", "Rude": "Insults."})
        >>> metric.scale.names
        ('Professional', 'Rude')
    """

    over: None = None


class ValueMetric(_ValueBase):
    """A metric that gives one number for the case.

    Raises:
        DefinitionError: If the definition is invalid. The error holds all faults.

    Example:
        >>> ValueMetric(
        ...     name="depth", description="How deep the answer goes.", needs=["question", "answer"],
        ...     steps=["Compare."], range=(1, 5), levels={1: "Shallow.", 5: "Deep."}).scale.range
        (1, 5)
    """

    over: None = None


class ManyCategoricalMetric(_CategoricalBase):
    """A metric that gives one category for each item: a chunk, a triple or a claim."""

    over: Over


class ManyValueMetric(_ValueBase):
    """A metric that gives one number for each item: a chunk, a triple or a claim."""

    over: Over


class PreferenceMetric(JudgedMetric):
    """A metric that says which of two responses to the same sample is better; its cases are pairs.

    The judge is always asked in both orders (docs/duel.md). The scale has the categories A, Tie and B, which count as
    1, 0.5 and 0, so that a mean is the win rate of the first response; or it has the range -2 to 2, in which positive
    values favour the first response. Without a scale it is A, Tie and B.

    Raises:
        DefinitionError: If the definition is invalid. The error holds all faults.

    Example:
        >>> metric = PreferenceMetric(
        ...     name="clarity", description="Which answer is easier to understand.", needs=["question", "answer"],
        ...     steps=["Read both answers.", "Say which one needs fewer second readings."])
        >>> [(category.name, category.score) for category in metric.scale.categories]
        [('A', 1.0), ('Tie', 0.5), ('B', 0.0)]
    """

    scale_parts = ("categories", "range", "levels")

    over: None = None
    preference: Literal[True] = True

    @model_validator(mode="before")
    @classmethod
    def _complete_scale(cls, definition: object) -> object:
        """Read the parts of a scale, and set the numbers of the categories."""
        folded = _fold_scale_fields(definition, cls.scale_parts)
        if not isinstance(folded, Mapping):
            return folded
        scale = folded.get("scale", {"categories": _PREFERENCES})
        if isinstance(scale, Mapping) and "levels" in scale:
            scale = {"range": [*GRADED_RANGE], **scale}
        if isinstance(scale, Mapping) and isinstance(scale.get("categories"), Mapping):
            scale = {
                **scale,
                "categories": {name: _add_score(name, content) for name, content in scale["categories"].items()},
            }
        return {**folded, "scale": scale}

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            categories: Mapping[str, str | Mapping[str, object] | Category] = ...,
            levels: Mapping[float, str] = ...,
            scale: CategoricalScale | ValueScale = ...,
            **definition: Unpack[_JudgedArguments],
        ) -> None: ...


def is_preference(metric: Metric) -> bool:
    """Return whether a metric judges pairs of responses."""
    return isinstance(metric, JudgedMetric) and metric.preference


def _add_score(name: object, content: object) -> object:
    """Return the content of a category of a preference with its number, unless it has one or is no known category."""
    score = PREFERENCE_SCORES.get(str(name))
    if score is None or isinstance(content, Category):
        return content
    if content is None or isinstance(content, str):
        return {"means": content or "", "score": score}
    return {"score": score, **content} if isinstance(content, Mapping) else content


def needs_judge(metrics: Iterable[Metric]) -> bool:
    """Return whether one of the metrics is judged by a model."""
    return any(metric.kind == "judged" for metric in metrics)


def build_metric(content: Mapping[str, object]) -> JudgedMetric:
    """Build a metric of one of the five public classes from the content of a metric file."""
    if content.get("preference") is True:
        return PreferenceMetric.model_validate(content)
    many = content.get("over") is not None
    scale = content.get("scale")
    valued = (isinstance(scale, Mapping) and "categories" not in scale) or "range" in content or "levels" in content
    return _METRIC_CLASSES[valued, many].model_validate(content)


def set_reason_depth(metrics: Iterable[Metric], depth: ReasonDepth | None) -> tuple[Metric, ...]:
    """Return the metrics with a reason depth. Computed metrics are unchanged, and all metrics if `depth` is None.

    Raises:
        DefinitionError: If the depth is unknown, or a definition does not fit it.

    Example:
        >>> metric = ValueMetric(name="m", description="d", needs=["answer"], steps=["s"],
        ...                      range=(0, 1), levels={0: "No.", 1: "Yes."})
        >>> set_reason_depth([metric], "steps")[0].reason_depth
        'steps'
    """
    if depth is None:
        return tuple(metrics)
    if depth not in get_args(ReasonDepth):
        raise DefinitionError(f"reason_depth: must be one of {', '.join(get_args(ReasonDepth))}, got {depth!r}")
    return tuple(
        _change_reason_depth(metric, depth) if isinstance(metric, JudgedMetric) else metric for metric in metrics
    )


def _change_reason_depth(metric: JudgedMetric, depth: ReasonDepth) -> JudgedMetric:
    """Return the metric with a reason depth, validated as a whole."""
    if metric.reason_depth == depth:
        return metric
    try:
        return type(metric).model_validate({**dict(metric), "reason_depth": depth})
    except ValidationError as error:
        faults = list_metric_faults(error, {})
        raise DefinitionError(*(f"{metric.name}: reason_depth {depth}: {fault}" for fault in faults)) from error


_METRIC_CLASSES: dict[tuple[bool, bool], type[JudgedMetric]] = {
    (False, False): CategoricalMetric,
    (False, True): ManyCategoricalMetric,
    (True, False): ValueMetric,
    (True, True): ManyValueMetric,
}


def _fold_scale_fields(definition: object, parts: tuple[str, ...]) -> object:
    """Return the definition with the fields of a scale moved into `scale`."""
    if not isinstance(definition, Mapping) or not any(part in definition for part in parts):
        return definition
    remaining = {key: value for key, value in definition.items() if key not in parts}
    if "scale" in remaining:
        raise ValueError(f"scale: give either the scale or its parts ({', '.join(parts)}), not both")
    return {**remaining, "scale": {part: definition[part] for part in parts if part in definition}}


_NESTED_KEYS: dict[tuple[str, int], tuple[str, ...]] = {
    ("scale", 4): ("means", "score"),
    ("categories", 3): ("means", "score"),
    ("notes", 3): tuple({**ListNote.model_fields, **ShareNote.model_fields, **TextNote.model_fields}),
    ("uses", 3): ("judged_by", "as"),
    ("judge", 2): tuple(JudgeChoice.model_fields),
    ("examples", 3): tuple(Example.model_fields),
    ("examples", 4): tuple(Case.model_fields),
}
"""The known keys by the field of the metric and the depth of the key."""


def list_definition_keys(path: Path, data: Mapping[str, object], fields: Sequence[str] = ()) -> tuple[str, ...]:
    """List the known keys of a definition at the level of the last part of a path; `fields` are those of the metric."""
    if len(path) == 1:
        return tuple(fields)
    if path[0] == "scale" and len(path) == 2:  # noqa: PLR2004 - a key of the scale itself
        if "formula" in data:
            return tuple(MeasureScale.model_fields)
        scale = CategoricalScale if has_field(data.get("scale"), "categories") else ValueScale
        return tuple(scale.model_fields)
    return _NESTED_KEYS.get((str(path[0]), len(path)), ())


def list_metric_faults(
    error: ValidationError, definition: Mapping[str, object], fields: Sequence[str] = ()
) -> list[str]:
    """List the faults of a definition in the words of a metric file, each with its place."""
    known_keys = partial(list_definition_keys, fields=fields)
    from greval.records.definition_faults import convert_errors, format_fault

    faults = convert_errors(error.errors(include_url=False), definition, known_keys)
    return [format_fault(path, text) for path, text, _ in faults]


def _find_misfits(metric: JudgedMetric) -> Iterator[str]:
    """Find the fields that do not fit together, as `place: fault`."""
    for need in metric.needs:
        if need in CLAIM_FIELDS and need != metric.over:
            yield f"needs: {need!r} are judged one by one; set over: {need}, or take them out"
        elif need not in (*PROMPT_FIELDS, *CLAIM_FIELDS) and not need.startswith(TAG):
            yield f"needs: {need!r} cannot be shown to a judge; use it in a computed metric"
    if metric.over and metric.over not in metric.needs:
        yield f"needs: add {metric.over!r}, the metric is over them"
    for field in metric.uses:
        if field not in metric.needs and "context" not in metric.needs:
            yield f"uses.{field}: the metric does not need {field!r}; add it (or context) to needs"
    yield from _find_preference_misfits(metric)
    yield from _find_note_misfits(metric)
    yield from _find_count_misfits(metric)
    yield from _find_pass_misfits(metric)
    for number, example in enumerate(metric.examples):
        yield from (f"examples.{number}: {fault}" for fault in _find_example_misfits(metric, example))


def _find_preference_misfits(metric: JudgedMetric) -> Iterator[str]:
    """Find what does not fit a preference between two responses."""
    if not metric.preference:
        return
    if not isinstance(metric, PreferenceMetric):
        yield "preference: is true, so build a PreferenceMetric, or leave it out"
    if metric.uses:
        yield "uses: a preference judges whole responses; leave it out"
    if not set(metric.needs) & {*RESPONSE_FIELDS}:
        yield "needs: add what is compared of the two responses, such as answer"
    match metric.scale:
        case CategoricalScale(categories=categories, ordered=ordered):
            if not ordered or {category.name: category.score for category in categories} != PREFERENCE_SCORES:
                yield "scale: a preference has the categories A (1), Tie (0.5) and B (0), in this order"
        case ValueScale(range=ends, step=step, better=better):
            if (ends, step, better) != (GRADED_RANGE, None, "higher"):
                yield "scale: a graded preference has the range -2 to 2, whose positive levels favour A"


def _find_pass_misfits(metric: JudgedMetric) -> Iterator[str]:
    """Find why no case could pass: a limit that cannot be read, or a scale without numbers."""
    if not metric.pass_if:
        return
    try:
        parse_limit(metric.pass_if)
    except ValueError as error:
        yield f"pass: {error}, got {metric.pass_if!r}"
    if isinstance(metric.scale, CategoricalScale) and all(
        category.score is None for category in metric.scale.categories
    ):
        yield "pass: the categories have no numbers; give them scores, or leave it out"


def _find_note_misfits(metric: JudgedMetric) -> Iterator[str]:
    """Find the notes that do not fit other notes or the scale."""
    reserved = (*RESERVED, *((FINDINGS,) if metric.reason_depth == "steps" else ()))
    for name, note in metric.notes.items():
        if name in reserved:
            yield f"notes.{name}: the name is taken; choose another than {', '.join(reserved)}"
        if isinstance(note, ShareNote):
            yield from (f"notes.{name}: {fault}" for fault in find_share_faults(note, metric.notes))
            if note.better and isinstance(metric.scale, CategoricalScale) and not metric.scale.ordered:
                yield f"notes.{name}: better: a scale without an order has no best value; leave it out"


def _find_count_misfits(metric: JudgedMetric) -> Iterator[str]:
    """Find why the entries of a note cannot be counted: it is no list, or their number is not on the scale."""
    if not metric.counts:
        return
    if not isinstance(metric.notes.get(metric.counts), ListNote):
        lists = [name for name, note in metric.notes.items() if isinstance(note, ListNote)]
        yield f"counts: {metric.counts!r} is no list note; known: {', '.join(lists) or 'none'}"
    if not isinstance(metric.scale, ValueScale) or metric.scale.range[0] or metric.scale.step:
        yield "counts: a number of entries needs a scale of whole numbers from 0, such as range: [0, 100]"


def _find_example_misfits(metric: JudgedMetric, example: Example) -> Iterator[str]:
    """Find the parts of an example that do not match its metric."""
    try:
        metric.scale.read(example.value)
    except OffScaleError as error:
        yield f"value: {error}"
    for need in metric.needs:
        is_shown = need in PROMPT_FIELDS or need.startswith(TAG)
        if is_shown and read_need(example.case, need) is None:
            yield f"case: {need} is missing"
        elif metric.preference and need in RESPONSE_FIELDS and read_need(swap_responses(example.case), need) is None:
            yield f"case: {OTHER_RESPONSE}: {need} is missing"
    if metric.over and len(getattr(example.case, metric.over) or ()) != 1:
        yield f"case: give one of the {metric.over}, the one that is judged"
    written = {name for name, note in metric.notes.items() if not isinstance(note, ShareNote)}
    if written != set(example.notes):
        yield f"notes: give those that are asked for: {', '.join(sorted(written)) or 'none'}"
    listed = example.notes.get(metric.counts)
    if isinstance(listed, list) and len(listed) != example.value:
        yield f"value: must be the number of entries of {metric.counts}, {len(listed)}"
    steps = len(metric.steps)
    if len(example.findings) != steps and (metric.reason_depth == "steps" or example.findings):
        yield f"findings: give one for each of the {steps} steps, got {len(example.findings)}"
