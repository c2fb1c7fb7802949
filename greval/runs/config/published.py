"""The schema of the config file and its reader, which reports every fault with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import BeforeValidator, Field, ValidationError

from greval._util.wording import did_you_mean
from greval.errors import DataError, DefinitionError
from greval.judging.model.judge import Judge
from greval.judging.model.judge_names import complete_judge_name
from greval.methods.fair_context import ContextMode
from greval.methods.reference.settings import Search
from greval.metrics.files.validation import convert_errors
from greval.metrics.files.yaml_text import MetricFileFault, YamlSource, find_line, read_source_file
from greval.metrics.sources import load_metrics
from greval.records.record import Record, Text

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

CONFIG_FILE = "eval_config.yaml"
"""The default name of the config file."""
DEFAULT_GROUP_BY = "imdb_key"
"""The default column that groups the dataset: the one of the published evaluation design."""
INDEX_PLACEHOLDER = "{index}"
"""The placeholder in the spec of a method for the folder of the group's index."""
GRAPHRAG_SEARCHES = ("local", "global", "drift", "basic")
"""The searches of Microsoft GraphRAG, which need no spec if the group's folder has its index."""
REFERENCE_SEARCHES: tuple[str, ...] = get_args(Search)
"""The searches of greval's reference pipeline, which need no spec if the group's folder has its index."""
SEARCHES = tuple(dict.fromkeys((*REFERENCE_SEARCHES, *GRAPHRAG_SEARCHES)))
"""Methods that need no spec: searches of the group's index."""


def _convert_name_list(methods: object) -> object:
    """Convert a list of names to methods without a spec."""
    if not isinstance(methods, list | tuple) or not all(isinstance(name, str) for name in methods):
        return methods
    if twice := sorted({name for name in methods if methods.count(name) > 1}):
        raise ValueError(f"named twice: {', '.join(twice)}")
    return dict.fromkeys(methods)


def _add_judge_provider(given: object) -> object:
    """Add the default provider to the model of a judge, or of the answering model."""
    if not isinstance(given, Mapping):
        return given
    if not isinstance(given.get("model"), str):
        raise ValueError("model is missing; name one, such as openai:gpt-5.1 or local")  # noqa: TRY004 - pydantic reports only a ValueError as a fault
    return given


Model = Annotated[str, Field(min_length=1), BeforeValidator(complete_judge_name)]


class DatasetConfig(Record):
    """The file of the questions, and the column that selects the index of each question."""

    path: Text
    group_by: Text = DEFAULT_GROUP_BY


class OutputConfig(Record):
    """The folder of the results, and whether the two result files are also written during the run."""

    dir: Text = "eval/results"
    save_intermediate: bool = True


class GenerationConfig(Record):
    """The model that answers for all methods: its context mode, the facts file, and the fields to count."""

    model: Model
    context: ContextMode = "fair"
    facts: Text | None = None
    by: tuple[str | tuple[str, ...], ...] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    base_url: str | None = None

    @property
    def judge(self) -> Judge:
        """The settings of the answering model."""
        return Judge(self.model, temperature=self.temperature, base_url=self.base_url)


class EvaluationConfig(Record):
    """The configuration of an evaluation.

    Paths are relative to the root folder. `methods` maps the name of a method to its spec, or to None if it is a search
    of the group's index. `indexes` maps each group to the folder of its index. `answering` is the model that answers
    for searches of the reference pipeline, by default the judge. `metrics` are named as after `-m`;
    without them the published ones are used.
    """

    dataset: DatasetConfig
    indexes: dict[str, Text] = Field(default_factory=dict)
    methods: Annotated[dict[Text, Text | None], Field(min_length=1), BeforeValidator(_convert_name_list)]
    output: OutputConfig = OutputConfig()
    judge: Annotated[Judge | None, BeforeValidator(_add_judge_provider)] = None
    answering: Annotated[Judge | None, BeforeValidator(_add_judge_provider)] = None
    generation: GenerationConfig | None = None
    metrics: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None


SECTIONS: Mapping[str, type[Record]] = {
    "dataset": DatasetConfig,
    "output": OutputConfig,
    "judge": Judge,
    "answering": Judge,
    "generation": GenerationConfig,
}


def locate_config(root: Path, file: Path) -> Path:
    """Return the path of a config file: relative to the root, or as given if it exists only there."""
    return file if file.is_file() and not (root / file).is_file() else root / file


