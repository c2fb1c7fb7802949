"""The configuration of a run: its keys, with types, limits and descriptions, for files, options and Python."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema

from greval._util.wording import did_you_mean
from greval.datasets.row_sources import STDIN
from greval.errors import MethodError
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.methods.fair_context import ContextMode
from greval.methods.reference_index import REFERENCE_SEARCHES
from greval.records.metric import ReasonDepth
from greval.records.record import Record, Text
from greval.runs.config.judge_config import ONE_OR_MORE, TEXT_SCHEMA, JudgeConfig, Texts, wrap_text

if TYPE_CHECKING:
    from greval.runs.options import EvaluateOptions

RUN_FILE = "greval.yaml"
"""The file that `greval evaluate` reads if no cases are named."""
FOLDER = "folder"
"""The name, in the context of a validation, of the folder that relative paths start from."""
INDEX_PLACEHOLDER = "{index}"
"""The placeholder in the spec of a method for the folder of the group's index."""
GRAPHRAG_SEARCHES = ("local", "global", "drift", "basic")
"""The searches of Microsoft GraphRAG, which need no spec if the group's folder has its index."""
SEARCHES = tuple(dict.fromkeys((*REFERENCE_SEARCHES, *GRAPHRAG_SEARCHES)))
"""Methods that need no spec: searches of the group's index."""
SCHEMA_HEAD: Mapping[str, str] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "greval run",
    "description": "A run of greval evaluate. Relative paths are relative to this file.",
}
DEFAULT_GROUP_BY = "imdb_key"
"""The column that groups the questions of the published design."""
_METHOD_NAME = re.compile(r"[^=:/?()\x00-\x1f]+")


def _get_folder(info: ValidationInfo) -> Path:
    return info.context[FOLDER] if info.context else Path()


def _resolve_path(path: str, info: ValidationInfo) -> str:
    return path if path == STDIN else str(_get_folder(info) / path)


def _resolve_metric(name: str, info: ValidationInfo) -> str:
    """Return the path of a metric that is a file or a folder, or in a Python file; other names are unchanged."""
    if "," in name and "(" not in name:
        return ",".join(_resolve_metric(part.strip(), info) for part in name.split(","))
    file, mark, object_name = name.partition(".py:")
    path = _get_folder(info) / f"{file}{'.py' if mark else ''}"
    return f"{path}{mark and ':'}{object_name}" if path.exists() else name


def _resolve_method(spec: str, info: ValidationInfo) -> str:
    from greval.methods.loading import resolve_spec

    return resolve_spec(spec, _get_folder(info))


def _check_method_name(name: str) -> str:
    if not _METHOD_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a method; leave out = : / ? ( )")
    return name


def _name_methods(methods: object) -> object:
    """Convert a list of names to methods without a spec."""
    if not isinstance(methods, list | tuple) or not all(isinstance(name, str) for name in methods):
        return methods
    if duplicates := sorted({name for name in methods if methods.count(name) > 1}):
        raise ValueError(f"named twice: {', '.join(duplicates)}")
    return dict.fromkeys(methods)


def _require_name(judge: JudgeConfig) -> JudgeConfig:
    if not judge.model:
        raise ValueError("model is missing; name one, such as openai:gpt-5.1 or local")
    return judge


_AS_TEXT = BeforeValidator(lambda path: str(path) if isinstance(path, PurePath) else path)
PathText = Annotated[str, StringConstraints(min_length=1), AfterValidator(_resolve_path), _AS_TEXT]
"""A path, which is relative to the folder of the file that has it."""
PathTexts = Annotated[
    tuple[PathText, ...],
    BeforeValidator(wrap_text),
    Field(min_length=1),
    ONE_OR_MORE,
]
MetricNames = Annotated[
    tuple[Annotated[Text, AfterValidator(_resolve_metric)], ...],
    BeforeValidator(wrap_text),
    Field(min_length=1),
    ONE_OR_MORE,
]
MethodSpecs = Annotated[
    dict[Annotated[Text, AfterValidator(_check_method_name)], Annotated[Text, AfterValidator(_resolve_method)] | None],
    BeforeValidator(_name_methods),
    Field(min_length=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": TEXT_SCHEMA},
                {"type": "object", "additionalProperties": {"anyOf": [TEXT_SCHEMA, {"type": "null"}]}},
            ]
        }
    ),
]
"""Specs of methods by name, or a list of names."""
NamedJudge = Annotated[JudgeConfig, AfterValidator(_require_name)]
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(ge=0)]


