"""Request and response schemas of the metric routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from greval.records.case import Over
from greval.records.metric import ReasonDepth
from greval.records.record import Label, Name, Record, Text
from greval.records.result import Usage
from greval.serve.problems import Fault
from greval.serve.schemas.requests import INTEGRAL, ShortText, StrictRequest
from greval.serve.state.metric_library import Origin
from greval.serve.state.metric_texts import DiffLine
from greval.serve.state.metric_versions import MetricVersion

MAX_YAML = 65_536
"""The most characters of a metric file that a client may send: parsing more takes seconds."""
MAX_DESCRIPTION = 2_000
Yaml = Annotated[str, Field(min_length=1, max_length=MAX_YAML)]


class JudgeInfo(Record):
    """A judge that clients may name; `label` is its name in results."""

    name: str
    label: str
    default: bool


class JudgeList(Record):
    """The judges, the default first."""

    judges: Sequence[JudgeInfo]


class MetricInfo(Record):
    """A metric in short: what it judges, what it needs of a case, and its scale.

    `over` is set if each chunk or triple is judged separately; `optional` lists further inputs of a computed metric.
    `preference` is true if the metric compares the two responses of a pair, of both of which it needs these fields.
    """

    name: str
    description: str
    kind: Literal["judged", "computed"]
    origin: Origin
    over: Over | None
    needs: Sequence[str]
    optional: Sequence[str] = ()
    preference: bool = False
    scale: dict[str, JsonValue]


class MetricList(Record):
    """Metrics, sorted by name."""

    metrics: Sequence[MetricInfo]


class MetricDetail(MetricInfo):
    """A metric in full; `judge` is the judge that it names, `yaml` the text of its file; null if it has none."""

    steps: Sequence[str] = ()
    instructions: str = ""
    reason_depth: ReasonDepth = "brief"
    judge: JsonValue = None
    notes: dict[str, JsonValue] = Field(default_factory=dict)
    uses: dict[str, JsonValue] = Field(default_factory=dict)
    examples: Sequence[JsonValue] = ()
    yaml: str | None = None


class MetricText(StrictRequest):
    """The text of a metric file."""

    yaml: Yaml


class MetricCheck(Record):
    """Whether the text is a valid metric.

    `faults` are the reasons if not, the first hundred of `fault_count`; `warnings` point at unreliable judging. Both
    have the line and the place. `content` is the content of the text as it was read, valid or not; null if the text
    cannot be read.
    """

    ok: bool
    faults: Sequence[Fault] = ()
    fault_count: int = 0
    warnings: Sequence[str] = ()
    content: dict[str, JsonValue] | None = None


class MetricEditRequest(StrictRequest):
    """The text of a metric file, which may be empty, and new values of some of its fields; null removes a field."""

    yaml: Annotated[str, Field(max_length=MAX_YAML)]
    fields: dict[Annotated[str, Field(max_length=100)], JsonValue]


class MetricEdit(MetricCheck):
    """The edited text, and whether it is a valid metric."""

    yaml: str


class MetricVersionList(Record):
    """The versions of a metric of your own, the newest first; that is the current one."""

    versions: Sequence[MetricVersion]


class MetricVersionText(Record):
    """The text of a version of a metric."""

    version: int
    yaml: str


class MetricDiff(Record):
    """The lines of two versions of a metric: those of both, those that `new` lacks, and those that only it has."""

    old: int
    new: int
    lines: Sequence[DiffLine]


class DraftRequest(StrictRequest):
    """The metric to draft: `scale` is a kind, a lower and an upper end, or names of categories.

    `check` tries the draft on pairs of a good and a bad example that the judge makes up.
    """

    name: Name
    description: Annotated[Text, Field(max_length=MAX_DESCRIPTION)]
    scale: (
        Literal["categorical", "value"]
        | Annotated[list[Annotated[int, Field(ge=-1_000, le=1_000), INTEGRAL]], Field(min_length=2, max_length=2)]
        | Annotated[list[Label], Field(min_length=2, max_length=20)]
    ) = "categorical"
    over: Over | None = None
    judge: ShortText | None = None
    check: bool = True


class MetricDraft(Record):
    """A metric as a model drafted it: review it before use.

    `warnings` are the remarks that the model did not mend, and one if a good example did not get the better value. The
    draft is `good` if it was tried on examples and has no remark. `usage` is that of all calls for the draft.
    """

    yaml: str
    warnings: Sequence[str] = ()
    good: bool = False
    usage: Usage
