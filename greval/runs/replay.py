"""Replay of a run: read its verdicts again from the stored replies of the judge, without a call of any model.

A change of numbers, of reading rules, of shares or of `pass` leaves the prompt as it was. Then the stored replies say
what the judge would say again. Replies are looked up by the request that greval would send, so that a reply is never
read for another prompt. The judging loop, the reader of answers and the writer of results are those of any run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import BaseMessage
from pydantic import JsonValue, ValidationError

from greval._util.concurrency import reduce_collections, run_sync
from greval._util.row_index import RowIndex
from greval._util.wording import format_count, format_names
from greval.errors import StoppedError
from greval.judging.metric_judge import MetricJudge
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.budget import RunGuard
from greval.judging.model.call_context import NO_RUN, CallContext, CallForm
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.reply_cache import Reply
from greval.metrics.computed import find_computed_metric
from greval.metrics.dependencies import list_dependency_names, order_metrics
from greval.metrics.library import require_metric
from greval.records.case import Case
from greval.records.metric import (
    ComputedMetric,
    FunctionMetric,
    JudgedMetric,
    Metric,
    ReasonDepth,
    build_metric,
    set_reason_depth,
)
from greval.records.note import ShareNote
from greval.records.record import Record
from greval.records.result import Tier, Usage
from greval.runs.evaluation import Run
from greval.runs.manifest import read_asked_names, read_replayed, store_metrics, store_replayed
from greval.runs.options import OnProgress
from greval.runs.progress import Progress
from greval.runs.run_reader import read_case, read_case_places, read_metrics
from greval.runs.runnable import compile_metrics
from greval.runs.store import Store
from greval.runs.store.calls import CallReader
from greval.runs.store.disk import ResultFilter
from greval.runs.store.plans import PlannedVersion
from greval.runs.store.reader import ASKED_CONTENT
from greval.runs.store.writer import StoreWriter
from greval.runs.worker import JudgingLoop

JUDGE_AGAIN = "judge it with greval evaluate"
NOT_STORED = "no stored reply answers this prompt"
MAX_LISTED_CHANGES = 4


class ReplayedMetric(Record):
    """A metric whose results were read again.

    `changed` are new rows, of another definition or with another outcome. `unchanged` were read with the same outcome
    by the same definition. `missing` have no stored reply to what would be asked; they are not judged yet. `source` is
    the fingerprint by which the judge was asked.
    """

    metric: str
    source: str
    fingerprint: str
    changed: int
    unchanged: int
    missing: int


class RefusedMetric(Record):
    """A metric that cannot be replayed, and why, with what to do. `named` is true if it was asked for by name."""

    metric: str
    reason: str
    named: bool


class ReplayableMetric(Record):
    """A metric that can be replayed, and what would be read again.

    `changes` are the places at which its definition differs from that of the run's results, such as
    `scale.categories.Rude.score`. `results` is the number of its results in the run.
    """

    metric: str
    changes: tuple[str, ...]
    results: int


@dataclass(frozen=True)
class Replay:
    """A replayed run: the run, and what was replayed and what was refused."""

    run: Run
    replayed: tuple[ReplayedMetric, ...]
    refused: tuple[RefusedMetric, ...]


class ReplayClient(JudgeClient):
    """A client that answers with the stored replies of a run's calls, as the judge that gave them.

    `form` has the settings of the judge, and `requests` the row numbers of the calls by their requests.
    """

    def __init__(self, form: CallForm, reader: CallReader, requests: RowIndex) -> None:
        super().__init__(Judge.model_validate(form.judge))
        self._form = form
        self._reader = reader
        self._requests = requests

    @property
    def label(self) -> str:
        """The name of the judge in results."""
        return self._form.label

    def describe_judge(self) -> dict[str, JsonValue]:
        """Return the settings that affected the judge's verdicts."""
        return dict(self._form.identity)

    @property
    def tier(self) -> Tier:
        """The way in which structured answers were requested."""
        return self._form.tier

    async def prepare(self) -> None:
        """Do nothing: no model is called, so that none is created."""

    async def ask(
        self,
        question: AnswerFormat,
        messages: list[BaseMessage],
        context: CallContext = NO_RUN,
        *,
        patient: bool = True,  # noqa: ARG002 - no model is called
    ) -> Reply:
        """Return the last stored reply to this request, which was paid for before."""
        key = self._compute_key(question, messages, context.repeat)
        number = self._requests.get(key)
        if number is None:
            raise StoppedError(NOT_STORED)
        stored = self._reader.read_call(number)
        return stored.reply._replace(usage=Usage(hits=1), key=key, known=True)


