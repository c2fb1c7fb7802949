"""A comparison for the terminal: a row for each metric and group, the explanation of the figures, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import MAX_NAMES, format_count, format_names
from greval.analysis.comparison.records import Comparison, Contrast, ContrastVerdict, EffectSizes
from greval.report.console import WEIGHTED, print_gate
from greval.report.tables import (
    NO_INTERVAL,
    Cell,
    Column,
    build_table,
    format_measured,
    format_number,
    format_p,
    format_place,
    measure_width,
    print_line,
    print_lines,
    split_table,
    split_warnings,
)
from greval.stats.interval import Undefined
from greval.stats.paired import MIN_BOOTSTRAP_CLUSTERS

MIN_WIDE = 140
"""The terminal width from which the table also has relative differences, effect sizes and uncorrected p values."""
MEANS = (2, 3)
"""The places of the columns with the means of both sides."""
VERDICT_WIDTH = 13
"""The width from which verdicts are readable; longer ones are folded between words."""
PROMINENT = ("NOT COMPARABLE", *JOIN_REMARKS)
MAX_HEADING = 9
TAKEN_HEADINGS = {"n", "p", "raw p", "w/t/l", "relative", "effect", "metric", "verdict"}
STYLES = {"better": "green", "worse": "red"}
DETECTABLE = (
    "MDD: the minimum detectable difference at 80% power; a smaller one would be missed by more than 20% of such "
    "comparisons."
)
NO_DIFFERENCE = "not shown to differ in"
FINDINGS: Mapping[ContrastVerdict, str] = {
    "better": "better in",
    "worse": "worse in",
    "changed": "changed in",
    "no difference seen": NO_DIFFERENCE,
    "equal on every question": "equal on every question in",
    "too few questions to tell": "too few questions for a test of",
    "nothing to compare": "no question has both figures of",
}
"""What a verdict says of a metric, in the order in which a sentence names it."""
TESTS = {
    "mcnemar exact": "McNemar's exact test",
    "mcnemar chi-square": "McNemar's chi-square test with continuity correction",
    "paired permutation": "paired permutation test",
    "cluster permutation": "paired permutation test of whole clusters",
}
INTERVALS = {
    "expanded percentile": "bootstrap",
    "t": f"Student's t, as fewer than {MIN_BOOTSTRAP_CLUSTERS} are too few to draw from",
    "bounded": "an exact bound, as all differences are equal",
}
"""The name of each method of interval, as printed."""


def render(comparison: Comparison, console: Console) -> None:
    """Print a comparison: important warnings, the table, its explanation, the other warnings, and the gate."""
    important, other_warnings = split_warnings(comparison.warnings, PROMINENT)
    print_lines(console, important, "bold red")
    print_findings(comparison, console)
    console.print()
    print_lines(console, format_comparison_legend(comparison), "dim")
    print_lines(console, format_changed(comparison))
    print_lines(console, other_warnings, "yellow")
    print_gate(comparison.gate, console)


def print_findings(comparison: Comparison, console: Console) -> None:
    """Print what was compared, the sentences on what was found, and the tables."""
    print_line(console, format_comparison_title(comparison), "italic")
    print_lines(console, describe_findings(comparison))
    for (method, baseline), rows in group_pairs(comparison).items():
        console.print()
        print_line(console, f"{method} against {baseline}", "bold")
        for number, table in enumerate(_build_tables(comparison, rows, console)):
            console.print(*([""] if number else []), table, sep="\n")


def format_comparison_legend(comparison: Comparison) -> Iterator[str]:
    """Yield sentences that explain the table's figures."""
    family = comparison.family
    yield (
        f"Multiple-comparison correction: {family.correction.capitalize()}, over {family.told}."
        f"{_format_incapable(comparison)}"
    )
    metrics_by_test: dict[str, dict[str, None]] = {}
    for contrast in comparison.contrasts:
        if contrast.test:
            metrics_by_test.setdefault(TESTS[contrast.test.name], {})[contrast.metric] = None
    if metrics_by_test:
        tests = "; ".join(f"{test} ({', '.join(metrics)})" for test, metrics in metrics_by_test.items())
        yield f"Tests: {tests}."
    yield (
        "w/t/l: questions won, tied and lost; n: questions with a value on both sides, of all questions; p: corrected; "
        "raw p: not corrected, with McNemar's mid-p (mid) or Wilcoxon's p (W)."
    )
    yield (f"Confidence intervals: {comparison.level:.0%}, uncorrected{_name_intervals(comparison)}. {DETECTABLE}")
    yield from _describe_weighting(comparison)
    for metric in comparison.without_numbers:
        yield f"{metric}: not compared: none of its values is a number (give its categories scores)."


