"""The plan of a run: what a configuration means, checked before any method or model is called."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel

from greval._util.wording import format_names
from greval.datasets.case_records import get_sample_fields
from greval.datasets.file_identity import CaseSource, identify_file
from greval.datasets.row_faults import RowFault, build_unreadable_error
from greval.errors import DataError, JudgeError
from greval.judging.model.judge import Judge
from greval.metrics.library import load_metric
from greval.metrics.sources import list_replaced_names, load_asked_metrics
from greval.records.case import Case, Sample
from greval.records.metric import Metric, needs_judge
from greval.runs.config.judge_config import JudgeConfig
from greval.runs.config.model import RunConfig
from greval.runs.config.run_input import CaseInput, Rows, fill_sources_by_pattern, open_input
from greval.runs.manifest import RunCommand
from greval.runs.options import EvaluateOptions
from greval.runs.run_folder import choose_folder, find_free_folder

if TYPE_CHECKING:
    from greval.methods.protocol import Method
    from greval.runs.config.group_methods import GroupIndex

RESPONSES_FILE = "responses.jsonl"
"""The file of the responses of methods, in the run folder."""
DETAILED, SUMMARY = "eval_results_detailed.json", "eval_results_summary.json"
"""The result files of a run that asks for them."""
RECORDED_KEYS = ("method", "traversals", "shard")
"""The keys that are for recorded responses."""
ESCALATION_KEYS = ("agree", "labels")
"""The keys that are for a second judge."""
QUESTION_KEYS = ("indexes", "group_by", "answering", "generation", "result_files")
"""The keys that are for methods that are asked."""
JUDGED_METRICS = ("correctness", "faithfulness", "relevance", "completeness")
USAGE_METRICS = ("latency", "llm_calls", "prompt_tokens", "output_tokens")
GOLD_METRICS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "walk": {
        "expected_edges": ("edge_recall-undirected-unlabelled",),
        "expected_nodes": ("node_recall", "node_precision"),
    },
    "retrieval": {"essential": ("recall@5", "ndcg@10")},
}
"""For each section of the result files, the metrics by the part of the gold that they need.

