"""An agreement for the terminal: judge and people, people among themselves, the baselines, the groups.

A paragraph at its head says what it means for the use of the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import format_count
from greval.metrics.files import write_metric
from greval.records.formula_metric import FormulaMetric
from greval.report.tables import (
    UNLIMITED_WIDTH,
    build_table,
    format_by_question,
    format_measured,
    format_name,
    format_number,
    print_line,
    print_lines,
    print_tables,
    split_table,
    split_warnings,
)
from greval.stats.interval import Measured, MeasuredValue, NumberSpread, Undefined
from greval.trust.agreement.api import agreement as measure_agreement
from greval.trust.agreement.records import (
    Agreement,
    AgreementGroup,
    AgreementVerdict,
    Baseline,
    BaselineVerdict,
    CategoricalAgreement,
    NumericAgreement,
    PeopleAgreement,
)
from greval.trust.agreement.verdict import find_compared_figure
from greval.trust.annotations.files import read_run_annotations
from greval.trust.annotations.reading import STATUS_UNKNOWN

PROMINENT = ("MIXED", "ENRICHED", *JOIN_REMARKS)
GROUP_FIGURES = {
    "categorical": ("accuracy", "kappa", "ac1", "macro f1"),
    "numeric": ("mae", "bias", "pearson", "spearman"),
}
MAX_CATEGORIES = 12
"""The number of categories up to which a confusion matrix is printed."""


def render(agreement: Agreement, console: Console) -> None:
    """Print an agreement: important warnings, what it means, the tables, their explanation, and other warnings."""
    important, other_warnings = split_warnings(agreement.warnings, PROMINENT)
    uncertain, notes = split_warnings(agreement.notes, STATUS_UNKNOWN)
    print_lines(console, [*uncertain, *important], "bold red")
    print_line(console, format_agreement_title(agreement), "italic")
    if agreement.label_columns:
        print_line(console, f"labels: {'; '.join(agreement.label_columns)}", "italic")
    print_lines(console, notes, "yellow")
    print_line(console, format_verdict(agreement))
    print_tables(console, build_agreement_tables(agreement, console))
    print_lines(console, format_agreement_legend(agreement), "dim")
    print_lines(console, other_warnings, "yellow")


def format_agreement_legend(agreement: Agreement) -> Iterator[str]:
    """Yield the metric to use in place of the judge if a rule does better, and sentences that explain the figures."""
    overall = agreement.groups[0]
    yield from format_rule_metric(agreement.metric, find_best_floor(agreement.verdict.best_floor, overall.baselines))
    references = {"majority": "the most frequent label", "mean": "their mean", "each": "every label"}
    yield f"People: {references[agreement.combine]}. Intervals: {agreement.level:.0%}, bootstrap."
    if overall.questions < overall.things:
        yield '"By question" resamples whole questions, because items of one question are correlated; prefer it.'
    if isinstance(overall.judge, CategoricalAgreement):
        yield "Krippendorff's alpha includes the judge as an annotator. Undefined values are excluded from averages."
    if overall.judge.distance == "ordinal":
        yield (
            "Weighted kappa and ordinal alpha use the order of the categories; unweighted kappa and nominal alpha do "
            "not. If the categories have no order, add --treat-as unordered."
        )
    yield "Rules of one line are fitted and tested on different questions. A useful judge is well above all of them."
    for name, figure in overall.judge.figures.items():
        if isinstance(figure, Undefined):
            yield f"{format_name(name, overall.judge.distance)} is undefined: {figure.reason}."
    if overall.people.why:
        yield f"Agreement among annotators is unknown: {overall.people.why}."
    for baseline in overall.baselines:
        if baseline.why:
            yield f"The baseline {baseline.name!r} is unknown: {baseline.why}."


def format_agreement_title(agreement: Agreement) -> str:
    """Format what was compared: the run, the metric, the judge, and the number of people and items."""
    overall = agreement.groups[0]
    judge = f", judge {', '.join(agreement.judges)}"
    people = format_count(len(agreement.annotators), "annotator")
    items = f"{format_count(overall.things, 'item')} of {format_count(overall.questions, 'question')}"
    return f"{agreement.folder}: {agreement.metric}{judge} and {people} on {items}"


def _build_figures_tables(group: AgreementGroup, level: float, console: Console) -> Iterator[Table]:
    """Build the table of the figures of judge and people, with the baselines."""
    clustered = any(
        isinstance(measured, MeasuredValue) and measured.clustered for measured in group.judge.figures.values()
    )
    floors = [baseline for baseline in group.baselines if baseline.figures]
    # Figures of an enriched sample hold for that sample; the weighted ones estimate those of all items.
    head = "on this sample" if group.enriched else "judge and people"
    compared = {"people among themselves": group.people.figures} if group.people.figures else {}
    compared |= {f"baseline: {floor.name}": floor.figures for floor in floors}
    if group.enriched:
        compared = {"weighted": group.weighted, **compared}
    rows = (
        (
            *(format_name(name, group.judge.distance), f"{figure.n:,}", format_measured(figure)),
            *([format_by_question(figure)] if clustered else []),
            *(format_measured(figures.get(name)) for figures in compared.values()),
        )
        for name, figure in group.judge.figures.items()
    )
    columns = ("", "n", f"{head} [{level:.0%}]", *(["by question"] if clustered else []), *compared)
    yield from split_table(console, columns, rows)


def build_agreement_tables(agreement: Agreement, console: Console | None = None) -> Iterator[Table]:
    """Build the tables of an agreement: the figures, what they are made of, people among themselves, and groups.

    Tables that are wider than the console are split; without a console they are whole.
    """
    console = console or Console(width=UNLIMITED_WIDTH)
    overall, *groups = agreement.groups
    yield from _build_figures_tables(overall, agreement.level, console)
    match overall.judge:
        case CategoricalAgreement() as judge:
            yield from _build_classes_tables(judge, console)
            # A larger matrix does not fit a terminal; the JSON form has it.
            if len(judge.classes) <= MAX_CATEGORIES:
                yield _build_confusion_table(judge)
        case NumericAgreement(people=people, judge=numbers):
            yield from _build_spreads_tables(people, numbers, console)
    if overall.people.pairs:
        yield from build_pairs_tables("people among themselves", overall.people, console)
    if groups:
        yield from _build_groups_tables(agreement, groups, console)


def _build_classes_tables(judge: CategoricalAgreement, console: Console) -> Iterator[Table]:
    """Build the classification report, with people's categories as the truth."""
    rows = (
        (
            category.name,
            f"{category.support:,}",
            *map(format_measured, (category.precision, category.recall, category.f1)),
        )
        for category in judge.classes
    )
    return split_table(console, ("category", "support", "precision", "recall", "F1"), rows)