def replay(
    run: str | Path | Run,
    metrics: Iterable[Metric] = (),
    *,
    reason_depth: ReasonDepth | None = None,
    on_progress: OnProgress | None = None,
) -> Replay:
    """Read the verdicts of a run again from the stored replies of its judge, without a call of any model.

    Use it after a change of scores of categories, of shares computed from notes, of `pass`, or of greval's own rules.
    The results are stored under the new fingerprint of each metric, and the run counts them instead of the old ones.
    Their `replayed_from` is the fingerprint by which the judge was asked, and their usage only has `hits`. A metric
    whose prompt changed, or whose replies are not stored, is refused; the others are replayed. Metrics of the run that
    build on a replayed one are replayed too, and those that are computed from its verdicts are computed again. All of
    it is written in one transaction: a run whose replay is stopped or killed is as it was before.

    Args:
        run: The run, or its folder.
        metrics: The edited definitions, which replace those of the run with the same names. If empty, all judged
            metrics of the run are read again by their stored definitions.
        reason_depth: How much the judge wrote for each verdict, if the run set it for its metrics.
        on_progress: Called after each result.

    Returns:
        The run, with what was replayed and what was refused and why.

    Raises:
        DefinitionError: If something else than a metric is given, or metrics do not fit together.
        StoreError: If the folder is not a run, or another run writes to it.

    Example:
        >>> import tempfile
        >>> from greval import CategoricalMetric, evaluate
        >>> from greval.testing import ScriptedJudge
        >>> def tone(score):
        ...     categories = {"Polite": {"score": 1}, "Curt": {"score": score}}
        ...     return CategoricalMetric(name="tone", description="The tone.", needs=["answer"], steps=["Read."],
        ...                              categories=categories)
        >>> judge = ScriptedJudge([{"reason": "One word.", "value": "Curt"}])
        >>> case = {"id": "q1", "question": "Hi?", "answer": "Yes."}
        >>> run = evaluate([case], [tone(0)], judge, out=tempfile.mkdtemp())
        >>> done = replay(run, [tone(0.5)])
        >>> [result.judgements[0].number for result in done.run.results()], len(judge.calls)
        ([0.5], 1)
    """
    return run_sync(replay_async(run, metrics, reason_depth=reason_depth, on_progress=on_progress))


async def replay_async(
    run: str | Path | Run,
    metrics: Iterable[Metric] = (),
    *,
    reason_depth: ReasonDepth | None = None,
    on_progress: OnProgress | None = None,
) -> Replay:
    """Read the verdicts of a run again from the stored replies of its judge; see `replay` for the arguments."""
    folder, edited = _find_folder(run), _name_edited(metrics, reason_depth)
    with ExitStack() as opened:
        # No folder is created if there is no run.
        source = opened.enter_context(Store.open(folder))
        writer = opened.enter_context(StoreWriter.create(folder))
        plan = _ReplayPlan(source, edited)
        compiled = plan.compile()
        if not compiled:
            return Replay(Run(folder, Progress()), (), tuple(plan.refused))
        changed: Counter[str] = Counter()
        work = JudgingLoop(
            writer,
            compiled,
            RunGuard(),
            retries_at_end=False,
            replays=True,
            asked=read_asked_names(source),
            stores_calls=True,
            on_progress=on_progress,
            on_result=lambda result: changed.update([result.metric]),
        )
        with reduce_collections(), writer.write_together():
            store_replayed(
                writer, {compiled[name].fingerprint: plan.sources[name] for name in plan.forms.keys() & compiled}
            )
            store_metrics(writer, [runnable.metric.model_dump(mode="json") for runnable in compiled.values()])
            writer.plans.replace_versions(
                {name: PlannedVersion(runnable.fingerprint, runnable.judge) for name, runnable in compiled.items()}
            )
            # One worker is enough, because no reply is waited for.
            await work.run(_read_newest_cases(source), 1)
        replayed = tuple(
            ReplayedMetric(
                metric=name,
                source=plan.sources.get(name, ""),
                fingerprint=runnable.fingerprint,
                changed=changed[name],
                unchanged=work.kept[name],
                missing=work.unanswered[name],
            )
            for name, runnable in compiled.items()
        )
        return Replay(Run(folder, work.progress), replayed, tuple(plan.refused))


