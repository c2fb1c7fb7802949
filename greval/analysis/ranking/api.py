"""Measures of ranked runs, from files to figures, and their comparison with a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from greval._util.arguments import check_options, require_iterable
from greval._util.wording import did_you_mean
from greval.analysis.comparison.api import build_comparison
from greval.analysis.comparison.plan import ComparisonPlan, ComparisonRequest
from greval.analysis.ranking.figures import (
    NOT_COMPARED,
    Columns,
    MeasureSettings,
    choose_measures,
    find_measure_direction,
    measure_run,
)
from greval.analysis.ranking.files import read_qrels, read_rankings
from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.records import Conventions, MeasuredRun, RankingReport, UnreadRun
from greval.analysis.ranking.warnings import find_warnings
from greval.datasets.ranked_rows import RankOrder, TieOrder
from greval.errors import DataError
from greval.runs.score_columns import ComparisonSide, ScoreColumn, ScoreColumns
from greval.stats.correction import Correction
from greval.stats.interval import LEVEL, check_level

PACKED = ".gz"


class MeasureRunsOptions(TypedDict, total=False):
    """The options of `measure_runs`."""

    baseline: str | Path | None
    conventions: Conventions
    relevant: int
    essential: int | None
    columns: Mapping[str, str] | None
    order: RankOrder | None
    ties: TieOrder
    by_question: bool
    correction: Correction
    level: float


def measure_runs(
    qrels: str | Path,
    runs: Sequence[str | Path],
    measures: Sequence[str] = (),
    **options: Unpack[MeasureRunsOptions],
) -> RankingReport:
    r"""Compute ranking measures of several runs, with intervals, and compare the runs with a baseline.

    Args:
        qrels: The file of judgements, in any format of `read_qrels`.
        runs: The files of the runs. A run is named by its file, without the ending.
        measures: The names of the measures, as for `measure_rankings`; the usual ones by default.
        **options: `baseline`: the run that the others are compared with, its name or its file, which may be one that
            is not among `runs`. `conventions`: "greval" (default), or "trec_eval" for the measures of trec_eval by
            their own names, with its treatment of questions and its order of ties. `relevant` and `essential`: the
            lowest grades that count as such, 1 by default. `columns`, `order` and `ties`: as in `read_rankings`.
            `by_question`: whether the report holds the values of each question. `correction`: "bonferroni" (default) or
            "holm". `level`: the confidence level of the intervals and of the whole family of tests, 0.95 by default.

    Returns:
        The figures as data; `greval rank` prints them. A run that cannot be read, or whose ids cannot meet those of the
        judgements, is in `unread`, with the reason.

    Raises:
        DataError: If the judgements or all of the runs cannot be read, or the baseline is not known.
        DefinitionError: If no measure has one of the names.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
        >>> _ = (folder / "bm25.run").write_text("q1 Q0 d1 1 9.5 bm25\nq2 Q0 d7 1 3.5 bm25\n")
        >>> (run,) = measure_runs(folder / "qrels.txt", [folder / "bm25.run"], ["hit_rate@10"]).runs
        >>> run.name, run.means[0].n, run.means[0].mean
        ('bm25', 2, 0.5)
    """
    check_options(options, MeasureRunsOptions, "measure_runs")
    require_iterable(runs, "runs", "measure_runs('qrels.txt', ['bm25.run'])")
    level = check_level(options.get("level", LEVEL))
    conventions = options.get("conventions", "greval")
    by_question = bool(options.get("by_question"))
    settings = MeasureSettings(choose_measures(measures, conventions), conventions, level, by_question)
    files, baseline = _name_files(runs, options.get("baseline"))
    judged = read_qrels(
        qrels,
        columns=options.get("columns"),
        relevant=options.get("relevant", 1),
        essential=options.get("essential"),
    )
    measured, unread = _measure_files(judged, files, settings, options)
    if not measured:
        raise DataError("\n".join(run.message for run in unread) or "no run is given; name at least one file")
    columns = {name: columns for name, (_, columns) in measured.items()}
    plan = _plan_comparison(Path(qrels), judged, columns, baseline, settings)
    report = RankingReport(
        qrels=str(qrels),
        judged=len(judged.questions),
        measures=settings.names,
        conventions=conventions,
        level=level,
        baseline=baseline,
        runs=tuple(run for run, _ in measured.values()),
        unread=tuple(unread),
        not_compared=tuple(name for name in settings.names if name in NOT_COMPARED),
        comparison=build_comparison(plan, options.get("correction", "bonferroni"), level) if plan else None,
    )
    return report.model_copy(update={"warnings": tuple(find_warnings(report))})


def _measure_files(
    qrels: Qrels, files: Mapping[str, Path], settings: MeasureSettings, options: MeasureRunsOptions
) -> tuple[dict[str, tuple[MeasuredRun, Columns]], list[UnreadRun]]:
    """Measure each run, one at a time in memory."""
    usual: TieOrder = "trec_eval" if settings.conventions == "trec_eval" else "given"
    ties = options.get("ties", usual)
    runs: dict[str, tuple[MeasuredRun, Columns]] = {}
    unread = []
    for name, path in files.items():
        try:
            rankings = read_rankings(path, columns=options.get("columns"), order=options.get("order"), ties=ties)
            runs[name] = measure_run(name, path, (qrels, rankings), settings)
        except DataError as error:
            message = str(error)
            # A file that cannot be read does not stop the others.
            unread.append(UnreadRun(path=str(path), message=message if str(path) in message else f"{path}: {message}"))
    return runs, unread


def _name_files(runs: Sequence[str | Path], baseline: str | Path | None) -> tuple[dict[str, Path], str | None]:
    """Return the files of the runs by name, with that of a baseline that is not among them, and its name."""
    files = name_runs(runs)
    if baseline is None:
        return files, None
    if str(baseline) not in files and Path(baseline).is_file():
        files = name_runs([*runs, baseline])
    return files, _find_run(str(baseline), files)


def name_runs(paths: Iterable[str | Path]) -> dict[str, Path]:
    """Name runs by their files, without the ending; if several files have one name, by their paths.

    Example:
        >>> [*name_runs(["runs/bm25.run.gz", "runs/dense.run", "old/dense.run", "old/dense.run"])]
        ['bm25', 'runs/dense.run', 'old/dense.run']
    """
    files = [*dict.fromkeys(map(Path, paths))]
    stems = [(path.with_suffix("") if path.suffix.lower() == PACKED else path).stem for path in files]
    times = Counter(stems)
    return {stem if times[stem] == 1 else str(path): path for stem, path in zip(stems, files, strict=True)}


def _find_run(baseline: str, runs: Mapping[str, Path]) -> str:
    """Return the name of the run that is named by its name or its path; raise `DataError` if no run has it."""
    names = [name for name, path in runs.items() if baseline == name or Path(baseline) == path]
    if not names:
        hint = did_you_mean(baseline, runs)
        raise DataError(f"baseline {baseline}: must be a file or the name of a run, is neither{hint}")
    return names[0]


def _plan_comparison(
    qrels: Path, judged: Qrels, values: Mapping[str, Columns], baseline: str | None, settings: MeasureSettings
) -> ComparisonPlan | None:
    """Plan the comparison of each run with the baseline over the judged questions; None if nothing is comparable."""
    measures = tuple(name for name in settings.names if name not in NOT_COMPARED)
    sides = {name: ComparisonSide(name) for name in values}
    if baseline not in sides or len(sides) == 1 or not measures:
        return None
    columns = {
        measure: {side: ScoreColumn.from_arrays(*values[name][measure]) for name, side in sides.items()}
        for measure in measures
    }
    return ComparisonPlan(
        wanted=ComparisonRequest(run=qrels, baseline=baseline),
        scores=ScoreColumns.from_columns(judged.questions, columns),
        scales={measure: find_measure_direction(measure, settings.conventions) for measure in measures},
        metrics=measures,
        without_numbers=(),
        matches=tuple((side, sides[baseline]) for name, side in sides.items() if name != baseline),
        groups=(("", None),),
    )
