"""The plan of an evaluation: the selected questions, the loaded methods, the judge and the folder of the results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval._util.wording import did_you_mean
from greval.datasets.case_records import filter_by_tags
from greval.errors import JudgeError, MethodError
from greval.judging.model.judge import Judge
from greval.methods import Method
from greval.methods.collecting.response_file import select_responses
from greval.records.case import Case, Sample
from greval.records.metric import needs_judge
from greval.runs.from_config.config import EvaluationConfig, locate_config, read_config
from greval.runs.from_config.further_metrics import EvaluationMetrics, select_metrics
from greval.runs.from_config.indexes import GroupIndex, build_indexes, find_indexes, list_searched
from greval.runs.from_config.methods import check_searches, load_group_methods
from greval.runs.from_config.questions import count_groups, read_questions

RESPONSES_FILE = "responses.jsonl"
RUN_FOLDER = "run"
NO_ANSWERING = "no model answers for the searches; add `answering: {model: openai:MODEL}` to the config"
NO_JUDGE = "no judge is named; add `judge: {model: openai:MODEL}` (or `local`) to the config, or give --judge MODEL"


@dataclass(frozen=True)
class ConfigSelection:
    """A part of an evaluation: names of methods, values of tags, and the maximum number of questions."""

    methods: str | Sequence[str] | None = None
    where: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    limit: int | None = None


@dataclass(frozen=True)
class EvaluationPlan:
    """An evaluation that has been checked and is ready to run.

    `unread` describes the rows that are not questions. `ignored` lists the columns that are neither a field nor a tag.
    `indexes` has the index of each group of the config. `answering` is the model that answers for searches of the
    reference pipeline without a spec, None without such searches. `judge` is None if no metric asks one.
    """

    config: EvaluationConfig
    samples: Sequence[Sample]
    methods: Mapping[str, Method]
    judge: Judge | BaseChatModel | None
    out: Path
    unread: Sequence[str] = ()
    ignored: Sequence[str] = ()
    indexes: Mapping[str, GroupIndex] = field(default_factory=dict)
    answering: Judge | BaseChatModel | None = None
    metrics: EvaluationMetrics = field(default_factory=EvaluationMetrics.load_published)

    @property
    def group_by(self) -> str:
        """The tag that groups the samples."""
        return self.config.dataset.group_by

    def group_samples(self) -> dict[str, list[Sample]]:
        """Return the samples of each group, in the order in which the groups first occur."""
        groups: dict[str, list[Sample]] = defaultdict(list)
        for sample in self.samples:
            groups[sample.tags[self.group_by]].append(sample)
        return dict(groups)

    def read_responses(self) -> dict[tuple[str, str], Case]:
        """Read the collected responses by sample id and method, in the order of the samples.

        A response to an older version of a sample is left out.
        """
        return select_responses(self.out / RESPONSES_FILE, self.samples, self.methods)


def prepare_evaluation(
    root: Path,
    file: Path,
    selection: ConfigSelection,
    judge: Judge | BaseChatModel | None = None,
    report: Callable[[str], None] | None = None,
) -> EvaluationPlan:
    """Read and check everything that an evaluation needs, without calling a method or the judge.

    Indexes that have to be made first are made if `report` is given, which is called with a sentence for each and with
    what else the user should know.

    Raises:
        DataError: If the config or the dataset is wrong, or the selection holds no question.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named.
    """
    config = read_config(locate_config(root, file), root)
    questions = read_questions(root / config.dataset.path, config.dataset.group_by)
    wanted = {tag: (values,) if isinstance(values, str) else values for tag, values in selection.where.items()}
    samples = tuple(islice(filter_by_tags(questions.samples, wanted), selection.limit))
    metrics = select_metrics(config, samples, root)
    judge = judge or config.judge
    if judge is None and needs_judge(metrics.list_all()):
        raise JudgeError(NO_JUDGE)
    names = select_methods(config, selection.methods)
    groups = count_groups(samples, config.dataset.group_by)
    indexes = find_indexes(config, root)
    check_searches(config, names, groups, indexes)
    searched = [*list_searched(config, names, {group: indexes[group] for group in groups if group in indexes})]
    answering = choose_answering_model(config, judge) if searched else None
    if report:
        build_indexes(searched, report)
        if answering and (line := describe_shared_model(answering, judge)):
            report(line)
    methods = load_group_methods(config, names, groups, root, answering)
    return EvaluationPlan(
        config=config,
        samples=samples,
        methods=methods,
        judge=judge,
        out=root / config.output.dir,
        unread=questions.faults,
        ignored=questions.ignored,
        indexes=indexes,
        answering=answering,
        metrics=metrics,
    )


def choose_answering_model(config: EvaluationConfig, judge: Judge | BaseChatModel | None) -> Judge | BaseChatModel:
    """Return the model that answers for searches without a spec: that of `answering`, of `generation`, or the judge.

    Raises:
        JudgeError: If none is named.
    """
    model = config.answering or (config.generation.judge if config.generation else judge)
    if model is None:
        raise JudgeError(NO_ANSWERING)
    return model


def describe_shared_model(answering: Judge | BaseChatModel, judge: Judge | BaseChatModel | None) -> str:
    """Return a warning if the answering model is also the judge; else an empty text.

    Example:
        >>> describe_shared_model(Judge("local"), Judge("openai:gpt-5.1"))
        ''
    """
    if isinstance(answering, Judge) and isinstance(judge, Judge):
        same, name = answering.model == judge.model, judge.model
    else:
        same, name = answering is judge, type(judge).__name__
    if not same:
        return ""
    return (
        f"the answering model and the judge are the same ({name}), and a judge may favour its own answers; "
        "name another with `answering: {model: MODEL}`"
    )


def select_methods(config: EvaluationConfig, wanted: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of the wanted methods, given as an iterable or separated by commas; all by default.

    Raises:
        MethodError: If the config has no such method, or no name is given.
    """
    if wanted is None:
        return tuple(config.methods)
    listed = wanted.split(",") if isinstance(wanted, str) else wanted
    names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
    for name in names:
        if name not in config.methods:
            raise MethodError(f"the config has no method {name!r}{did_you_mean(name, config.methods)}")
    if not names:
        raise MethodError(f"no method is named; the config has {', '.join(config.methods)}")
    return names