def read_config(path: Path, root: Path) -> EvaluationConfig:
    """Read a config file, YAML or JSON, whose paths are relative to a root folder.

    Raises:
        DataError: If the file has faults. All are reported at once, each with its line.
    """
    source = read_source_file(path, "name the config with --config and its folder with --root")
    faults = list(source.faults)
    config = None
    if source.data is not None or not faults:
        try:
            config = EvaluationConfig.model_validate({} if source.data is None else source.data)
        except ValidationError as error:
            faults += _convert_errors(error.errors(include_url=False), source)
        else:
            faults += _check_references(config, root, source)
    if faults or config is None:
        raise DataError("\n".join(f"{path}:{fault}" for fault in sorted(faults, key=lambda fault: fault.line)))
    return config


def _convert_errors(errors: list[ErrorDetails], source: YamlSource) -> Iterator[MetricFileFault]:
    """Convert pydantic's errors to faults; an unknown key is reported with the most similar known key."""
    for error in errors:
        if error["type"] == "extra_forbidden":
            *parent, name = error["loc"]
            known = SECTIONS[str(parent[0])] if parent else EvaluationConfig
            text = f"unknown{did_you_mean(str(name), known.model_fields)}"
            yield MetricFileFault(find_line(error["loc"], source.lines), text, error["loc"])
        else:
            yield from convert_errors([error], source.data, source.lines)


def _check_references(config: EvaluationConfig, root: Path, source: YamlSource) -> Iterator[MetricFileFault]:
    """Find what cannot be used: missing files and folders, and methods that cannot be loaded."""

    def build_fault(text: str, *place: str | int) -> MetricFileFault:
        return MetricFileFault(find_line(place, source.lines), text, place)

    if not (root / config.dataset.path).is_file():
        yield build_fault(f"there is no file {root / config.dataset.path}", "dataset", "path")
    for group, folder in config.indexes.items():
        if not (root / folder).is_dir():
            yield build_fault(f"there is no folder {root / folder}", "indexes", group)
    yield from _check_methods(config, source)
    yield from _check_metrics(config, root, source)
    if config.generation and config.generation.context == "fair" and config.generation.facts is None:
        modes = " or ".join(mode for mode in get_args(ContextMode) if mode != "fair")
        yield build_fault(f"fair context needs facts: a file to count in; else write context: {modes}", "generation")
    if config.generation and config.generation.facts and not (root / config.generation.facts).is_file():
        yield build_fault(f"there is no file {root / config.generation.facts}", "generation", "facts")


def _check_metrics(config: EvaluationConfig, root: Path, source: YamlSource) -> Iterator[MetricFileFault]:
    """Find the metrics that cannot be loaded; if each can by itself, they do not fit each other."""
    specs = config.metrics or ()
    if not specs or (whole := _find_metric_error(specs, root)) is None:
        return
    faults: dict[tuple[str | int, ...], DefinitionError | None] = {
        ("metrics", place): _find_metric_error([spec], root) for place, spec in enumerate(specs)
    }
    found = {place: error for place, error in faults.items() if error} or {("metrics",): whole}
    yield from (MetricFileFault(find_line(place, source.lines), str(error), place) for place, error in found.items())


def _find_metric_error(specs: Sequence[str], root: Path) -> DefinitionError | None:
    """Return the error of loading metrics, None if they can be loaded."""
    try:
        load_metrics(specs, root=root)
    except DefinitionError as error:
        return error
    return None


def _check_methods(config: EvaluationConfig, source: YamlSource) -> Iterator[MetricFileFault]:
    """Find methods without a spec that are no search, and those without the index that they need."""
    for position, (name, spec) in enumerate(config.methods.items()):
        place = ("methods", name) if ("methods", name) in source.lines else ("methods", position)
        line = find_line(place, source.lines)
        if spec is None and name not in SEARCHES:
            yield MetricFileFault(line, _describe_unknown_method(name), place)
        elif (spec is None or INDEX_PLACEHOLDER in spec) and not config.indexes:
            needing = spec or f"{name}, which has no spec,"
            yield MetricFileFault(
                line, f"{needing} needs the folder of an index; add indexes, a folder for each group", place
            )


def _describe_unknown_method(name: str) -> str:
    """Explain how to write the spec of a method."""
    return (
        f"{name} has no spec{did_you_mean(name, SEARCHES)}; only searches of the group's index need none: "
        f"{', '.join(REFERENCE_SEARCHES)} of greval, {', '.join(GRAPHRAG_SEARCHES)} of Microsoft GraphRAG. Write "
        f"methods as a mapping with a spec for it, such as {name}: my_module:function, or {name}: "
        f"my_module:make({INDEX_PLACEHOLDER}); {INDEX_PLACEHOLDER} is replaced by the folder of the group's index"
    )
