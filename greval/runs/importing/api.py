"""Import of verdicts that were given elsewhere into a run folder, as results that say that they were imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from pydantic import JsonValue

from greval._util.arguments import check_options
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import MAX_LISTED_ROWS, CaseRecords, dump_case, read_records
from greval.datasets.field_names import format_printable
from greval.datasets.file_identity import UNKNOWN_SOURCE, CaseSource, identify_file
from greval.datasets.row_faults import RowFault, build_unreadable_error
from greval.datasets.row_sources import STDIN
from greval.errors import DefinitionError
from greval.judging.repeats import merge_repeats
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import compute_fingerprint, compute_keys, hash_json, narrow_case
from greval.records.result import IMPORTED, Failure, Judgement, Outcome, Result, Skipped, build_outcome
from greval.records.scale import OffScaleError
from greval.records.scale_values import is_missing_value, parse_on_scale
from greval.runs.evaluation import Run
from greval.runs.importing.verdict_file import ImportedCase, VerdictFile, WrittenVerdict, read_verdict_file
from greval.runs.manifest import refuse_probe, store_metrics, store_origin
from greval.runs.progress import Progress, ProgressCounter
from greval.runs.store.plans import PlannedVersion
from greval.runs.store.writer import StoreWriter

NO_VERDICT = "the file holds no verdict"
MAX_RAW = 1_000
MAX_MESSAGE = 300


class ImportOptions(TypedDict, total=False):
    """The options of `import_verdicts`."""

    judge: str | None
    cases: str | Path | CaseRecords | None
    method: str | None
    columns: Mapping[str, str] | None
    origin: CaseSource
    on_note: Callable[[str], None]
    on_unread: Callable[[str], None]


def import_verdicts(
    source: str | Path | CaseRecords,
    metrics: Sequence[Metric],
    *,
    out: str | Path,
    **options: Unpack[ImportOptions],
) -> Run:
    """Import verdicts of another tool, of people or of a judge that ran elsewhere as results of a run folder.

    Each result is marked as imported: its `tier` is "imported" and its judge begins with "imported:". Importing the
    same file again changes nothing. Another file replaces the verdicts of its metrics and methods, as a further run in
    the folder does.

    Args:
        source: A file of verdicts (CSV, TSV, JSON, JSON lines or Parquet), or rows as mappings or a table.
        metrics: The metrics that the verdicts are of: definitions, or of `build_scale_metric` if only the scale is
            known.
        out: The run folder.
        **options: `judge`: who gave the verdicts, such as "gpt-4" or "ana"; by default the name of the file stands for
            it. `cases`: the cases, joined by id, if the file does not hold them. `method`: the method of rows that do
            not name one. `columns`: the column of each field that is called otherwise, such as
            `{"value": "gpt4_score"}`. `origin`: what identifies the file, if its path does not. `on_note`: called with
            what people should know of how the file was read. `on_unread`: called with each row that was not imported.

    Returns:
        The run: its folder and counts, and its results, summary and table as those of `evaluate`.

    Raises:
        DataError: If the file cannot be read, no column holds verdicts, or no row could be imported.
        DefinitionError: If no metric is given.
        StoreError: If the folder cannot be written or holds a probe.
        TypeError: If an option does not exist.

    Example:
        >>> import tempfile
        >>> from greval.metrics.scale_text import build_scale_metric
        >>> rows = [{"id": "q1", "score": 2, "reason": "Short."}, {"id": "q2", "score": 7}]
        >>> run = import_verdicts(rows, [build_scale_metric("quality", "0..3")], out=tempfile.mkdtemp(), judge="gpt-4")
        >>> [(result.judge, result.outcome.status) for result in run.results()]
        [('imported:gpt-4', 'scored'), ('imported:gpt-4', 'failed')]
    """
    check_options(options, ImportOptions, "import_verdicts")
    if not metrics:
        raise DefinitionError("no metric is given; name one, or give a scale")
    label = _build_label(source, options.get("judge"))
    versions = {
        definition.name: PlannedVersion(compute_fingerprint(definition, {IMPORTED: label}), label)
        for definition in metrics
    }
    with StoreWriter.create(Path(out)) as writer:
        refuse_probe(writer.reader)
        verdict_file = read_verdict_file(
            source,
            metrics,
            columns=options.get("columns"),
            method=options.get("method") or "",
            cases=_open_cases(options.get("cases")),
        )
        report = options.get("on_note") or (lambda _: None)
        report_unread = options.get("on_unread") or (lambda _: None)
        for note in verdict_file.notes:
            report(note)
        for line in verdict_file.unread[:MAX_LISTED_ROWS]:
            report_unread(line)
        if not verdict_file.cases:
            raise build_unreadable_error(verdict_file.unread, len(verdict_file.unread))
        store_metrics(writer, [metric.model_dump(mode="json") for metric in metrics])
        writer.plans.begin(_identify(source, versions, options), "", versions, len(verdict_file.cases))
        progress = _store_verdicts(writer, verdict_file, metrics, versions)
    return Run(Path(out), progress)


def _store_verdicts(
    writer: StoreWriter, verdict_file: VerdictFile, metrics: Sequence[Metric], versions: Mapping[str, PlannedVersion]
) -> Progress:
    """Store the verdicts of all cases under the plan of the import; equal ones stay as they are."""
    store_origin(writer)
    counter = ProgressCounter(total=len(verdict_file.cases) * len(metrics), unread=len(verdict_file.unread))
    planned: Counter[str] = Counter()
    for imported in verdict_file.cases:
        planned[imported.method] += 1
        text = dump_case(imported.case) if imported.case else ""
        for metric in metrics:
            result = _build_result(imported, metric, versions[metric.name])
            counter.add(result, stored=_store_result(writer, imported, metric, result, text))
            # The case is stored once, with its first result.
            text = ""
    writer.plans.end(planned, None, unread=len(verdict_file.unread))
    unread: JsonValue = [*verdict_file.unread[:MAX_LISTED_ROWS]]
    writer.put_fact("unread", unread)
    writer.put_fact("unread_count", len(verdict_file.unread))
    return counter.build_snapshot()


def _build_result(imported: ImportedCase, metric: Metric, version: PlannedVersion) -> Result:
    written = imported.written.get(metric.name, {}).values()
    return Result(
        sample_id=imported.id,
        method=imported.method,
        metric=metric.name,
        fingerprint=version.fingerprint,
        judge=version.judge,
        tier=IMPORTED,
        outcome=build_verdict_outcome(metric, written) if written else Skipped(reason=NO_VERDICT),
        tags={**imported.tags},
    )


def build_verdict_outcome(metric: Metric, written: Iterable[WrittenVerdict]) -> Outcome:
    """Build the outcome of one metric for one case.

    A value that is not on the scale is a failure. An empty one is skipped, or a failure if other items of the case have
    verdicts. Repeats are merged into the majority or the mean, and empty ones have no vote.
    """
    verdicts = [*written]
    filled = [verdict for verdict in verdicts if not is_missing_value(metric.scale, verdict.value)]
    if not filled:
        return Skipped(reason=NO_VERDICT)
    repeats: dict[str, list[Judgement | Failure]] = {}
    for verdict in filled:
        repeats.setdefault(verdict.repeat, []).append(_read_verdict(metric, verdict))
    outcomes = [_build_outcome(parts) for parts in repeats.values()]
    merged = merge_repeats(metric, outcomes) if len(outcomes) > 1 else outcomes[0]
    judged_items = {verdict.item for verdict in filled}
    lost = [
        Failure(kind="missing_item", message=f"{verdict.place}: {NO_VERDICT}", item=verdict.item)
        for verdict in verdicts
        if verdict.item not in judged_items
    ]
    if not lost or merged.status == "skipped":
        return merged
    return _build_outcome([*(merged.judgements if merged.status == "scored" else ()), *merged.failures, *lost])


def _build_outcome(parts: Sequence[Judgement | Failure]) -> Outcome:
    judgements = [part for part in parts if isinstance(part, Judgement)]
    return build_outcome(judgements, [part for part in parts if isinstance(part, Failure)])


def _read_verdict(metric: Metric, verdict: WrittenVerdict) -> Judgement | Failure:
    """Read a verdict that is not empty."""
    try:
        value = parse_on_scale(metric.scale, verdict.value)
    except OffScaleError as error:
        message = f"{verdict.place}: {format_printable(str(error), MAX_MESSAGE)}"
        return Failure(kind="off_scale", message=message, raw=str(verdict.value)[:MAX_RAW], item=verdict.item)
    return Judgement(value=value, number=metric.scale.number(value), reason=verdict.reason, item=verdict.item)


def _store_result(writer: StoreWriter, imported: ImportedCase, metric: Metric, result: Result, text: str) -> bool:
    """Store a result unless the log holds the same one, and return whether it does."""
    result_of = (imported.id, imported.method, metric.name)
    key = _compute_key(imported, metric, result.fingerprint)
    if writer.get(key, result_of) == result:
        writer.keep(result_of, text)
        return True
    writer.append(key, result, case=text)
    return False


def _compute_key(imported: ImportedCase, metric: Metric, fingerprint: str) -> str:
    """Return the key under which the case of a result is found, or one of its names if the case is not known."""
    if imported.case is None:
        return hash_json([imported.id, imported.method, metric.name, fingerprint])
    _, key = compute_keys(narrow_case(metric, imported.case, {}), metric, fingerprint)
    return key


def _build_label(source: object, judge: str | None) -> str:
    """Return the label of the judge: the stated one, else the name of the file, always marked as imported."""
    name = judge or (Path(source).name if isinstance(source, str | Path) else "")
    return f"{IMPORTED}:{name}" if name else IMPORTED


def _open_cases(cases: str | Path | CaseRecords | None) -> Iterable[Case | RowFault] | None:
    if cases is None:
        return None
    return read_cases(cases) if isinstance(cases, str | Path) else read_records(cases)


def _identify(source: object, versions: Mapping[str, PlannedVersion], options: ImportOptions) -> CaseSource:
    """Return what identifies the import: the contents of the files, and how they are read."""
    if origin := options.get("origin"):
        return origin
    cases = options.get("cases")
    # What a program passes or a pipe holds cannot be recognised when it is imported again.
    if not isinstance(source, str | Path) or source == STDIN or not (cases is None or isinstance(cases, str | Path)):
        return UNKNOWN_SOURCE
    case_files = [Path(cases)] if cases is not None else []
    columns = options.get("columns")
    return identify_file(
        Path(source),
        *case_files,
        method=options.get("method"),
        columns=sorted(columns.items()) if columns else None,
        verdicts=sorted(versions.items()),
    )
