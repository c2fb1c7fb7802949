"""A case with its results as a page shows it: texts, items with their verdicts, and the walk over the gold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, get_args

from markupsafe import Markup

from greval.analysis.case_results import CaseResults
from greval.analysis.duel.verdicts import read_outcome
from greval.records.case import ESSENTIAL, Case, Chunk, ClaimField, Over, Response, Triple, format_history
from greval.records.formula_metric import StoredMetric
from greval.records.judgement_text import format_details
from greval.records.metric_input import Item, format_item, list_items
from greval.records.result import OrderVerdict, Result
from greval.records.scale import Scale, Value
from greval.report.html.tones import find_tone, format_value
from greval.report.walk import draw_walk_svg, format_walk_tree
from greval.runs.duels import split_pair_label
from greval.runs.worst_cases import ReportVerdict, list_verdicts
from greval.stats.paired_comparisons import LOSS, WIN

CLAIM_TITLES: Mapping[ClaimField, str] = {"claims": "Claims", "expected_claims": "Claims of the expected answer"}
QUESTION, ANSWER, EXPECTED, HISTORY = "Question", "Answer", "Expected answer", "Before the question"
"""The names of the texts of a case."""
MAX_DRAWINGS = 1_000
"""The number of walks that are drawn, a few milliseconds each; the others are shown as text."""
MAX_TEXT_CHARACTERS = 8_000
"""The number of characters of a question, an answer or a reason that are shown."""


class OrderView(NamedTuple):
    """The verdict on a pair in one order.

    `shown_first` and `shown_second` are the methods in the order in which the judge saw their responses, as A and B.
    `preferred` is the method that won, empty for a tie.
    """

    shown_first: str
    shown_second: str
    value: str
    tone: int | None
    preferred: str
    reason: str


class VerdictView(NamedTuple):
    """A verdict with the tone of its value, None if it has none, and the details of its reason as lines.

    `orders` are the verdicts on a pair in both orders. `is_flipped` is true if they name different winners.
    """

    metric: str
    value: str
    tone: int | None
    status: str
    reason: str
    details: tuple[str, ...]
    contradictions: tuple[str, ...]
    item: str | None
    orders: tuple[OrderView, ...] = ()
    is_flipped: bool = False


class ItemView(NamedTuple):
    """A chunk, a triple or a claim with its verdicts.

    `labels` are its document, repository, version and score. `gold` is "essential", "helpful" or empty. `text` is a
    text, or its number in a table of texts.
    """

    id: str
    labels: tuple[str, ...]
    gold: str
    text: str | int | None
    triple: tuple[str, str, str] | None
    verdicts: tuple[VerdictView, ...]


class ResponseView(NamedTuple):
    """One of the two responses of a pair; `letter` is its name in verdicts on the pair as it is recorded."""

    letter: str
    method: str
    answer: str
    error: str | None
    chunks: tuple[ItemView, ...]
    triples: tuple[ItemView, ...]
    aggregates: tuple[str, ...]
    walk_tree: str


class CaseView(NamedTuple):
    """A case as a page shows it. `verdicts` are those of the case, and of items that it does not have.

    `claims` are the lists of claims with their titles. `responses` are both responses of a pair, with all that each
    has; they are empty for other cases.
    """

    sample_id: str
    method: str
    tags: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]
    verdicts: tuple[VerdictView, ...]
    claims: tuple[tuple[str, tuple[ItemView, ...]], ...]
    walk: Markup | None
    error: str | None = None
    chunks: tuple[ItemView, ...] = ()
    triples: tuple[ItemView, ...] = ()
    aggregates: tuple[str, ...] = ()
    walk_tree: str = ""
    responses: tuple[ResponseView, ...] = ()


class CaseViewBuilder:
    """Builds the views of cases of a run.

    `keep_text` stores the text of a chunk elsewhere and returns its number, if cases share texts; without it each view
    has its texts. `prefix` is that of the ids in drawings: each builder of a page needs its own.
    """

    def __init__(
        self,
        metrics: Mapping[str, StoredMetric],
        *,
        keep_text: Callable[[str], int] | None = None,
        prefix: str = "walk",
    ) -> None:
        self._metrics = metrics
        self._order = {name: index for index, name in enumerate(metrics)}
        self._keep_text = keep_text
        self._prefix = prefix
        self._drawings = 0

    def build_view(self, case_results: CaseResults) -> CaseView:
        """Build the view of a case."""
        case = case_results.case
        by_item: dict[tuple[str, str], list[VerdictView]] = {}
        case_verdicts: list[VerdictView] = []
        item_keys = _list_item_ids(case)
        for result in sorted(case_results.results, key=lambda result: self._order.get(result.metric, len(self._order))):
            over = self._find_over(result)
            for verdict in self._list_views(result, case):
                key = (over or "", verdict.item or "")
                # Verdicts on items that the stored case does not have would be lost: they stand with those of the case.
                by_item.setdefault(key, []).append(verdict) if key in item_keys else case_verdicts.append(verdict)
        texts = tuple(_list_texts(case)) if case else ()
        other_response = case.other_response if case else None
        return CaseView(
            sample_id=case_results.sample_id,
            method=case_results.method,
            tags=tuple((case.tags if case else case_results.results[0].tags).items()),
            texts=tuple((name, text) for name, text in texts if not (other_response and name == ANSWER)),
            verdicts=tuple(case_verdicts),
            claims=tuple(_build_claims(case, by_item)) if case else (),
            walk=self._draw_walk(case) if case and not other_response else None,
            responses=self._build_responses(case, other_response, by_item) if case and other_response else (),
            **(self._build_parts(case, case, by_item) if case and not other_response else {}),
        )

    def _build_responses(
        self, case: Case, other_response: Response, verdicts: Mapping[tuple[str, str], list[VerdictView]]
    ) -> tuple[ResponseView, ResponseView]:
        """Build the views of both responses of a pair; verdicts on items are of the first."""
        first, second = _name_responses(case, case.method)
        parts, other_parts = self._build_parts(case, case, verdicts), self._build_parts(case, other_response, {})
        return (
            ResponseView("A", first, cut_text(case.answer or ""), **parts),
            ResponseView("B", second, cut_text(other_response.answer or ""), **other_parts),
        )

    def _build_parts(
        self, case: Case, response: Case | Response, verdicts: Mapping[tuple[str, str], list[VerdictView]]
    ) -> dict[str, Any]:
        """Return what a response was built from, and its error."""
        walk = response.traversal
        return {
            "error": response.error,
            "chunks": tuple(self._build_chunks(case, response.chunks, verdicts)),
            "triples": tuple(_build_triples(response.triples, verdicts)),
            "aggregates": tuple(map(cut_text, response.aggregates or ())),
            "walk_tree": format_walk_tree(walk, case.gold) if walk else "",
        }

    def _find_over(self, result: Result) -> str | None:
        metric = self._metrics.get(result.metric)
        return metric.over if metric else None

    def _list_views(self, result: Result, case: Case | None) -> Iterable[VerdictView]:
        metric = self._metrics.get(result.metric)
        scale = metric.scale if metric else None
        for index, verdict in enumerate(list_verdicts(result, metric.judged if metric else None)):
            scored = index < len(result.judgements)
            failed = index < len(result.judgements) + len(result.failures)
            view = _build_verdict(verdict, scale, "scored" if scored else "failed" if failed else "skipped")
            orders = result.judgements[index].orders if scored else ()
            methods = _name_responses(case, result.method)
            yield view._replace(
                orders=tuple(_build_order(order, scale, methods) for order in orders),
                # Outcomes, not values: on a graded scale 1 and 2 are one winner, of whom one order is surer.
                is_flipped=len({read_outcome(order.value) for order in orders}) > 1,
            )

    def _build_chunks(
        self, case: Case, chunks: Iterable[Chunk] | None, verdicts: Mapping[tuple[str, str], list[VerdictView]]
    ) -> Iterable[ItemView]:
        gains = (case.gold.gains if case.gold else None) or {}
        for chunk in chunks or ():
            gain, text = gains.get(chunk.doc_id or chunk.id, 0), format_item(chunk)
            yield ItemView(
                id=chunk.id,
                labels=tuple(_label_chunk(chunk)),
                gold="" if gain <= 0 else "essential" if gain >= ESSENTIAL else "helpful",
                # Many cases share a chunk, so that a page holds its text once, by number.
                text=self._keep_text(text) if self._keep_text else cut_text(text),
                triple=None,
                verdicts=tuple(verdicts.get(("chunks", chunk.id), ())),
            )

    def _draw_walk(self, case: Case) -> Markup | None:
        """Draw the walk; its texts are escaped by `draw_walk_svg`."""
        if case.traversal is None or not (case.traversal.visited or (case.gold and case.gold.expected_edges)):
            return None
        # The number is in the ids of the drawing, which must be unique on the page.
        self._drawings += 1
        if self._drawings > MAX_DRAWINGS:
            return None
        prefix = f"{self._prefix}-{self._drawings}"
        drawing = draw_walk_svg(case.traversal, case.gold, title=case.question, prefix=prefix)
        return Markup(drawing)  # noqa: S704 - SVG of our own, in which every text is escaped


def cut_text(text: str, most: int = MAX_TEXT_CHARACTERS) -> str:
    """Return the begin of a very long text, with the number of characters that are left out.

    Example:
        >>> cut_text("abcdef", 2)
        'ab... (4 more characters in the run)'
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most:,} more characters in the run)"


