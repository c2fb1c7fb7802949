"""Metrics of ranked retrieval: the ranks of documents compared with the essential and helpful documents of the gold.

The ranking consists of the documents of the chunks in order: the `doc_id` of a chunk, or its own id if it has
no `doc_id`. If the gold names none of these documents but the ids of chunks, the chunks are ranked. A document counts
once, at its first rank. If the gold names documents by their text, texts are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from greval._util.joins import find_kind, format_id
from greval._util.wording import UNMET, format_found_share
from greval.metrics.computed import formulas
from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    build_yes_no_scale,
    explain_unmet_ids,
    format_cutoff,
)
from greval.metrics.computed.graph_walk import normalise_name
from greval.records.case import CHUNK_PREFIX, ESSENTIAL, HELPFUL, Case, Chunk, Gold, is_unnamed
from greval.records.metric import ComparedIds, ComputedMetric
from greval.records.result import Skipped
from greval.records.scale import Value

Relevance = Literal["essential", "relevant"]
GAIN_NAMES: dict[float, str] = {ESSENTIAL: "essential", HELPFUL: "helpful"}
MIN_TEXT_WORDS = 3
MAX_TEXT_RATIO = 4
"""How many times as long as the texts of the gold chunks may be, so that a title is not taken for the text of one."""


@dataclass(frozen=True)
class Ranking:
    """The retrieved documents in order, each once, and `due`, the gains of the relevant ones, essential first.

    `graded` is true if the gold holds grades, so that reasons group the documents by grade. `by_text` is true if the
    gold names documents by their text.
    """

    documents: tuple[str, ...]
    due: Mapping[str, float]
    graded: bool = False
    by_text: bool = False

    @property
    def gains(self) -> list[float]:
        """The gain at each rank."""
        return [self.due.get(document, 0) for document in self.documents]

    @property
    def hits(self) -> list[bool]:
        """For each rank, whether its document is relevant."""
        return [document in self.due for document in self.documents]


Formula = Callable[[Ranking, MetricSetting], Value]


def list_gold_documents(gold: Gold) -> dict[str, None]:
    """Return all documents that the gold names, relevant or not, each once."""
    return dict.fromkeys((*(gold.essential_docs or ()), *(gold.helpful_docs or ()), *(gold.grades or {})))


def is_gold_text(gold_names: Iterable[str], chunks: Sequence[Chunk]) -> bool:
    """Return whether the gold names documents by their text: each name is as long as a passage."""
    usual = median(len(chunk.text or "") for chunk in chunks)
    return all(
        find_kind(name) == "passage" or (len(name.split()) >= MIN_TEXT_WORDS and len(name) * MAX_TEXT_RATIO >= usual)
        for name in gold_names
    )


def count_unnamed(chunks: Sequence[Chunk], gold_names: Iterable[str]) -> int:
    """Count the chunks without an id; 0 if the gold names documents as ids are made, so that these may be meant."""
    if any(name.startswith(CHUNK_PREFIX) and name[len(CHUNK_PREFIX) :].isdecimal() for name in gold_names):
        return 0
    return sum(is_unnamed(chunk, number) for _, chunk, number in _number(chunks))


def _match_texts(case: Case, gold_names: Iterable[str]) -> list[str | None]:
    """Return, for each chunk, the document of the gold whose text is that of the chunk, or None."""
    by_text = {normalise_name(name): name for name in gold_names if " " in name}
    return [by_text.get(normalise_name(chunk.text)) if by_text and chunk.text else None for chunk in case.chunks or ()]


def compare_documents(case: Case) -> tuple[tuple[str, ...], bool] | Skipped:
    """Return the retrieved documents as the gold names them, and whether by their text; or why they cannot be compared.

    A chunk without an id is an unknown document, and no miss.

    Example:
        >>> case = Case(question="?", chunks=["Ada wrote it."], gold={"essential_docs": ["Ada wrote it."]})
        >>> compare_documents(case)
        (('Ada wrote it.',), True)
        >>> compare_documents(Case(question="?", chunks=["Ada wrote it."], gold={"essential_docs": ["d1"]})).reason
        "ids do not meet: the chunks have no ids; give each its doc_id, such as 'd1'"
    """
    chunks = case.chunks
    if chunks is None:
        return Skipped(reason="chunks is not recorded")
    documents = tuple(dict.fromkeys(document for document, *_ in _number(chunks)))
    gold_names = list_gold_documents(case.gold) if case.gold else {}
    if not chunks or not gold_names:
        return documents, False
    if gold_names.keys().isdisjoint(documents) and not gold_names.keys().isdisjoint(ids := _list_own_ids(chunks)):
        # The gold names chunks, and not the documents that they are from.
        return ids, False
    # An id that was made from a position equals one of the gold by accident only.
    has_hit = any(document in gold_names and not is_unnamed(chunk, n) for document, chunk, n in _number(chunks))
    by_text = _match_texts(case, () if has_hit else gold_names)
    count = count_unnamed(chunks, gold_names)
    if any(by_text) or (not has_hit and count == len(chunks) and is_gold_text(gold_names, chunks)):
        pairs = zip(by_text, _number(chunks), strict=True)
        return tuple(dict.fromkeys(text or document for text, (document, _, _) in pairs)), True
    if count:
        which = "the chunks have no ids" if count == len(chunks) else "some chunks have no id"
        return Skipped(reason=f"{UNMET}: {which}; give each its doc_id, such as {format_id(next(iter(gold_names)))}")
    return explain_unmet_ids(gold_names, dict.fromkeys(documents), "documents") or (documents, False)


def _list_own_ids(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """List the ids of chunks, each once; none if they were made from the positions."""
    if all(chunk.id == f"{CHUNK_PREFIX}{number}" for number, chunk in enumerate(chunks, 1)):
        return ()
    return tuple(dict.fromkeys(chunk.id for chunk in chunks))


def _number(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Chunk, int]]:
    """Yield the document of each chunk, the chunk and its position, which begins at 1."""
    for number, chunk in enumerate(chunks, 1):
        yield chunk.id if chunk.doc_id is None else chunk.doc_id, chunk, number


def read_relevant_gains(case: Case, relevance: Relevance) -> dict[str, int] | Skipped:
    """Return the gain of each relevant document, or the reason why no document is relevant."""
    gold = case.gold
    if gold is None:
        return Skipped(reason="gold is not recorded")
    if relevance == "essential":
        if gold.essential is None:
            return Skipped(reason="gold.essential_docs is not recorded")
        where = f"gold.grades has no document of {ESSENTIAL} or more" if gold.essential_docs is None else ""
        essential = dict.fromkeys(gold.essential, ESSENTIAL)
        return essential or Skipped(reason=where or "gold.essential_docs is empty")
    gains = gold.gains
    if gains is None:
        return Skipped(reason="gold.essential_docs and gold.helpful_docs are not recorded")
    return gains or Skipped(reason="gold has no essential and no helpful document")


def read_ranking(case: Case, relevance: Relevance) -> Ranking | Skipped:
    """Return the ranking of a case with its relevant documents, or why it is undefined."""
    if case.chunks is None:
        return Skipped(reason="chunks is not recorded")
    gains = read_relevant_gains(case, relevance)
    if isinstance(gains, Skipped):
        return gains
    compared = compare_documents(case)
    if isinstance(compared, Skipped):
        return compared
    documents, by_text = compared
    graded = relevance == "relevant" and bool(case.gold and case.gold.grades)
    return Ranking(documents, gains, graded=graded, by_text=by_text)


def list_compared_documents(case: Case) -> tuple[Iterable[str], Iterable[str]]:
    """Return the documents of the gold and the retrieved ones; their texts if the gold names documents by these."""
    gold_names = list_gold_documents(case.gold) if case.gold else {}
    compared = compare_documents(case)
    if isinstance(compared, Skipped) or not gold_names:
        return (), ()
    documents, by_text = compared
    return gold_names, [chunk.text for chunk in case.chunks or () if chunk.text] if by_text else documents


DOCUMENT_IDS = ComparedIds(list_compared_documents, ("documents of the gold", "retrieved documents"))


def _format_found(ranking: Ranking, setting: MetricSetting) -> str:
    """Format the retrieved and missed documents, grouped by gain."""
    where = format_cutoff(setting.k) if ranking.documents else "as nothing was retrieved"
    retrieved = {*ranking.documents[: setting.k]}
    shares: list[str] = []
    for gain in sorted({*ranking.due.values()}, reverse=True):
        kind = f"grade-{gain:g}" if ranking.graded else GAIN_NAMES[gain]
        documents = [document for document, document_gain in ranking.due.items() if document_gain == gain]
        shares.append(format_found_share(retrieved, documents, f"{kind} document", where))
    return ". ".join(shares) + ("; compared by their text" if ranking.by_text else "")


def _format_first_hit(ranking: Ranking, setting: MetricSetting) -> str:
    """Format the rank of the first essential document."""
    hit = next((n for n, document in enumerate(ranking.documents[: setting.k], 1) if document in ranking.due), None)
    if hit is None:
        return _format_found(ranking, setting)
    return f"the first essential document is {ranking.documents[hit - 1]}, at rank {hit:,}"


def _build_family(  # noqa: PLR0913 - the parts of a definition
    name: str,
    formula: Formula,
    description: str,
    *,
    relevance: Relevance = "relevant",
    levels: tuple[str, str] | None = None,
    options: tuple[str, ...] = (),
    format_reason: Callable[[Ranking, MetricSetting], str] = _format_found,
) -> MetricFamily:
    """Build the metric family of a formula; `levels` describe 1 and 0 if these are its only values."""

    def make(name: str, setting: MetricSetting) -> ComputedMetric:
        def compute(case: Case) -> JudgementsOrSkipped:
            ranking = read_ranking(case, relevance)
            if isinstance(ranking, Skipped):
                return ranking
            return build_judgement(formula(ranking, setting), format_reason(ranking, setting))

        return ComputedMetric(
            name=name,
            description=description.format(where=format_cutoff(setting.k)),
            needs=("gold",),
            optional=("chunks",),
            scale=build_yes_no_scale(*levels) if levels else build_share_scale(),
            compute=compute,
            compared_ids=DOCUMENT_IDS,
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
        options=("exponential",),
    ),
    _build_family("recall", _compute_recall, "Share of the essential and helpful documents that is {where}."),
    _build_family(
        "essential_recall", _compute_recall, "Share of the essential documents that is {where}.", relevance="essential"
    ),
    _build_family("precision", compute_precision, "Share of the documents {where} that is essential or helpful."),
    _build_family(
        "hit_rate",
        compute_hit,
        "Whether an essential or helpful document is {where}.",
        levels=("An essential or helpful document is there.", "None is there."),
    ),
    _build_family(
        "perfect_recall",
        lambda ranking, setting: int(sum(ranking.hits[: setting.k]) == len(ranking.due)),
        "Whether all essential documents are {where}.",
        relevance="essential",
        levels=("All essential documents are there.", "One is missing."),
    ),
    _build_family(
        "mrr",
        compute_reciprocal_rank,
        "1 / rank of the first essential document {where}, 0 where there is none.",
        relevance="essential",
        format_reason=_format_first_hit,
    ),
    _build_family(
        "map",
        lambda ranking, setting: formulas.average_precision(ranking.hits, len(ranking.due), setting.k),
        "Precision at each essential or helpful document {where}, averaged over all that were due.",
    ),
)
"""The families of metrics of ranked retrieval."""