class GenerationConfig(Record):
    """The model that answers for all methods: its context mode, the facts file, and the fields to count."""

    model: Text
    context: ContextMode = "fair"
    facts: PathText | None = None
    by: tuple[str | tuple[str, ...], ...] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    base_url: str | None = None

    @property
    def judge(self) -> Judge:
        """The settings of the answering model."""
        return Judge(self.model, temperature=self.temperature, base_url=self.base_url)


class RunConfig(Record):
    """The configuration of a run: what is judged, by which metrics and which judge, and within which limits.

    `greval.yaml` has these keys, `greval evaluate` an option for each, and `evaluate_config` takes either. Keys that
    are not set have the defaults of `evaluate`. Keys from `dry_run` to `json` are for the command line.

    Example:
        >>> RunConfig(data="cases.jsonl", metrics="latency", judge="openai:gpt-5.4-mini").metrics
        ('latency',)
    """

    model_config = ConfigDict(strict=True, use_attribute_docstrings=True)

    data: PathText | None = None
    """The file of the cases: .jsonl, .json, .csv, .tsv or .parquet; or - for stdin."""
    metrics: MetricNames | None = None
    """A name, a file, a folder, FILE.py:NAME, or several with commas."""
    judge: JudgeConfig | None = None
    """The judge by its name, or its settings with the name under model."""
    escalate: NamedJudge | None = None
    """A second judge for the cases on which the judge is not sure, chosen by labels (docs/escalation.md)."""
    agree: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """With escalate: how often the judge has to agree with people where it decides."""
    labels: PathTexts | None = None
    """With escalate: a file of labels of people."""
    out: PathText | None = None
    """The run folder; runs/NAME by default."""
    concurrency: Count | None = None
    """The maximum number of concurrent calls."""
    limit: Count | None = None
    """Judge only the first N cases."""
    where: dict[Text, Texts] = Field(default_factory=dict)
    """Judge only cases with this value of a tag, or one of several."""
    repeats: Count = 1
    """The number of times that each case is judged; the majority or the mean counts."""
    method: Text | None = None
    """The method of the cases that do not name one."""
    methods: MethodSpecs | None = None
    """Methods that are asked for their responses first, by name, as for `greval collect --method`."""
    ask_timeout: Amount | None = None
    """The timeout of a method for one question, in seconds."""
    columns: Annotated[dict[Text, Text], Field(min_length=1)] | None = None
    """The column, or the path in JSON, of a field that is called otherwise."""
    gold: PathTexts | None = None
    """Gold, joined to the cases by id."""
    traversals: PathTexts | None = None
    """Logs of traversals, joined by id."""
    doc_id_pattern: Text | None = None
    """Take repo and version of chunks and nodes from their document ids, by groups (?P<repo>...) and
    (?P<version>...)."""
    library: PathTexts | None = None
    """A folder with metric files of your own."""
    reason_depth: ReasonDepth | None = None
    """How much the judge writes for each verdict; by default as each metric defines."""
    retry_failed: bool = True
    """Retry what failed."""
    resume: bool = True
    """Resume the run in the folder, or else begin a new one."""
    cache: bool = False
    """Cache replies, and use those cached by other runs."""
    store_calls: bool = True
    """Store each prompt and raw reply with the results (greval calls, greval replay)."""
    max_calls: Count | None = None
    """Stop after N calls, counted over all commands."""
    max_cost: Amount | None = None
    """Stop before more US dollars are spent, counted over all commands."""
    prices: PathText | None = None
    """Your own price table; greval judge prices shows it."""
    deadline: Amount | None = None
    """Stop after this time, in seconds."""
    shard: Text | None = None
    """Judge the K-th of N shards of the cases."""
    indexes: Annotated[dict[Text, PathText], Field(min_length=1)] | None = None
    """The folder of the index of each group of questions: {index} in a method."""
    group_by: Text | None = None
    """The tag whose values are the groups of the questions. The data are then questions, whose answer is the expected
    one."""
    answering: NamedJudge | None = None
    """The model that answers for searches of the group's index; the judge by default."""
    generation: GenerationConfig | None = None
    """The model that answers for all methods (docs/fair_context.md)."""
    result_files: Literal["end", "during"] | None = None
    """Write eval_results_detailed.json and eval_results_summary.json into the run folder at the end, or also every few
    seconds (docs/framework.md)."""
    dry_run: bool = False
    """Forecast the calls and their cost without any call."""
    by: Texts | None = None
    """Group by a tag or by method."""
    show: Annotated[int, Field(ge=0)] = 0
    """Show N verdicts with their reasons."""
    fail_if: Texts | None = None
    """Exit with 1 if it is met, such as 'correctness < 0.8' (docs/gates.md)."""
    quiet: bool = False
    """No progress, no report."""
    otel: bool = False
    """Send OpenTelemetry events by OTLP to OTEL_EXPORTER_OTLP_ENDPOINT."""
    json_events: bool = Field(default=False, alias="json")
    """Events as JSON lines instead of the report."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are set, as a file names them."""
        return list_keys(RunConfig, self.model_fields_set)

    def replace_by(self, overrides: RunConfig) -> RunConfig:
        """Return the configuration with what another one sets in place of its own keys.

        A method that the other one names without a spec is one of this configuration. Settings of the judge are
        replaced one by one.

        Raises:
            MethodError: If this configuration has methods, but none of such a name.
        """
        changes = {name: getattr(overrides, name) for name in overrides.model_fields_set}
        for name in ("judge", "escalate"):
            if (judge := getattr(self, name)) and (override := getattr(overrides, name)):
                changes[name] = judge.replace_by(override)
        if self.methods and overrides.methods:
            changes["methods"] = {
                name: self._get_spec(name) if spec is None else spec for name, spec in overrides.methods.items()
            }
        return self.model_copy(update=changes)

    def _get_spec(self, name: str) -> str | None:
        methods = self.methods or {}
        if name not in methods:
            raise MethodError(f"the config has no method {name!r}{did_you_mean(name, methods)}")
        return methods[name]

    def list_options(self) -> EvaluateOptions:
        """Return the options of `evaluate` that are keys of a configuration."""
        return {
            "concurrency": self.concurrency,
            "repeats": self.repeats,
            "reason_depth": self.reason_depth,
            "retry_failed": self.retry_failed,
            "resume": self.resume,
            "cache": self.cache,
            "store_calls": self.store_calls,
            "max_calls": self.max_calls,
            "max_cost": self.max_cost,
            "prices": Prices.load(Path(self.prices) if self.prices else None),
            "deadline": self.deadline,
            "shard": self.shard,
            # As for judges of single metrics, the settings of the judge hold for the second one.
            "escalate": (self.judge or JudgeConfig()).replace_by(self.escalate).create_judge()
            if self.escalate
            else None,
            "agree": self.agree,
            "labels": self.labels,
        }


def list_keys(model: type[Record], names: Collection[str] | None = None) -> tuple[str, ...]:
    """List the keys of a model as a file names them, or those of some of its fields."""
    fields = model.model_fields.items()
    return tuple(field.alias or name for name, field in fields if names is None or name in names)


class _FileSchema(GenerateJsonSchema):
    """Builds a schema of files: without titles, defaults, and null, which a file expresses by leaving the key out."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - as in pydantic
        return False

    def nullable_schema(self, schema: Any) -> Any:  # noqa: ANN401 - as in pydantic
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> Any:  # noqa: ANN401 - as in pydantic
        return self.generate_inner(schema["schema"])


def build_config_schema() -> dict[str, Any]:
    """Build the JSON schema of a file, in draft 7, which editors support.

    It checks names, types and limits. Whether files exist and keys fit together is checked when the file is used.
    """
    schema = RunConfig.model_json_schema(schema_generator=_FileSchema)
    return {**schema, **SCHEMA_HEAD}