def _build_confusion_table(judge: CategoricalAgreement) -> Table:
    names = [category.name for category in judge.classes]
    rows = ((name, *(f"{cell:,.0f}" for cell in row)) for name, row in zip(names, judge.confusion, strict=True))
    return build_table(("people \\ judge", *names), rows)


def _build_spreads_tables(people: NumberSpread, judge: NumberSpread, console: Console) -> Iterator[Table]:
    """Build the table of the distributions of both sides' numbers."""
    rows = (
        (
            *(name, f"{side.n:,}", *map(format_measured, (side.mean, side.median, side.sd))),
            *map(format_number, (side.min, side.max)),
        )
        for name, side in (("people", people), ("judge", judge))
    )
    return split_table(console, ("", "count", "mean", "median", "standard deviation", "min", "max"), rows)


def build_pairs_tables(head: str, among: PeopleAgreement, console: Console) -> Iterator[Table]:
    """Build a table of each pair of people or judges who valued the same items."""
    names = [*dict.fromkeys(name for pair in among.pairs for name in pair.figures)]
    more = f" (and {format_count(among.left_out, 'more pair')})" if among.left_out else ""
    rows = (
        (" and ".join(pair.annotators), f"{pair.n:,}", *(format_measured(pair.figures.get(name)) for name in names))
        for pair in among.pairs
    )
    return split_table(console, (f"{head}{more}", "n", *map(format_name, names)), rows)


def _build_groups_tables(agreement: Agreement, groups: Sequence[AgreementGroup], console: Console) -> Iterator[Table]:
    names = GROUP_FIGURES[groups[0].judge.kind]
    rows = (
        (group.name, f"{group.things:,}", *(format_measured(group.judge.figures.get(name)) for name in names))
        for group in groups
    )
    return split_table(console, (f"by {' · '.join(agreement.by)}", "n", *map(format_name, names)), rows)


def format_verdict(agreement: Agreement) -> str:
    """Format what the figures mean, by the rules of docs/agreement.md."""
    return " ".join(["What this means:", *_list_sentences(agreement)])


def describe_reliability(folder: Path, metrics: Iterable[str]) -> Iterator[str]:
    """Yield how far the verdicts of a run can be relied on, for each of these metrics that people labelled in it."""
    labelled = {annotation.metric for annotation in read_run_annotations(folder).annotations}
    yield from (f"{name}: {format_verdict(measure_agreement(folder, name))}" for name in metrics if name in labelled)