def preview_replay(
    run: str | Path | Run, metrics: Iterable[Metric] = (), *, reason_depth: ReasonDepth | None = None
) -> tuple[tuple[ReplayableMetric, ...], tuple[RefusedMetric, ...]]:
    """Find what a replay with the arguments of `replay` would read again and what it would refuse; write nothing."""
    with Store.open(_find_folder(run)) as store:
        plan = _ReplayPlan(store, _name_edited(metrics, reason_depth))
        compiled = plan.compile()
        counts = Counter(metric for (metric,) in store.select(("metric",)))
        replayable = tuple(
            ReplayableMetric(metric=name, changes=plan.list_changes(runnable.metric), results=counts.get(name, 0))
            for name, runnable in compiled.items()
        )
    return replayable, tuple(plan.refused)


def _find_folder(run: str | Path | Run) -> Path:
    return run.folder if isinstance(run, Run) else Path(run)


def _name_edited(metrics: Iterable[Metric], reason_depth: ReasonDepth | None) -> dict[str, Metric]:
    return {metric.name: metric for metric in set_reason_depth(map(require_metric, metrics), reason_depth)}


class _ReplayPlan:
    """What of a run is replayed, by which definitions, and what is refused."""

    def __init__(self, store: Store, edited: Mapping[str, Metric]) -> None:
        """Read the definitions of the run, and how each was judged."""
        self._reader = store.call_reader
        self._requests = RowIndex()
        self._requests.load(self._reader.requests())
        self._store = store
        self._edited = edited
        self._definitions = read_metrics(store)
        self._stored = {name: definition.judged for name, definition in self._definitions.items() if definition.judged}
        self._computed = {name: metric for name in self._definitions if (metric := self._restore_computed(name))}
        replayed, forms = read_replayed(store), self._reader.forms()
        # The fingerprints by which the judge was asked, or by which a computed metric was computed before.
        self.sources: dict[str, str] = {}
        self.forms: dict[str, CallForm] = {}
        for plan in store.plans():
            source = replayed.get(plan.fingerprint, plan.fingerprint)
            if plan.method is not None and (source in forms or plan.metric not in self.forms):
                self.sources[plan.metric] = source
                if source in forms:
                    self.forms[plan.metric] = forms[source]
        self.refused: list[RefusedMetric] = []

    def compile(self) -> dict[str, MetricRunnable]:
        """Compile the metrics that can be replayed, dependencies first."""
        accepted: dict[str, Metric] = {}
        for name, metric in (self._edited or self._stored).items():
            if reason := self._explain_refusal(name, metric):
                self.refused.append(RefusedMetric(metric=name, reason=reason, named=name in self._edited))
            else:
                accepted[name] = metric
        selected = self._add_related(accepted)
        if not selected:
            return {}
        metrics = order_metrics(selected.values())
        clients = {name: self._create_client(name) for name, metric in selected.items() if metric.kind == "judged"}
        repeats = {name: self._reader.count_repeats(self.sources[name]) for name in clients}
        return compile_metrics(metrics, clients, repeats=repeats)

    def list_changes(self, metric: Metric) -> tuple[str, ...]:
        """List the places at which a definition differs from that of the run's results."""
        stored = self._stored.get(metric.name)
        stored_definition = stored.model_dump(mode="json") if stored else self._definitions[metric.name].definition
        return tuple(_list_changed_paths(stored_definition, metric.model_dump(mode="json")))

    def _restore_computed(self, name: str) -> FunctionMetric | None:
        """Return a computed metric of the run if greval has its function, or if it has a formula."""
        stored = self._definitions[name]
        metric = self._edited.get(name) or stored.file_metric or find_computed_metric(name)
        if not isinstance(metric, FunctionMetric):
            return None
        same = metric.model_dump(mode="json") == stored.definition
        return metric if same or name in self._edited else None

    def _add_related(self, accepted: Mapping[str, Metric]) -> dict[str, Metric]:
        """Add the metrics of the run that the accepted ones build on, and those that build on them."""
        available: dict[str, Metric] = {**self._computed, **self._stored, **accepted}
        selected = dict.fromkeys(accepted)
        # A metric that is added may build on further ones.
        while more := [
            name for name in available if name not in selected and self._is_related(available, name, selected)
        ]:
            for name in more:
                if reason := self._explain_refusal(name, available[name]):
                    self.refused.append(RefusedMetric(metric=name, reason=reason, named=False))
                    del available[name]
                else:
                    selected[name] = None
        self._refuse_lost_functions(selected)
        while lacking := [name for name in selected if not self._has_dependencies(available, name, selected)]:
            for name in lacking:
                del selected[name]
        return {name: available[name] for name in selected}

    def _refuse_lost_functions(self, selected: Iterable[str]) -> None:
        """Refuse the metrics that are derived from wanted ones by a function that is not stored."""
        for name, definition in self._definitions.items():
            is_computable = definition.is_judged or name in self._computed
            if not is_computable and not set(selected).isdisjoint(definition.built_on):
                reason = "the function that computes it is not stored; greval evaluate computes it again"
                self.refused.append(RefusedMetric(metric=name, reason=reason, named=False))

    def _is_related(self, available: Mapping[str, Metric], name: str, selected: Iterable[str]) -> bool:
        below = {
            dependency for selected_name in selected for dependency in list_dependency_names(available[selected_name])
        }
        return name in below or not set(selected).isdisjoint(list_dependency_names(available[name]))

    def _has_dependencies(self, available: Mapping[str, Metric], name: str, selected: Iterable[str]) -> bool:
        """Return whether all metrics that a metric builds on can be replayed; refuse it if not."""
        if lacking := [
            dependency for dependency in list_dependency_names(available[name]) if dependency not in selected
        ]:
            reason = f"it builds on {format_names(lacking)}, which cannot be replayed; {JUDGE_AGAIN}"
            self.refused.append(RefusedMetric(metric=name, reason=reason, named=name in self._edited))
        return not lacking

    def _create_client(self, name: str) -> ReplayClient:
        return ReplayClient(self.forms[name], self._reader, self._requests)

    def _explain_refusal(self, name: str, metric: Metric) -> str | None:
        """Return why a metric cannot be replayed, with what to do, or None if it can."""
        if not isinstance(metric, JudgedMetric):
            return self._explain_not_computed(name, metric)
        if name not in self._stored:
            return f"the run was not judged by it; {JUDGE_AGAIN}"
        if name not in self.forms:
            return (
                "no reply of its judge is stored: no case reached the judge, or the run was made with "
                f"--no-store-calls, or imported; {JUDGE_AGAIN}"
            )
        if reason := self._explain_prompt_change(self.forms[name], metric):
            return reason
        if missing := self._count_unasked(name):
            return f"the replies of {format_count(missing, 'result')} are not stored; {JUDGE_AGAIN}"
        return None

    def _count_unasked(self, name: str) -> int:
        scored = ResultFilter(metrics=(name,), status="scored")
        contents = self._store.select((ASKED_CONTENT,), scored)
        return sum(content is None or not self._reader.find(content) for (content,) in contents)

    def _explain_not_computed(self, name: str, metric: Metric) -> str | None:
        """Return why a computed metric is not computed again; None for one that is computed from verdicts."""
        if isinstance(metric, ComputedMetric) and name in self._edited:
            return "it is computed, not judged, so there is no reply to read; greval evaluate computes it again"
        return None if name in self._definitions else "the run does not hold it; compute it with greval evaluate"

    def _explain_prompt_change(self, stored: CallForm, metric: JudgedMetric) -> str | None:
        """Return what of a definition changed that the judge would have to be asked about again, or None."""
        old_definition, new_definition = stored.metric, metric.model_dump(mode="json")
        if old_definition.get("judge") != new_definition.get("judge"):
            return f"its judge changed; {JUDGE_AGAIN}"
        try:
            old_metric: JudgedMetric = build_metric(stored.metric)
        except ValidationError:
            return f"this version of greval does not read the definition it was judged by; {JUDGE_AGAIN}"
        client = self._create_client(metric.name)
        old, new = MetricJudge(old_metric, client), MetricJudge(metric, client)
        if (old.form.messages, old.form.answer_schema) != (stored.messages, stored.answer_schema):
            return f"this version of greval asks in another way than the run was asked; {JUDGE_AGAIN}"
        if _list_request_parts(old) == _list_request_parts(new):
            return None
        changes = [
            path
            for path in _list_changed_paths(old_definition, new_definition)
            if not _is_only_read(path, old_metric, metric)
        ]
        paths = ", ".join(changes[:MAX_LISTED_CHANGES]) or "the order of its parts"
        more = f" and {len(changes) - MAX_LISTED_CHANGES} more" if len(changes) > MAX_LISTED_CHANGES else ""
        return f"the judge would be asked something else: {paths}{more} changed; {JUDGE_AGAIN}"