def describe_findings(comparison: Comparison) -> Iterator[str]:
    """Yield plain sentences on the metrics in which methods differ, over all questions: one for each pair."""
    pairs: dict[str, dict[str, list[Contrast]]] = {}
    for contrast in comparison.contrasts:
        if not contrast.group:
            findings = pairs.setdefault(_name_pair(contrast), {})
            findings.setdefault(FINDINGS[contrast.verdict], []).append(contrast)
    # One sentence, because those of all pairs would be the same.
    if pairs and all([*findings] == [NO_DIFFERENCE] for findings in pairs.values()):
        contrasts = [contrast for findings in pairs.values() for contrast in findings[NO_DIFFERENCE]]
        metrics = [*dict.fromkeys(contrast.metric for contrast in contrasts)]
        names = f"any of {len(metrics)} metrics" if len(metrics) > 1 else _name_differences(contrasts[:1])
        if len(pairs) > 1:
            names = f"{names if len(metrics) > 1 else metrics[0]} ({len(pairs)} pairs of methods)"
        parts = [f"Not shown to differ in {names}", *_describe_undetected(comparison, contrasts)]
        yield f"{'; '.join(parts)}."
        return
    for name, findings in pairs.items():
        listed = [f"{words} {_name_differences(findings[words])}" for words in FINDINGS.values() if words in findings]
        undetected = _describe_undetected(comparison, findings.get(NO_DIFFERENCE, ()))
        yield f"{name}: {'; '.join([*listed, *undetected])}."


def _name_differences(contrasts: Iterable[Contrast]) -> str:
    """Name metrics, each with its difference if there is one."""
    return format_names(
        f"{contrast.metric} ({create_writer(contrast, sign=True, digits=2)(contrast.difference)})"
        if contrast.difference
        else contrast.metric
        for contrast in contrasts
    )


def _describe_undetected(comparison: Comparison, contrasts: Sequence[Contrast]) -> Iterator[str]:
    """Yield how large a difference would have to be to be seen, and which metric comes nearest."""
    tests = {
        number: contrast.test.p for number, contrast in enumerate(contrasts) if contrast.test and contrast.detectable
    }
    if not tests:
        return
    nearest = contrasts[min(tests, key=lambda number: tests[number])]
    # Seconds and points of a scale make no common range.
    metrics = next((axis.metrics for axis in comparison.axes if nearest.metric in axis.metrics), (nearest.metric,))
    alike = [contrasts[number] for number in tests if contrasts[number].metric in metrics]
    sizes = {each.detectable or 0.0: create_writer(each, digits=2)(each.detectable) for each in alike}
    ends = dict.fromkeys((sizes[min(sizes)], sizes[max(sizes)]))
    where = "" if len(alike) == len(contrasts) else f" in {format_names(dict.fromkeys(each.metric for each in alike))}"
    yield f"with {format_count(nearest.n, 'question')} only differences above {' to '.join(ends)} would be seen{where}"
    if len(contrasts) > 1:
        pair = f" of {_name_pair(nearest)}" if len(group_pairs(comparison)) > 1 else ""
        interval = nearest.interval
        # Without this the table seems to contradict itself.
        excludes = interval is not None and not interval.low <= 0 <= interval.high
        beside = ", and its uncorrected interval excludes 0" if excludes else ""
        yield f"{_name_differences([nearest])}{pair} comes nearest{beside}"


def _name_pair(contrast: Contrast) -> str:
    return f"{contrast.method} against {contrast.baseline}"


def _name_contrasts(comparison: Comparison, contrasts: Iterable[Contrast]) -> str:
    """Name contrasts by metric and group, each once, with their pairs of methods if these are not all pairs."""
    every_pair = len(group_pairs(comparison))
    pairs_by_label: dict[str, list[str]] = {}
    for contrast in contrasts:
        pairs_by_label.setdefault(format_place(contrast.metric, contrast.group), []).append(_name_pair(contrast))
    return format_names(
        label if len(pairs) == every_pair else f"{label} ({'; '.join(pairs)})"
        for label, pairs in pairs_by_label.items()
    )


