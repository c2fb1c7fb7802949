"""Metrics of ranked retrieval whose relevance is judged: `ndcg@10-judged` needs no gold.

The ranking consists of the chunks (with the option `triples`, of the triples) of a case in order, each id once. Their
gains are the numbers that `chunk_evaluation` (`triple_evaluation`) gave them; one above 0 is relevant. What was not
retrieved was not judged, so that the ideal order is that of the retrieved items, and there is no recall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from greval._util.wording import format_count, format_names
from greval.metrics.computed import formulas
from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    build_yes_no_scale,
    format_cutoff,
)
from greval.metrics.computed.ranking import (
    Formula,
    Ranking,
    compute_hit,
    compute_ndcg,
    compute_precision,
    compute_reciprocal_rank,
)
from greval.records.case import Case, Over
from greval.records.metric import DerivedMetric, Verdicts
from greval.records.metric_input import list_items
from greval.records.result import Skipped

JUDGED = "judged"
"""The option that is part of the name of each metric, so that its figure is not mistaken for one of gold."""
TRIPLES = "triples"


JUDGES: Mapping[Over, str] = {"chunks": "chunk_evaluation", "triples": "triple_evaluation"}
"""The metric that judges the relevance of the items that are ranked."""


def _read_ranking(case: Case, verdicts: Verdicts, over: Over) -> Ranking | Skipped:
    """Return the ranking of a case with its relevant items by the verdicts on them, or why it is undefined."""
    if getattr(case, over) is None:
        return Skipped(reason=f"{over} is not recorded")
    ranked = tuple(dict.fromkeys(item.id for item in list_items(over, case)))
    outcome = verdicts[judge := JUDGES[over]]
    # Before the verdicts are read: without items they are skipped, but an empty ranking has a value.
    if not ranked:
        return Ranking((), {})
    if isinstance(outcome, Skipped):
        return Skipped(reason=f"{judge} is skipped: {outcome.reason}")
    numbers = {judgement.item: judgement.number for judgement in outcome.judgements}
    gains = {item: number for item in ranked if (number := numbers.get(item)) is not None}
    if len(gains) < len(ranked):
        unknown = [item for item in ranked if item not in gains]
        return Skipped(reason=f"{judge} gave no number to {format_names(unknown)}")
    if negative := [item for item, gain in gains.items() if gain < 0]:
        return Skipped(reason=f"{judge} gave a number below 0 to {format_names(negative)}, which is no gain")
    return Ranking(ranked, {item: gain for item, gain in gains.items() if gain > 0})


def _format_relevant(ranking: Ranking, setting: MetricSetting, over: Over) -> str:
    """Format which of the first items were judged relevant."""
    noun = over.removesuffix("s")
    if not ranking.documents:
        return f"no {noun} was retrieved"
    first = ranking.documents[: setting.k]
    relevant = [item for item in first if item in ranking.due]
    share = f"{len(relevant):,} of {format_count(len(first), noun)} {format_cutoff(setting.k)}"
    listing = f": {format_names(relevant)}" if relevant else ""
    return f"{share} judged relevant by {JUDGES[over]}{listing}"


def _format_gains(ranking: Ranking, setting: MetricSetting, over: Over) -> str:
    """Format the relevant items with what the ideal order consists of, as it is not that of gold."""
    count = format_count(len(ranking.documents), over.removesuffix("s"))
    return f"{_format_relevant(ranking, setting, over)}; the ideal is the best order of the {count} that were judged"


def compute_context_precision(ranking: Ranking, setting: MetricSetting) -> float:
    """Compute the mean precision at the rank of each relevant item in the first k, 0 if none is relevant."""
    hits = ranking.hits[: setting.k]
    # Divided by the relevant items of the first k: how many exist elsewhere was not judged.
    return formulas.average_precision(hits, sum(hits)) if any(hits) else 0.0


def _build_family(  # noqa: PLR0913 - the parts of a definition
    name: str,
    formula: Formula,
    description: str,
    *,
    levels: tuple[str, str] | None = None,
    options: tuple[str, ...] = (),
    format_reason: Callable[[Ranking, MetricSetting, Over], str] = _format_relevant,
    needs_relevant: bool = False,
) -> MetricFamily:
    """Build the metric family of a formula; with `needs_relevant` it is undefined if no item is relevant."""

    def make(name: str, setting: MetricSetting) -> DerivedMetric:
        over: Over = "triples" if TRIPLES in setting.options else "chunks"
        noun = over.removesuffix("s")
        words = {"items": over, "item": noun, "where": format_cutoff(setting.k)}

        def compute(case: Case, verdicts: Verdicts) -> JudgementsOrSkipped:
            ranking = _read_ranking(case, verdicts, over)
            if isinstance(ranking, Skipped):
                return ranking
            if needs_relevant and not ranking.due:
                return Skipped(reason=f"no retrieved {noun} was judged relevant, so that no order is the best")
            return build_judgement(formula(ranking, setting), format_reason(ranking, setting, over))

        return DerivedMetric(
            name=name,
            description=f"{description.format(**words)} The relevance is judged by {JUDGES[over]}, not gold.",
            built_on=(JUDGES[over],),
            optional=(over,),
            scale=(build_yes_no_scale(*(level.format(**words) for level in levels)) if levels else build_share_scale()),
            compute=compute,
        )

    return MetricFamily(name, make, at="cutoff", options=(JUDGED, *options, TRIPLES))


FAMILIES = (
    _build_family(
        "ndcg",
        compute_ndcg,
        "How near the {items} {where} come to the best order of those that were retrieved: normalised discounted "
        "cumulative gain.",
        options=("exponential",),
        format_reason=_format_gains,
        needs_relevant=True,
    ),
    _build_family("precision", compute_precision, "Share of the {items} {where} that is relevant."),
    _build_family(
        "context_precision",
        compute_context_precision,
        "Precision at the rank of each relevant {item} {where}, averaged over these; 0 if no {item} is relevant.",
    ),
    _build_family(
        "hit_rate",
        compute_hit,
        "Whether a relevant {item} is {where}.",
        levels=("A relevant {item} is there.", "None is there."),
    ),
    _build_family(
        "mrr", compute_reciprocal_rank, "1 / rank of the first relevant {item} {where}, 0 if no {item} is relevant."
    ),
)
"""The families of metrics of ranked retrieval by judged relevance."""