def _list_request_parts(judge: MetricJudge) -> tuple[object, ...]:
    """List what decides which requests a metric makes, beside the case and the settings of its judge."""
    metric = judge.metric
    uses = {field: use.model_dump_json() for field, use in metric.dependencies.items()}
    return judge.form.messages, judge.question.form, metric.over, metric.needs, uses


def _list_changed_paths(old: object, new: object, path: str = "") -> Iterator[str]:
    """List the places at which two definitions differ, such as `scale.categories.Polite.means`."""
    if isinstance(old, Mapping) or isinstance(new, Mapping):
        parts = [side if isinstance(side, Mapping) else {} for side in (old, new)]
        for name in dict.fromkeys((*parts[0], *parts[1])):
            yield from _list_changed_paths(parts[0].get(name), parts[1].get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(old, Sequence) and isinstance(new, Sequence) and not isinstance(old, str):
        if len(old) != len(new) or isinstance(new, str):
            yield path
            return
        for number, (old_part, new_part) in enumerate(zip(old, new, strict=True)):
            yield from _list_changed_paths(old_part, new_part, f"{path}.{number}")
    elif old != new:
        yield path


def _is_only_read(path: str, old: JudgedMetric, new: JudgedMetric) -> bool:
    """Return whether a part of a definition affects only how replies are read: scores, `pass`, and shares."""
    first, *keys = path.split(".")
    if first == "notes":
        notes = old.notes.get(keys[0]), new.notes.get(keys[0])
        return all(note is None or isinstance(note, ShareNote) for note in notes)
    return first == "pass" or (path.startswith("scale.categories.") and path.endswith(".score"))


def _read_newest_cases(store: Store) -> Iterator[Case]:
    """Yield the newest version of each case of a run, without an open query."""
    # The rows are listed first, because an open query would hold up the writer.
    newest = RowIndex()
    for number, sample_id, method in read_case_places(store):
        newest[f"{sample_id}\0{method}"] = number
    for number in newest.list_rows():
        yield read_case(store, number)