def _describe_weighting(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence on each metric whose means are weighted by probability, with the means of the values."""
    levels: dict[str, list[str]] = {}
    for level in comparison.levels:
        if level.plain_mean is not None and not level.group:
            levels.setdefault(level.metric, []).append(f"{level.method} {level.plain_mean:.3f}")
    for metric, means in levels.items():
        yield f"{metric}: {WEIGHTED}; unweighted means: {', '.join(means)}."


def _name_intervals(comparison: Comparison) -> str:
    """Format how the intervals were computed; if by several methods, with the contrasts of each."""
    contrasts_by_method: dict[str, list[Contrast]] = {}
    for contrast in comparison.contrasts:
        if contrast.interval:
            contrasts_by_method.setdefault(INTERVALS[contrast.interval.method], []).append(contrast)
    parts = [
        f"{method} ({_name_contrasts(comparison, contrasts)})" if len(contrasts_by_method) > 1 else method
        for method, contrasts in contrasts_by_method.items()
    ]
    clusters = f", over whole clusters of {comparison.cluster_by}" if comparison.cluster_by else ""
    return f", by {'; '.join(parts)}{clusters}" if parts else ""


def format_changed(comparison: Comparison) -> Iterator[str]:
    r"""Yield the first questions that each method won and lost over all questions, and the command to list all."""
    hidden = False
    for contrast in comparison.contrasts:
        sides = (("lost", contrast.lost_questions), ("won", contrast.won_questions))
        changes = [f"{word} {format_names(questions)}" for word, questions in sides if questions]
        if changes and not contrast.group:
            yield f"{contrast.metric}, {_name_pair(contrast)}: {'; '.join(changes)}"
            hidden = hidden or max(contrast.won, contrast.lost) > MAX_NAMES
    if hidden or any(contrast.group and (contrast.won or contrast.lost) for contrast in comparison.contrasts):
        yield "--format json names every question, and those of each group; those of the largest difference come first."


def _format_incapable(comparison: Comparison) -> str:
    """Format the tests that could not reach significance, each metric and group once."""
    incapable = [contrast for contrast in comparison.contrasts if contrast.test and not contrast.test.capable]
    if not incapable:
        return ""
    return (
        f" {format_count(len(incapable), 'test')} could not reach significance "
        f"({_name_contrasts(comparison, incapable)}), so that the correction multiplies p by "
        f"{comparison.family.counted} at most (Tarone)."
    )


def format_verdict(contrast: Contrast) -> str:
    """Format the verdict of a comparison."""
    if isinstance(contrast.difference_value, Undefined):
        return contrast.difference_value.reason
    text: str = contrast.verdict
    if contrast.verdict == "no difference seen" and contrast.detectable is not None:
        text = f"{text} (MDD {create_writer(contrast)(contrast.detectable)})"
    if contrast.verdict == "changed":
        text = f"changed on {contrast.won + contrast.lost} of {format_count(contrast.n, 'question')}"
    return text if contrast.judged_alike else f"{text}; JUDGED DIFFERENTLY"


def create_writer(contrast: Contrast, *, sign: bool = False, digits: int = 3) -> Callable[[float | None], str]:
    """Return a function that formats figures with the decimals that the size of a comparison's means needs."""
    # A small difference of large means has their decimals, so that it lines up with them.
    size = max(abs(contrast.method_mean or 0.0), abs(contrast.baseline_mean or 0.0))
    return partial(format_number, digits=digits, size=size, sign=sign)


def format_effect(effect: EffectSizes) -> str:
    """Format the effect size with its name: Cohen's g or dz."""
    names = {"g": effect.cohens_g, "dz": effect.cohens_dz}
    return next((f"{name} {size:+.2f}" for name, size in names.items() if size is not None), "-")


def format_comparison_title(comparison: Comparison) -> str:
    """Format the title: what is compared with what."""
    against = f" against {comparison.against}" if comparison.against else ""
    return f"{comparison.folder}{against}, question by question"


def group_pairs(comparison: Comparison) -> dict[tuple[str, str], list[Contrast]]:
    """Group the rows by method and what it is compared with."""
    pairs: dict[tuple[str, str], list[Contrast]] = {}
    for contrast in comparison.contrasts:
        pairs.setdefault((contrast.method, contrast.baseline), []).append(contrast)
    return pairs


def _build_tables(comparison: Comparison, rows: list[Contrast], console: Console) -> Iterator[Table]:
    """Build the table of one pair of methods: each metric over all questions, with its groups below it."""
    writers = _build_columns(comparison, rows[0], wide=console.width >= MIN_WIDE)
    left_aligned = {next(iter(writers)), "effect", "raw p"}
    verdict = Column("verdict", left=True, min_width=VERDICT_WIDTH)
    columns = (*(Column(name, left=name in left_aligned, wrap=False) for name in writers), verdict)
    cells = [_format_row(contrast, writers.values()) for contrast in rows]
    table = build_table(columns, cells)
    if measure_width(console, table) <= console.width:
        return iter([table])
    # Both means last: the difference says the most.
    order = [0, 1, *range(MEANS[-1] + 1, len(columns)), *MEANS]
    return split_table(console, [columns[n] for n in order], [[row[n] for n in order] for row in cells])


def _format_row(contrast: Contrast, writers: Iterable[Callable[[Contrast], str]]) -> list[Cell]:
    return [*(write(contrast) for write in writers), (format_verdict(contrast), STYLES.get(contrast.verdict, ""))]


def _build_columns(comparison: Comparison, pair: Contrast, *, wide: bool) -> dict[str, Callable[[Contrast], str]]:
    """Return the columns before the verdict, and how their cells are formatted."""
    first = ", by ".join(["metric", *([" · ".join(comparison.by)] if comparison.by else [])])
    # Against an earlier run both sides have the same method, so that its name would not tell them apart.
    baseline, method = ("before", "now") if comparison.against else name_columns(pair)
    columns: dict[str, Callable[[Contrast], str]] = {
        first: lambda contrast: f"  {contrast.group}" if contrast.group else contrast.metric,
        "n": format_pairs_count,
        baseline: lambda contrast: create_writer(contrast)(contrast.baseline_mean),
        method: lambda contrast: create_writer(contrast)(contrast.method_mean),
        f"difference [{comparison.level:.0%}]": format_difference,
        "won/tied/lost" if wide else "w/t/l": lambda contrast: f"{contrast.won}/{contrast.tied}/{contrast.lost}",
    }
    if wide:
        columns |= {
            "relative": format_relative,
            "effect": lambda contrast: format_effect(contrast.effect),
            "raw p": _format_uncorrected,
        }
    return columns | {"p": lambda contrast: format_p(contrast.test.corrected) if contrast.test else "-"}


def name_columns(pair: Contrast) -> tuple[str, str]:
    """Return the headings of both sides: their names, or "baseline" and "method" if these are long or taken."""
    names = pair.baseline, pair.method
    # A method called `p` would be mistaken for the column, and a long name widens the table.
    fit = all(len(name) <= MAX_HEADING and name not in TAKEN_HEADINGS for name in names)
    return names if fit else ("baseline", "method")


def format_pairs_count(contrast: Contrast) -> str:
    """Format the number of questions that count, with the total if it is larger."""
    count = str(contrast.n) if contrast.n == contrast.questions else f"{contrast.n}/{contrast.questions}"
    return count if contrast.clusters is None else f"{count} in {contrast.clusters}"


def format_difference(contrast: Contrast) -> str:
    """Format the difference of a contrast with its interval."""
    return format_measured(contrast.difference_value, create_writer(contrast, sign=True), without=NO_INTERVAL)


def format_relative(contrast: Contrast) -> str:
    """Format the difference in relation to the baseline's mean, with its interval."""
    if contrast.relative_difference is None:
        return "-"
    interval = contrast.relative_interval
    ends = f"[{interval.low:+.1%}, {interval.high:+.1%}]" if interval else NO_INTERVAL
    return f"{contrast.relative_difference:+.1%} {ends}"


def _format_uncorrected(contrast: Contrast) -> str:
    """Format the uncorrected p, with McNemar's mid-p or Wilcoxon's p."""
    if contrast.test is None:
        return "-"
    alternatives = {"mid": contrast.test.mid_p, "W": contrast.test.wilcoxon_p}
    return " ".join(
        [format_p(contrast.test.p), *(f"{name} {format_p(p)}" for name, p in alternatives.items() if p is not None)]
    )
