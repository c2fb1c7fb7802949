"""The published `eval_config.yaml`: a section for each part of an evaluation, read into the configuration of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from greval.records.record import Record, Text
from greval.runs.config.model import FOLDER, GenerationConfig, MethodSpecs, NamedJudge, RunConfig

PUBLISHED_FILE = "eval_config.yaml"
"""The name of a file of the published form."""
DEFAULT_GROUP_BY = "imdb_key"
"""The column that groups the dataset of the published design."""
KEY_PLACES: Mapping[str, tuple[str, ...]] = {
    "data": ("dataset", "path"),
    "group_by": ("dataset", "group_by"),
    "out": ("output", "dir"),
    "result_files": ("output", "save_intermediate"),
}
"""The places of keys of a run that the published form has in a section."""


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
        """Convert to the configuration of a run, whose paths start from a folder.

        Example:
            >>> content = {"dataset": {"path": "qa.json"}, "methods": {"mine": "my_rag:ask"}}
            >>> PublishedConfig.model_validate(content).convert(Path("gtog")).out
            'gtog/eval/results'
        """
        keys = self.model_fields_set - {"dataset", "output"}
        run = {key: value for key in keys if (value := getattr(self, key))}
        run |= {"data": self.dataset.path, "group_by": self.dataset.group_by, "out": self.output.dir}
        run["result_files"] = "during" if self.output.save_intermediate else "end"
        return RunConfig.model_validate(run, context={FOLDER: folder})