Systems name relations in their own words and directions, so edges are compared without both.
"""
SCORES = "scores"
"""The section of the published scores."""
OWN_SECTION = "metrics"
"""The section of the metrics that the configuration names."""
MetricSections = Mapping[str, Sequence[Metric]]
"""The metrics of the result files by their section; a section without metrics is left out."""
NO_ANSWERING = "no model answers for the searches; add `answering: {model: openai:MODEL}` to the config"
NO_METRIC = "no metric is named; name one with -m METRIC (`greval data {data}` lists those that fit), or under metrics"


@dataclass(frozen=True)
class RunPlan:
    """A run that has been checked and is ready.

    `metrics` are all that are judged, `asked` the names of those that are judged on each case. `judge` is for the
    metrics that name none, and None if no metric asks a model; `judges` are those of single metrics. If methods are
    asked, `rows` are the samples and the rows that are none, and `indexes` has the index of each group. `searched` are
    the indexes that the reference pipeline searches for methods without a spec, and `answering` is the model that
    answers then. `sections` are the metrics of the result files, if these are written.
    """

    config: RunConfig
    folder: Path
    data: CaseInput
    origin: CaseSource
    metrics: tuple[Metric, ...]
    asked: frozenset[str]
    judge: Judge | BaseChatModel | None = None
    judges: Mapping[str, Judge] = field(default_factory=dict)
    rows: Sequence[Case | RowFault] = ()
    indexes: Mapping[str, GroupIndex] = field(default_factory=dict)
    searched: Sequence[tuple[str, GroupIndex]] = ()
    answering: Judge | BaseChatModel | None = None
    sections: MetricSections = field(default_factory=dict)
    command: RunCommand | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods that are asked."""
        return tuple(self.config.methods or ())

    @property
    def group_by(self) -> str:
        """The tag that groups the samples; empty without groups."""
        return self.config.group_by or ""

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The samples that methods are asked; rows of several methods with the same question are one."""
        return list_samples(self.rows)

    @property
    def unread(self) -> tuple[RowFault, ...]:
        """The rows that are no samples."""
        return tuple(row for row in self.rows if isinstance(row, RowFault))

    def group_samples(self) -> dict[str, list[Sample]]:
        """Return the samples of each group, in the order in which the groups first occur; empty without groups."""
        groups: dict[str, list[Sample]] = defaultdict(list)
        for sample in self.samples if self.group_by else ():
            groups[sample.tags[self.group_by]].append(sample)
        return dict(groups)

    def read_responses(self) -> dict[tuple[str, str], Case]:
        """Read the collected responses by sample id and method, in the order of the samples.

        A response to an older version of a sample is left out.
        """
        from greval.methods.collecting.response_file import select_responses

        return select_responses(self.folder / RESPONSES_FILE, self.samples, self.methods)

    def load_methods(self, report: Callable[[str], None] | None = None) -> dict[str, Method]:
        """Load the methods.

        Indexes that have to be made first are made if `report` is given, which is called with a sentence for each.
        """
        from greval.runs.config.group_methods import build_indexes, load_run_methods

        groups = {group: len(samples) for group, samples in self.group_samples().items()}
        if report:
            build_indexes(self.searched, report)
        return load_run_methods(self.config, groups, self.indexes, self.answering)

    def open_cases(self, cases: Sequence[Case] | None = None) -> Rows:
        """Return the rows to judge: the data as they are, or with the responses of methods in place of the samples."""
        if cases is None:
            return self.data.rows
        rows: list[Case | RowFault] = [*self.unread, *cases]
        return fill_sources_by_pattern(iter(rows), self.config.doc_id_pattern)

    def list_options(self, cases: Sequence[Case] | None = None) -> EvaluateOptions:
        """Return the options of `evaluate` for these rows."""
        options: EvaluateOptions = {
            **self.config.list_options(),
            "judges": self.judges,
            "asked": self.asked,
            "origin": self.origin,
            "command": self.command,
        }
        if cases is None:
            return {**options, "total": None if self.config.where else self.data.reading.count(self.config.limit)}
        responses = self.folder / RESPONSES_FILE
        digest = identify_file(responses, data=self.origin.digest, methods=sorted(self.methods)).digest
        # without resuming, the run has a folder of its own, which holds nothing but the responses
        options["resume"] = True
        return {**options, "origin": CaseSource(self.origin.label, digest), "total": len(self.unread) + len(cases)}


def prepare_run(
    config: RunConfig,
    file: Path | None = None,
    judge: Judge | BaseChatModel | None = None,
    report: Callable[[str], None] | None = None,
) -> RunPlan:
    """Read and check everything that a run needs, without calling a method or a model.

    Without `out`, the run folder is beside the file that describes the run. `report` is called with a sentence on what
    the user should know.
    """
    report = report or ignore_note
    _check_keys(config)
    loaded = load_asked_metrics(config.metrics or JUDGED_METRICS, *(config.library or ()))
    if names := list_replaced_names(loaded.metrics):
        report(f"{format_names(names)}: your own definition is used, not the predefined one")
    is_judged = needs_judge(loaded.metrics)
    metric_judge, judges = judge if is_judged else None, dict[str, Judge]()
    if is_judged and judge is None:
        metric_judge, judges = (config.judge or JudgeConfig()).create_judges(loaded.metrics)
    data = open_input(config)
    # Only methods need all rows at once, to ask a question once that is in several. Recorded cases are read lazily.
    rows = [*data.rows] if config.methods else []
    samples = list_samples(rows)
    if config.methods and not samples:
        faults = [str(row) for row in rows if isinstance(row, RowFault)]
        raise build_unreadable_error(faults, len(faults))
    indexes, searched = _find_group_indexes(config, samples) if config.methods else ({}, [])
    answering = choose_answering_model(config, judge) if searched else None
    if line := describe_shared_model(answering, metric_judge):
        report(line)
    sections = select_metrics(loaded.metrics, samples) if config.result_files else {}
    metrics, asked_names = loaded
    if config.result_files:
        metrics = (*chain.from_iterable(sections.values()), *map(load_metric, USAGE_METRICS))
        # What a metric builds on is in the files, too.
        asked_names = frozenset(metric.name for metric in metrics)
    origin = _identify_data(config, data)
    parent = file.parent if file else Path()
    folder = Path(config.out) if config.out else choose_folder(str(config.data), origin, report, parent)
    return RunPlan(
        config=config,
        folder=folder if config.resume or not config.methods else find_free_folder(folder),
        data=data,
        origin=origin,
        metrics=metrics,
        asked=asked_names,
        judge=metric_judge,
        judges=judges,
        rows=rows,
        indexes=indexes,
        searched=searched,
        answering=answering,
        sections=sections,
        command=RunCommand(
            config=None if file is None else str(file),
            options=config.model_dump(mode="json", by_alias=True, exclude_unset=True),
        ),
    )


def select_metrics(metrics: Iterable[Metric], samples: Iterable[Sample]) -> MetricSections:
    """Return metrics by their sections, with those that the gold of samples allows.

    What a metric builds on is judged and written like it. Metrics that have the name of a published one are scores.
    """
    metrics_by_name = {metric.name: metric for metric in metrics}
    gold = [sample.gold for sample in samples if sample.gold]
    against_gold = {
        section: [
            load_metric(name)
            for part, names in parts.items()
            if any(getattr(expected, part) for expected in gold)
            for name in names
        ]
        for section, parts in GOLD_METRICS.items()
    }
    scores = [metrics_by_name[name] for name in JUDGED_METRICS if name in metrics_by_name]
    published_names = {
        *JUDGED_METRICS,
        *USAGE_METRICS,
        *(metric.name for listed in against_gold.values() for metric in listed),
    }
    own_metrics = [metric for name, metric in metrics_by_name.items() if name not in published_names]
    sections = {SCORES: scores, **against_gold, OWN_SECTION: own_metrics}
    return {section: listed for section, listed in sections.items() if listed}


def list_samples(rows: Sequence[Case | RowFault]) -> tuple[Sample, ...]:
    """List the samples among rows; the rows of several methods with the same question are one sample."""
    cases: dict[str, Case] = {}
    for row in rows:
        if isinstance(row, Case):
            cases.setdefault(row.id, row)
    return tuple(Sample(**get_sample_fields(case)) for case in cases.values())


def choose_answering_model(config: RunConfig, judge: Judge | BaseChatModel | None) -> Judge | BaseChatModel:
    """Return the model that answers for searches without a spec: of `answering`, of `generation`, or the judge."""
    if config.answering:
        return config.answering.create_judge()
    if config.generation:
        return config.generation.judge
    if judge is None and not config.judge:
        raise JudgeError(NO_ANSWERING)
    return judge or (config.judge or JudgeConfig()).create_judge()


def describe_shared_model(answering: Judge | BaseChatModel | None, judge: Judge | BaseChatModel | None) -> str:
    """Return a warning if the answering model is also the judge; else an empty text."""
    if isinstance(answering, Judge) and isinstance(judge, Judge):
        same, name = answering.model == judge.model, judge.model
    else:
        # Two models that are not named are not the same one.
        same, name = answering is judge is not None, type(judge).__name__
    if not same:
        return ""
    return (
        f"the answering model and the judge are the same ({name}), and a judge may favour its own answers; "
        "name another with `answering: {model: MODEL}`"
    )


def _find_group_indexes(
    config: RunConfig, samples: Sequence[Sample]
) -> tuple[dict[str, GroupIndex], list[tuple[str, GroupIndex]]]:
    """Find the index of each group, and those that the reference pipeline searches for methods without a spec."""
    # Runs of recorded responses need none of what methods are loaded with.
    from greval.runs.config.group_methods import check_searches, find_indexes, list_searched

    groups = Counter(sample.tags[config.group_by] for sample in samples) if config.group_by else {}
    indexes = find_indexes(config)
    check_searches(config, groups, indexes)
    of_groups = {group: indexes[group] for group in groups if group in indexes}
    return indexes, list_searched(config.methods or {}, of_groups)


def _check_keys(config: RunConfig) -> None:
    """Check that keys of a configuration fit each other."""
    if config.metrics is None and not config.result_files:
        raise DataError(NO_METRIC.format(data=quote(config.data or "FILE")))
    if not config.escalate and (unused := [key for key in ESCALATION_KEYS if key in config.model_fields_set]):
        raise DataError(f"{unused[0]} is for a second judge; name one under escalate (--escalate), or leave it out")
    if config.doc_id_pattern is not None:
        from greval.datasets.chunk_sources import read_pattern

        read_pattern(config.doc_id_pattern)
    if config.methods is None:
        if needy := [key for key in QUESTION_KEYS if getattr(config, key)]:
            raise DataError(f"{needy[0]} is for methods that are asked; name them under methods, or leave it out")
        return
    if recorded := [key for key in RECORDED_KEYS if getattr(config, key)]:
        raise DataError(
            f"{recorded[0]} is for recorded responses, but methods are asked (--ask); leave one of them out"
        )
    if config.out is None:
        raise DataError("methods (--ask) need out (-o RUN), because the responses are stored in the run folder")
    if config.result_files and not config.group_by:
        raise DataError("result_files needs group_by, the tag by which they group the questions")


def _identify_data(config: RunConfig, data: CaseInput) -> CaseSource:
    """Return what identifies the cases: their file, the joined files, and how they are read."""
    joined = [*map(Path, (*(config.gold or ()), *(config.traversals or ())))]
    # the reader knows only the columns of the cases
    columns = " ".join(f"{name}={column}" for name, column in (config.columns or {}).items()) if joined else ""
    return data.reading.identify_source(
        *joined,
        limit=config.limit,
        pattern=config.doc_id_pattern,
        joined_columns=columns or None,
        where=config.where or None,
        group_by=config.group_by,
    )


def ignore_note(_: str) -> None:
    """Ignore what the user should know."""