def _list_item_ids(case: Case | None) -> frozenset[tuple[str, str]]:
    """Return the field and the id of each item of a case."""
    if case is None:
        return frozenset()
    return frozenset((field, item.id) for field in get_args(Over) for item in list_items(field, case))


def _build_verdict(verdict: ReportVerdict, scale: Scale | None, status: str) -> VerdictView:
    scored = status == "scored"
    return VerdictView(
        metric=verdict.metric,
        value=format_value(scale, verdict.value) if scored else verdict.value,
        tone=find_tone(scale, verdict.value) if scored else None,
        status=status,
        reason=cut_text(verdict.reason),
        details=format_details(verdict.findings, verdict.notes, verdict.cited_items),
        contradictions=verdict.contradictions,
        item=verdict.item,
    )


def _name_responses(case: Case | None, label: str) -> tuple[str, str]:
    """Return the methods of both responses of a pair; those without a name are called A and B."""
    first, second = split_pair_label(case, label)
    return first or "A", second or "B"


def _build_order(order: OrderVerdict, scale: Scale | None, methods: tuple[str, str]) -> OrderView:
    shown_methods = methods if order.shown_first == "A" else methods[::-1]
    return OrderView(
        *shown_methods,
        value=format_value(scale, str(order.value)),
        tone=find_tone(scale, str(order.value)),
        preferred=_find_preferred(order.value, methods),
        reason=cut_text(order.reason),
    )


