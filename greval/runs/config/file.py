"""Files that describe a run: `greval.yaml`, and the published `eval_config.yaml`, both read into one configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationError

from greval._util.wording import did_you_mean, find_typo
from greval.errors import DataError, GrevalError
from greval.judging.model.judge import KEY_VARIABLE
from greval.metrics.files.validation import convert_errors
from greval.metrics.files.yaml_text import MetricFileFault, YamlSource, find_line, read_source_file
from greval.records.judge_choice import SECRET_NAME
from greval.records.record import Record, Text
from greval.runs.config.judge_config import JUDGE_KEYS, SETTINGS
from greval.runs.config.model import (
    DEFAULT_GROUP_BY,
    FOLDER,
    GenerationConfig,
    MethodSpecs,
    NamedJudge,
    RunConfig,
    list_keys,
)
from greval.runs.config.references import FileCheck, KeyFault, find_reference_faults

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

PUBLISHED_FILE = "eval_config.yaml"
"""The name of a file of the published form."""
KEY_PLACES: Mapping[str, tuple[str, ...]] = {
    "data": ("dataset", "path"),
    "group_by": ("dataset", "group_by"),
    "out": ("output", "dir"),
    "result_files": ("output", "save_intermediate"),
}
"""The places of keys of a run that the published form has in a section."""
JUDGE = "judge"


class DatasetSection(Record):
    """The file of the questions, and the column that selects the index of each question."""

    path: Text
    group_by: Text = DEFAULT_GROUP_BY


class OutputSection(Record):
    """The run folder, and whether the two result files are also written during the run."""

    dir: Text = "eval/results"
    save_intermediate: bool = True


class PublishedConfig(Record):
    """The content of an `eval_config.yaml`. Keys without a section are those of a run."""

    dataset: DatasetSection
    methods: MethodSpecs
    indexes: dict[str, Text] = Field(default_factory=dict)
    output: OutputSection = OutputSection()
    judge: NamedJudge | None = None
    answering: NamedJudge | None = None
    generation: GenerationConfig | None = None
    metrics: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None

    def convert(self, folder: Path) -> RunConfig:
        """Convert to the configuration of a run, whose paths start from a folder."""
        keys = self.model_fields_set - {"dataset", "output"}
        run = {key: value for key in keys if (value := getattr(self, key))}
        run |= {"data": self.dataset.path, "group_by": self.dataset.group_by, "out": self.output.dir}
        run["result_files"] = "during" if self.output.save_intermediate else "end"
        return RunConfig.model_validate(run, context={FOLDER: folder})


SECTIONS: Mapping[str, Collection[str]] = {
    **dict.fromkeys((JUDGE, "answering"), JUDGE_KEYS),
    "generation": GenerationConfig.model_fields,
    "dataset": DatasetSection.model_fields,
    "output": OutputSection.model_fields,
}
"""The keys of the sections of both files."""
OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("cases", "dataset"), "data"),
    **dict.fromkeys(("gate", "gates"), "fail_if"),
    **dict.fromkeys(("judge_option", "judge_options"), "judge.options"),
    "column": "columns",
    "metric": "metrics",
    "ask": "methods",
    "traversal": "traversals",
    "output": "out",
}
"""Words that people write for keys, such as the names of options, with the keys that they mean."""


@dataclass(frozen=True)
class ConfigFile:
    """A file that describes a run: its path, its configuration, and its content with the lines of its keys."""

    path: Path
    config: RunConfig
    source: YamlSource

    @contextmanager
    def explain_errors(
        self, config: RunConfig, changes: RunConfig | None = None, checks: Mapping[str, FileCheck] | None = None
    ) -> Iterator[None]:
        """Report an error that values of the file explain with the lines of these values.

        `config` is what is used, with `changes` in place of keys of the file. `checks` are those of further keys.
        """
        try:
            yield
        except GrevalError as error:
            replaced = changes.model_fields_set if changes else frozenset()
            # Settings without a name leave the judge of the file in place, and its faults are those of the file.
            if changes and changes.judge and not changes.judge.model:
                replaced = replaced - {JUDGE}
            keys = self.config.model_fields_set - replaced
            if faults := [*map(self._locate, find_reference_faults(config, keys, checks))]:
                raise _build_error(self.path, faults) from error
            raise

    def _locate(self, fault: KeyFault) -> MetricFileFault:
        """Return a fault with the line and the name of its key in the file."""
        key_path, text = fault
        methods = self.source.data.get("methods") if isinstance(self.source.data, Mapping) else None
        # A list of names has become a mapping; in the file, a name is found by its position.
        if key_path[0] == "methods" and isinstance(methods, list):
            key_path = ("methods", methods.index(key_path[1]))
        if key_path[:1] not in self.source.lines:
            key_path = KEY_PLACES.get(str(key_path[0]), key_path)
        # Only keys have lines: a value inside a text or a list in one line has the line of its parent.
        while key_path not in self.source.lines:
            key_path = key_path[:-1]
        return MetricFileFault(find_line(key_path, self.source.lines), text, key_path)


def read_config_file(path: Path, root: Path | None = None) -> ConfigFile:
    """Read a file that describes a run, YAML or JSON. The folder of its paths can be imported from afterwards.

    Args:
        path: The file. It is of the published form if it is called `eval_config.yaml` or has a section `dataset`.
        root: The folder that relative paths start from, by default that of the file.
    """
    source = read_source_file(path, "name a file with -c, or write one with `greval init`")
    folder = path.parent if root is None else root
    config, faults = _read_content(source, folder, published=path.name == PUBLISHED_FILE)
    if config is None:
        raise _build_error(path, faults)
    from greval._util.object_loading import add_to_import_path

    # For methods such as `my_rag:ask`.
    add_to_import_path(folder.resolve())
    return ConfigFile(path, config, source)


def build_config(content: Mapping[str, object], folder: Path = Path()) -> RunConfig:
    """Build a configuration from the keys that a file has, whose paths start from a folder.

    Example:
        >>> build_config({"data": "cases.jsonl", "metric": "latency"})
        Traceback (most recent call last):
        greval.errors.DataError: metric: unknown; did you mean metrics?
    """
    config, faults = _read_content(YamlSource({**content}, {}, []), folder)
    if config is None:
        # There is no file whose lines could be named.
        raise DataError("\n".join(str(fault).partition(": ")[2] for fault in faults))
    return config


def locate_config(root: Path, file: Path) -> Path:
    """Return the path of a file: relative to the root, or as it is if it exists only there."""
    return file if file.is_file() and not (root / file).is_file() else root / file


def _read_content(
    source: YamlSource, folder: Path, *, published: bool = False
) -> tuple[RunConfig | None, list[MetricFileFault]]:
    """Return the content as a configuration, None if it has none, and its faults."""
    content = source.data
    if isinstance(content, Mapping) and isinstance(content.get("dataset"), Mapping):
        published = True
    if content is None and source.faults:
        return None, source.faults
    if not published and not isinstance(content, Mapping):
        text = "is empty; write at least data and metrics"
        if content is not None:
            from greval.records.definition_faults import format_value

            text = f"must be a mapping with data and metrics, got {format_value(content)}"
        return None, [*source.faults, MetricFileFault(1, text)]
    model = PublishedConfig if published else RunConfig
    faults = [*source.faults, *_find_empty_keys(source)]
    try:
        config = model.model_validate({} if content is None else content, context={FOLDER: folder})
    except ValidationError as error:
        errors = error.errors(include_url=False)
        return None, [*faults, *_convert_errors(errors, source, list_keys(model))]
    if faults:
        return None, faults
    return config.convert(folder) if isinstance(config, PublishedConfig) else config, faults


def _find_empty_keys(source: YamlSource) -> Iterator[MetricFileFault]:
    """Find keys without a value, such as one whose value was deleted."""
    for key, value in source.data.items() if isinstance(source.data, Mapping) else ():
        if value is None:
            text = "has no value; write its content or leave the key out"
            yield MetricFileFault(find_line((key,), source.lines), text, (key,))


def _build_error(path: Path, faults: Iterable[MetricFileFault]) -> DataError:
    """Build the error for the faults of a file, in the order of their lines."""
    return DataError("\n".join(f"{path}:{fault}" for fault in sorted(faults, key=lambda fault: fault.line)))


def _convert_errors(errors: list[ErrorDetails], source: YamlSource, keys: Collection[str]) -> Iterator[MetricFileFault]:
    """Convert pydantic's errors to faults of the file."""
    for error in errors:
        key_path = error["loc"]
        # The file has the settings of a judge beside its name.
        if key_path[1:2] == (SETTINGS,):
            key_path = key_path[:1] + key_path[2:]
        if error["type"] == "extra_forbidden":
            yield MetricFileFault(
                find_line(key_path, source.lines),
                _explain_unknown_key(str(key_path[-1]), key_path[:-1], keys),
                key_path,
            )
        else:
            yield from convert_errors([{**error, "loc": key_path}], source.data, source.lines)


def _explain_unknown_key(name: str, parent: tuple[str | int, ...], keys: Collection[str]) -> str:
    """Explain what to write instead of an unknown key of a file or of a section."""
    level = SECTIONS[str(parent[0])] if parent else keys
    # A misspelt `max_token` looks like a secret, too.
    if SECRET_NAME.search(name) and not find_typo(name, level):
        return (
            f"a secret must not stand in this file, which is shared and stored; set it in the environment, such as "
            f"{KEY_VARIABLE}, and remove the line"
        )
    if parent and name in keys:
        return f"does not belong under {parent[0]}; move it out"
    if not parent and name in JUDGE_KEYS and JUDGE in keys:
        return f"belongs under {JUDGE}; move it there"
    plain = name.replace("-", "_")
    key = OTHER_NAMES.get(plain, plain if plain in level else "")
    return (
        f"unknown; did you mean {key}?"
        if key and key in {*level, "judge.options"}
        else f"unknown{did_you_mean(name, level)}"
    )