def _list_sentences(agreement: Agreement) -> Iterator[str]:
    verdict, overall = agreement.verdict, agreement.groups[0]
    if verdict.why:
        remedy = " Use the weighted figures, and greval estimate." if overall.enriched else ""
        yield f"the rules do not apply, because {verdict.why}.{remedy}"
        return
    best = find_best_floor(verdict.best_floor, overall.baselines)
    yield describe_best_floor(verdict.baselines, best, overall.judge.figures)
    yield _describe_people(verdict)
    yield from _describe_use(verdict)


def describe_best_floor(
    verdicts: Mapping[str, BaselineVerdict],
    best: Baseline | None,
    judge: Mapping[str, Measured],
    who: str = "the judge",
) -> str:
    """Describe how a judge stands against the best of the baselines, which decides alone."""
    # Being better than one baseline does not make up for another, so that only the best one is named.
    if best is None:
        return f"no baseline could be computed to compare {who} with."
    figure = find_compared_figure(judge, best) or ""
    values = " against ".join(format_measured(figures.get(figure)) for figures in (best.figures, judge))
    compared = f"{best.name}, {format_name(figure)} {values}"
    if best.rule and is_ahead(best):
        difference = format_measured(best.lead, partial(format_number, sign=True))
        how = "better than" if isinstance(best.lead, MeasuredValue) and best.lead.value < 0 else "as well as"
        return f"a rule of one line does {how} {who}: use it ({compared}, difference {difference}; {best.rule})."
    if verdicts[best.name] == "better":
        return f"{who} is better than every baseline; the intervals do not overlap (the best: {compared})."
    if verdicts[best.name] == "not better" or is_ahead(best):
        return f"{who} is no better than a baseline ({compared})."
    return f"{who} is not clearly better than the best baseline ({compared}): the intervals overlap."


def is_ahead(best: Baseline) -> bool:
    """Return whether a baseline agrees with people as well as the judge does, or better, on the same items."""
    return isinstance(best.lead, MeasuredValue) and best.lead.value <= 0


def format_rule_metric(name: str, best: Baseline | None) -> Iterator[str]:
    """Yield the lines of the metric to use in place of a judge that a rule of one line beats."""
    if best is None or not best.metric or not is_ahead(best):
        return
    if not best.formula:
        yield f"The rule as a metric: greval evaluate CASES -m {best.metric}"
        return
    low, high = sorted(map(float, (best.formula.split()[0], best.formula.split()[-1])))
    metric = FormulaMetric(
        name=f"{name}_by_rule",
        description=f"{best.name}: {best.rule}.",
        formula=best.formula,
        metrics={"number": best.metric},
        scale={"low": min(low, 0.0), "high": max(high, 1.0)},
    )
    yield f"The rule as a metric, for a file {metric.name}.yaml:"
    yield from write_metric(metric).splitlines()


def find_best_floor(best_floor: str | None, baselines: Iterable[Baseline]) -> Baseline | None:
    """Return the baseline that decides."""
    return next((baseline for baseline in baselines if baseline.name == best_floor), None)


def _describe_people(verdict: AgreementVerdict) -> str:
    difference = format_measured(verdict.difference, partial(format_number, sign=True))
    match verdict.people:
        case "as good":
            return f"The judge agrees with people as well as they agree with each other ({difference})."
        case "worse":
            return f"The judge agrees with people less than they agree with each other ({difference})."
        case "not shown":
            return (
                f"Whether the judge agrees with people as well as they do with each other is undecided ({difference})."
            )
        case "not known":
            return "How well people agree with each other is unknown."


def _describe_use(verdict: AgreementVerdict) -> Iterator[str]:
    same = f"It gives people's value on {format_measured(verdict.same)} of the items"
    match verdict.use:
        case "single cases":
            yield f"{same}: use single verdicts, and means of {verdict.mean_of} or more items."
        case "means" if verdict.mean_of is not None:
            yield f"{same}: use means of {verdict.mean_of} or more items, not single cases."
        case "means":
            yield f"{same}: how many items a mean needs is unknown; do not use single cases."
        case "nothing yet":
            yield "Do not rely on the judge yet: label more items."
        case "nothing":
            yield "Do not use the judge for this metric."
    if verdict.use in {"single cases", "means"}:
        yield from _describe_bias(verdict)


def _describe_bias(verdict: AgreementVerdict) -> Iterator[str]:
    """Describe a bias that is more than chance."""
    bias = verdict.bias
    if not isinstance(bias, MeasuredValue) or bias.interval is None or bias.interval.low <= 0 <= bias.interval.high:
        return
    side, low, high = "above", bias.interval.low, bias.interval.high
    if bias.value < 0:
        side, low, high = "below", -high, -low
    size = f"{format_number(abs(bias.value))} [{format_number(low)}, {format_number(high)}]"
    # Noise averages out over many items, a bias does not.
    yield f"Its means are {size} of the scale's width {side} people's: greval estimate corrects them."