def _find_preferred(value: Value, methods: tuple[str, str]) -> str:
    """Return the method that a verdict prefers, empty for a tie."""
    outcome = read_outcome(value)
    return methods[0] if outcome == WIN else methods[1] if outcome == LOSS else ""


def _list_texts(case: Case) -> Iterable[tuple[str, str]]:
    """Yield the names and texts of a case that are recorded."""
    texts = {
        HISTORY: format_history(case.history) or None,
        QUESTION: case.question,
        ANSWER: case.answer,
        EXPECTED: case.expected_answer,
    }
    yield from ((name, cut_text(text)) for name, text in texts.items() if text is not None)
    for answer in (case.gold.answers if case.gold else None) or ():
        if answer != case.expected_answer:
            yield "Also accepted", cut_text(answer)


def _label_chunk(chunk: Chunk) -> Iterable[str]:
    yield from (part for part in (chunk.doc_id, chunk.repo, chunk.version) if part)
    if chunk.score is not None:
        yield f"score {chunk.score:.3g}"


def _build_claims(
    case: Case, verdicts: Mapping[tuple[str, str], list[VerdictView]]
) -> Iterable[tuple[str, tuple[ItemView, ...]]]:
    """Yield the title and the claims of each list of claims that is not empty."""
    for field, title in CLAIM_TITLES.items():
        if claims := list_items(field, case):
            yield title, tuple(_build_claim(claim, verdicts.get((field, claim.id), ())) for claim in claims)


def _build_claim(claim: Item, verdicts: Iterable[VerdictView]) -> ItemView:
    return ItemView(
        id=claim.id, labels=(), gold="", text=cut_text(format_item(claim)), triple=None, verdicts=tuple(verdicts)
    )


def _build_triples(
    triples: Iterable[Triple] | None, verdicts: Mapping[tuple[str, str], list[VerdictView]]
) -> Iterable[ItemView]:
    for triple in triples or ():
        yield ItemView(
            id=triple.id,
            labels=(),
            gold="",
            text=None,
            triple=(cut_text(triple.subject), cut_text(triple.predicate), cut_text(triple.object)),
            verdicts=tuple(verdicts.get(("triples", triple.id), ())),
        )
