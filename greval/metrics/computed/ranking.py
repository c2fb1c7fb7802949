"""Metrics of ranked retrieval: the ranks of documents compared with the essential and helpful documents of the gold.

The ranking consists of the documents of the chunks in order: the `doc_id` of a chunk, or its own id if it has
no `doc_id`. If the gold names none of these documents but the ids of chunks, the chunks are ranked. A document counts
once, at its first rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from greval._util.wording import format_found_share
from greval.metrics.computed import formulas
from greval.metrics.computed.families import (
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    build_yes_no_scale,
    format_cutoff,
)
from greval.records.case import ESSENTIAL, HELPFUL, Case
from greval.records.metric import ComputedMetric
from greval.records.result import Judgement, Skipped
from greval.records.scale import MeasureScale, Value, ValueScale

Relevance = Literal["essential", "relevant"]
GAIN_NAMES: dict[float, str] = {ESSENTIAL: "essential", HELPFUL: "helpful"}


@dataclass(frozen=True)
class Ranking:
    """The retrieved documents in order, each once, and `due`, the gains of the relevant ones, essential first.

    `graded` is true if the gold holds grades, so that reasons group the documents by grade.
    """

    documents: tuple[str, ...]
    due: Mapping[str, float]
    graded: bool = False

    @property
    def gains(self) -> list[float]:
        """The gain at each rank."""
        return [self.due.get(document, 0) for document in self.documents]

    @property
    def hits(self) -> list[bool]:
        """For each rank, whether its document is relevant."""
        return [document in self.due for document in self.documents]


Formula = Callable[[Ranking, MetricSetting], Value]


def list_ranked_documents(case: Case) -> tuple[str, ...] | None:
    """List the documents of the chunks in order, each at its first rank; None if chunks are not recorded.

    Example:
        >>> chunks = [{"id": "a#1", "doc_id": "a", "text": ""}, {"id": "b", "text": ""}, {"doc_id": "a", "text": ""}]
        >>> list_ranked_documents(Case(question="?", chunks=chunks))
        ('a', 'b')
    """
    if case.chunks is None:
        return None
    return tuple(dict.fromkeys(chunk.id if chunk.doc_id is None else chunk.doc_id for chunk in case.chunks))


def read_relevant_gains(case: Case, wanted: Relevance) -> dict[str, int] | Skipped:
    """Return the gain of each relevant document, or the reason why no document is relevant."""
    gold = case.gold
    if gold is None:
        return Skipped(reason="gold is not recorded")
    if wanted == "essential":
        if gold.essential is None:
            return Skipped(reason="gold.essential_docs is not recorded")
        where = f"gold.grades has no document of {ESSENTIAL} or more" if gold.essential_docs is None else ""
        essential = dict.fromkeys(gold.essential, ESSENTIAL)
        return essential or Skipped(reason=where or "gold.essential_docs is empty")
    gains = gold.gains
    if gains is None:
        return Skipped(reason="gold.essential_docs and gold.helpful_docs are not recorded")
    return gains or Skipped(reason="gold has no essential and no helpful document")


def read_ranking(case: Case, wanted: Relevance) -> Ranking | Skipped:
    """Return the ranking of a case with its relevant documents, or why it is undefined."""
    documents = list_ranked_documents(case)
    if documents is None:
        return Skipped(reason="chunks is not recorded")
    gains = read_relevant_gains(case, wanted)
    if isinstance(gains, Skipped):
        return gains
    if gains.keys().isdisjoint(documents) and not gains.keys().isdisjoint(ids := _list_own_ids(case)):
        documents = ids  # the gold names chunks, and not the documents that they are from
    return Ranking(documents, gains, graded=wanted == "relevant" and bool(case.gold and case.gold.grades))


def _list_own_ids(case: Case) -> tuple[str, ...]:
    """List the ids of the chunks, each once, if one of them was not made from its position."""
    ids = [chunk.id for chunk in case.chunks or ()]
    return () if ids == [f"c{n}" for n in range(1, len(ids) + 1)] else tuple(dict.fromkeys(ids))


def _format_found(ranking: Ranking, setting: MetricSetting) -> str:
    """Format the retrieved and missed documents, grouped by gain."""
    where = format_cutoff(setting.k) if ranking.documents else "as nothing was retrieved"
    found = {*ranking.documents[: setting.k]}
    shares: list[str] = []
    for gain in sorted({*ranking.due.values()}, reverse=True):
        kind = f"grade-{gain:g}" if ranking.graded else GAIN_NAMES[gain]
        documents = [document for document, given in ranking.due.items() if given == gain]
        shares.append(format_found_share(found, documents, f"{kind} document", where))
    return ". ".join(shares)


def _format_first_hit(ranking: Ranking, setting: MetricSetting) -> str:
    """Format the rank of the first essential document."""
    hit = next((n for n, document in enumerate(ranking.documents[: setting.k], 1) if document in ranking.due), None)
    if hit is None:
        return _format_found(ranking, setting)
    return f"the first essential document is {ranking.documents[hit - 1]}, at rank {hit:,}"


def _build_metric(  # noqa: PLR0913 - the parts of a definition
    name: str,
    setting: MetricSetting,
    formula: Formula,
    *,
    description: str,
    wanted: Relevance,
    scale: MeasureScale | ValueScale,
    format_reason: Callable[[Ranking, MetricSetting], str],
) -> ComputedMetric:
    """Build the metric of a formula."""

    def compute(case: Case) -> tuple[Judgement, ...] | Skipped:
        ranking = read_ranking(case, wanted)
        if isinstance(ranking, Skipped):
            return ranking
        return build_judgement(formula(ranking, setting), format_reason(ranking, setting))

    return ComputedMetric(
        name=name,
        description=description.format(where=format_cutoff(setting.k)),
        needs=("gold",),
        optional=("chunks",),
        scale=scale,
        compute=compute,
    )


def _build_family(  # noqa: PLR0913 - the parts of a definition
    name: str,
    formula: Formula,
    description: str,
    *,
    wanted: Relevance,
    levels: tuple[str, str] | None = None,
    options: tuple[str, ...] = (),
    format_reason: Callable[[Ranking, MetricSetting], str] = _format_found,
) -> MetricFamily:
    """Build the metric family of a formula; `levels` describe 1 and 0 if these are its only values."""

    def make(name: str, setting: MetricSetting) -> ComputedMetric:
        scale = build_yes_no_scale(*levels) if levels else build_share_scale()
        return _build_metric(
            name, setting, formula, description=description, wanted=wanted, scale=scale, format_reason=format_reason
        )

    return MetricFamily(name, make, at="cutoff", options=options)


def compute_ndcg(ranking: Ranking, setting: MetricSetting) -> float:
    """Compute the normalised discounted cumulative gain; some document must be relevant."""
    exponential = "exponential" in setting.options
    return formulas.ndcg(ranking.gains, ranking.due.values(), setting.k, exponential=exponential)


def compute_precision(ranking: Ranking, setting: MetricSetting) -> float:
    """Compute the share of relevant documents in the first k."""
    return formulas.precision(ranking.hits, setting.k)


def compute_hit(ranking: Ranking, setting: MetricSetting) -> int:
    """Compute 1 if a relevant document is in the first k, else 0."""
    return int(any(ranking.hits[: setting.k]))


def compute_reciprocal_rank(ranking: Ranking, setting: MetricSetting) -> float:
    """Compute 1 / rank of the first relevant document, 0 if the first k have none."""
    return formulas.reciprocal_rank(ranking.hits, setting.k)


def _compute_recall(ranking: Ranking, setting: MetricSetting) -> float:
    return formulas.recall(ranking.hits, len(ranking.due), setting.k)


FAMILIES = (
    _build_family(
        "ndcg",
        compute_ndcg,
        "How near the documents {where} come to the best order: normalised discounted cumulative gain.",
        wanted="relevant",
        options=("exponential",),
    ),
    _build_family(
        "recall", _compute_recall, "Share of the essential and helpful documents that is {where}.", wanted="relevant"
    ),
    _build_family(
        "essential_recall", _compute_recall, "Share of the essential documents that is {where}.", wanted="essential"
    ),
    _build_family(
        "precision",
        compute_precision,
        "Share of the documents {where} that is essential or helpful.",
        wanted="relevant",
    ),
    _build_family(
        "hit_rate",
        compute_hit,
        "Whether an essential or helpful document is {where}.",
        wanted="relevant",
        levels=("An essential or helpful document is there.", "None is there."),
    ),
    _build_family(
        "perfect_recall",
        lambda ranking, setting: int(sum(ranking.hits[: setting.k]) == len(ranking.due)),
        "Whether all essential documents are {where}.",
        wanted="essential",
        levels=("All essential documents are there.", "One is missing."),
    ),
    _build_family(
        "mrr",
        compute_reciprocal_rank,
        "1 / rank of the first essential document {where}, 0 where there is none.",
        wanted="essential",
        format_reason=_format_first_hit,
    ),
    _build_family(
        "map",
        lambda ranking, setting: formulas.average_precision(ranking.hits, len(ranking.due), setting.k),
        "Precision at each essential or helpful document {where}, averaged over all that were due.",
        wanted="relevant",
    ),
)
"""The families of metrics of ranked retrieval."""
