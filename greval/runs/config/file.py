"""Files that describe a run: `greval.yaml`, and the published `eval_config.yaml`, both read into one configuration."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from greval._util.wording import did_you_mean, find_typo
from greval.errors import DataError
from greval.judging.model.judge import KEY_VARIABLE
from greval.metrics.files.validation import convert_errors, format_value
from greval.metrics.files.yaml_text import MetricFileFault, YamlSource, find_line, read_source_file
from greval.records.judge_choice import SECRET_NAME
from greval.records.record import Record
from greval.runs.config.judge_config import JUDGE_KEYS
from greval.runs.config.model import FOLDER, GenerationConfig, RunConfig
from greval.runs.config.published import KEYS, PUBLISHED_FILE, PublishedConfig
from greval.runs.config.references import FileCheck, KeyFault, Place, find_reference_faults

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

JUDGE = "judge"
SECTIONS: Mapping[str, Collection[str]] = {
    **dict.fromkeys((JUDGE, "answering"), JUDGE_KEYS),
    "generation": GenerationConfig.model_fields,
}
"""The keys of the sections that both files have."""
OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("cases", "dataset"), "data"),
    **{"column": "columns", "metric": "metrics", "ask": "methods", "traversal": "traversals", "output": "out"},
    **dict.fromkeys(("gates", "gate"), "fail_if"),
    **dict.fromkeys(("judge_option", "judge_options"), "judge.options"),
}
"""Words that people write for keys, such as the names of options, with the keys that they mean."""
ConfigModel = TypeVar("ConfigModel", bound=Record)


@dataclass(frozen=True)
class ConfigFile:
    """A file that describes a run: its path, the folder that its paths start from, and the configuration that it has.

    `source` has its content with the lines of its keys.
    """

    path: Path
    root: Path
    config: RunConfig
    source: YamlSource

    def check(
        self, config: RunConfig | None = None, other: RunConfig | None = None, checks: Mapping[str, FileCheck] | None = None
    ) -> None:
        """Check what the file refers to.

        Args:
            config: The configuration that is used, by default that of the file.
            other: What replaces keys of the file, and is not checked.
            checks: Further checks of keys.

        Raises:
            DataError: If something cannot be used. All faults are reported at once, each with its line.
        """
        replaced = other.model_fields_set if other else set()
        if other and other.judge and not other.judge.model:
            replaced = replaced - {JUDGE}
        keys = self.config.model_fields_set - replaced
        faults = [self._locate(fault) for fault in find_reference_faults(config or self.config, keys, checks)]
        if faults:
            raise _build_error(self.path, faults)

    def _locate(self, fault: KeyFault) -> MetricFileFault:
        """Return a fault with the line and the name of its key in the file."""
        place, text = fault
        methods = self.source.data.get("methods") if isinstance(self.source.data, Mapping) else None
        if place[0] == "methods" and isinstance(methods, list):
            place = ("methods", methods.index(place[1]))
        if place[0] not in {path[0] for path in self.source.lines if path}:
            place = KEYS[str(place[0])]
        while place not in self.source.lines:
            place = place[:-1]
        return MetricFileFault(find_line(place, self.source.lines), text, place)


def read_config_file(path: Path, root: Path | None = None) -> ConfigFile:
    """Read a file that describes a run, YAML or JSON. The folder of its paths can be imported from afterwards.

    Args:
        path: The file. It is of the published form if it is called `eval_config.yaml` or has a section `dataset`.
        root: The folder that relative paths start from, by default that of the file.

    Raises:
        DataError: If the file has faults. All are reported at once, each with its line.
    """
    source = read_source_file(path, "name a file with -c, or write one with `greval init`")
    folder = path.parent if root is None else root
    faults = [*source.faults]
    if source.data is None and faults:
        raise _build_error(path, faults)
    if is_published(path, source.data):
        published, more = _validate(PublishedConfig, source.data or {}, source, folder)
        config = None if faults or published is None else published.convert(folder)
    else:
        faults += _find_form_faults(source)
        config, more = _validate(RunConfig, source.data, source, folder) if isinstance(source.data, Mapping) else (None, [])
    if config is None or (faults := [*faults, *more]):
        raise _build_error(path, [*faults, *more])
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))  # for methods such as my_rag:ask
    return ConfigFile(path, folder, config, source)
