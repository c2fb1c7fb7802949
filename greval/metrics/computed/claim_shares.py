"""Metrics computed from the verdicts on claims: precision, recall and what an answer took from its context.

The definitions are those of RAGChecker (Ru et al. 2024, NeurIPS Datasets and Benchmarks). A claim of the answer is
*correct* or not (`claim_correctness`) and *supported* by the context or not (`claim_support`). A claim of the expected
answer is *stated* by the answer or not (`expected_claim_coverage`) and *found* in the context or not
(`expected_claim_support`). A chunk or triple is *relevant* if it states an expected claim by itself. A verdict whose
number is 1 says yes, and any other number says no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from greval._util.wording import format_names
from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    format_cutoff,
)
from greval.records.case import Case
from greval.records.judgement_text import find_cited_items
from greval.records.metric import DerivedMetric, Verdicts
from greval.records.result import Judgement, Scored, Skipped
from greval.records.scale import Better

CORRECT, SUPPORTED = "claim_correctness", "claim_support"
STATED, FOUND = "expected_claim_coverage", "expected_claim_support"
SOURCES_NOTE = "supported_by"
"""The note that names the chunks and triples which state a claim by themselves."""
ANSWER, EXPECTED = "claims of the answer", "claims of the expected answer"

Source = tuple[str, str]
"""The kind of an item of the context, `chunk` or `triple`, and its id."""


class ClaimVerdict(NamedTuple):
    """Whether a claim holds, and the items of the context that state it by themselves if it does."""

    holds: bool
    sources: frozenset[Source]


ClaimTable = Mapping[str, ClaimVerdict]
"""The verdicts of a metric on claims, by their ids."""


Count = Callable[[Mapping[str, ClaimTable], Case, MetricSetting], JudgementsOrSkipped]


def _judge_share(counted: Sequence[str], total: int, noun: str, what: str) -> tuple[Judgement, ...]:
    listing = f": {format_names(counted)}" if counted else ""
    return build_judgement(len(counted) / total, f"{len(counted):,} of {total:,} {noun} {what}{listing}")


def read_claim_table(outcome: Scored) -> dict[str, ClaimVerdict]:
    """Return the verdicts on claims by their ids.

    Example:
        >>> judgement = Judgement(value="Supported", number=1, item="a1", reason="r", shown_ids={"chunk": ("c4", "c7")},
        ...                       notes={"supported_by": [{"source": "chunk 2"}]})
        >>> read_claim_table(Scored(judgements=(judgement,)))
        {'a1': ClaimVerdict(holds=True, sources=frozenset({('chunk', 'c7')}))}
    """
    return {judgement.item or "": _read_verdict(judgement) for judgement in outcome.judgements}


def _read_verdict(judgement: Judgement) -> ClaimVerdict:
    holds = judgement.number == 1
    # A claim that does not hold has no sources, whatever the judge noted.
    cited = find_cited_items(judgement.notes.get(SOURCES_NOTE), judgement.shown_ids) if holds else {}
    return ClaimVerdict(holds, frozenset((words.split()[0], name) for words, name in cited.items()))


def _select_holding(table: ClaimTable) -> tuple[str, ...]:
    return tuple(claim for claim, verdict in table.items() if verdict.holds)


def _list_relevant(table: ClaimTable) -> frozenset[Source]:
    """Return the items of the context that state an expected claim by themselves."""
    return frozenset().union(*(verdict.sources for verdict in table.values()))


def _count_holding(metric: str, noun: str, what: str) -> Count:
    """Build a function that counts the claims that hold by one metric."""

    def count(tables: Mapping[str, ClaimTable], _: Case, __: MetricSetting) -> JudgementsOrSkipped:
        table = tables[metric]
        return _judge_share(_select_holding(table), len(table), noun, what)

    return count


def _count_answer_claims(what: str, counts: Callable[[bool, ClaimVerdict, frozenset[Source]], bool]) -> Count:
    """Build a function that counts the claims of the answer for which `counts` is true.

    It is given whether the claim is correct, the verdict on its support, and the relevant items of the context.
    """

    def count(tables: Mapping[str, ClaimTable], _: Case, __: MetricSetting) -> JudgementsOrSkipped:
        correct, supported = tables[CORRECT], tables[SUPPORTED]
        # Only the two noise sensitivities build on FOUND; the other shares do not ask which items are relevant.
        relevant = _list_relevant(tables.get(FOUND, {}))
        chosen = (claim for claim, verdict in correct.items() if counts(verdict.holds, supported[claim], relevant))
        return _judge_share(tuple(chosen), len(correct), ANSWER, what)

    return count


def _count_found_claims(tables: Mapping[str, ClaimTable], case: Case, setting: MetricSetting) -> JudgementsOrSkipped:
    """Count the expected claims that the context supports, or that one of the first k chunks states by itself."""
    table, what = tables[FOUND], "supported by the context"
    if setting.k is None:
        return _judge_share(_select_holding(table), len(table), EXPECTED, what)
    if case.chunks is None:
        return Skipped(reason="chunks is not recorded")
    first = {("chunk", chunk.id) for chunk in case.chunks[: setting.k]}
    chosen = tuple(claim for claim, verdict in table.items() if verdict.sources & first)
    return _judge_share(chosen, len(table), EXPECTED, f"stated by a chunk {format_cutoff(setting.k)}")


def _count_relevant_chunks(tables: Mapping[str, ClaimTable], case: Case, _: MetricSetting) -> JudgementsOrSkipped:
    """Count the chunks that state an expected claim by themselves."""
    ids = tuple(dict.fromkeys(chunk.id for chunk in case.chunks or ()))
    if not ids:
        return Skipped(reason="there are no chunks")
    relevant = _list_relevant(tables[FOUND])
    return _judge_share(
        tuple(name for name in ids if ("chunk", name) in relevant), len(ids), "chunks", "state an expected claim"
    )


def _count_used_claims(tables: Mapping[str, ClaimTable], _: Case, __: MetricSetting) -> JudgementsOrSkipped:
    """Count the expected claims that the answer states, of those that the context supports."""
    supported = _select_holding(tables[FOUND])
    if not supported:
        return Skipped(reason="the context supports no expected claim")
    used = tuple(claim for claim in supported if tables[STATED][claim].holds)
    return _judge_share(used, len(supported), f"{EXPECTED} in the context", "stated by the answer")


def _compute_f1(tables: Mapping[str, ClaimTable], _: Case, __: MetricSetting) -> JudgementsOrSkipped:
    """Compute the harmonic mean of precision and recall."""
    precision, recall = (len(_select_holding(table)) / len(table) for table in (tables[CORRECT], tables[STATED]))
    # Both are 0 if no claim holds; their harmonic mean is then 0 by convention.
    value = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return build_judgement(value, f"precision {precision:.3g}, recall {recall:.3g}")


def _read_tables(verdicts: Verdicts, names: Iterable[str]) -> dict[str, ClaimTable] | Skipped:
    """Return the tables of some metrics, or why a figure of them is undefined."""
    tables: dict[str, ClaimTable] = {}
    for name in names:
        outcome = verdicts[name]
        if isinstance(outcome, Skipped):
            return Skipped(reason=f"{name} is skipped: {outcome.reason}")
        tables[name] = read_claim_table(outcome)
    for first, second in ((CORRECT, SUPPORTED), (STATED, FOUND)):
        # A share over two lists of claims would combine verdicts on different sentences.
        if first in tables and second in tables and tables[first].keys() != tables[second].keys():
            return Skipped(reason=f"{first} and {second} judged different claims")
    return tables


def _build_family(
    name: str,
    description: str,
    built_on: tuple[str, ...],
    count: Count,
    *,
    better: Better = "higher",
    ranked: bool = False,
) -> MetricFamily:
    """Build the metric family of a share; a `ranked` one has a cut-off."""

    def make(name: str, setting: MetricSetting) -> DerivedMetric:
        def compute(case: Case, verdicts: Verdicts) -> JudgementsOrSkipped:
            tables = _read_tables(verdicts, built_on)
            return tables if isinstance(tables, Skipped) else count(tables, case, setting)

        where = f" One of the first {setting.k:,} chunks must state the claim by itself." if setting.k else ""
        return DerivedMetric(
            name=name,
            description=f"{description}{where}",
            built_on=built_on,
            # Only these two read the chunks of the case; the others read verdicts alone.
            optional=("chunks",) if count in {_count_found_claims, _count_relevant_chunks} else (),
            scale=build_share_scale(better),
            compute=compute,
        )

    return MetricFamily(name, make, at="cutoff" if ranked else "")


FAMILIES = (
    _build_family(
        "claim_precision",
        "The share of the answer's claims that are correct.",
        (CORRECT,),
        _count_holding(CORRECT, ANSWER, "correct"),
    ),
    _build_family(
        "claim_recall",
        "The share of the expected claims that the answer states.",
        (STATED,),
        _count_holding(STATED, EXPECTED, "stated by the answer"),
    ),
    _build_family(
        "claim_f1",
        "The harmonic mean of claim_precision and claim_recall.",
        (CORRECT, STATED),
        _compute_f1,
    ),
    _build_family(
        "context_claim_recall",
        "The share of the expected claims that the context supports.",
        (FOUND,),
        _count_found_claims,
        ranked=True,
    ),
    _build_family(
        "context_claim_precision",
        "The share of the chunks that state an expected claim by themselves.",
        (FOUND,),
        _count_relevant_chunks,
    ),
    _build_family(
        "claim_faithfulness",
        "The share of the answer's claims that the context supports.",
        (SUPPORTED,),
        _count_holding(SUPPORTED, ANSWER, "supported by the context"),
    ),
    _build_family(
        "hallucination",
        "The share of the answer's claims that are not correct and not supported by the context.",
        (CORRECT, SUPPORTED),
        _count_answer_claims(
            "not correct and not supported", lambda correct, support, _: not correct and not support.holds
        ),
        better="lower",
    ),
    _build_family(
        "self_knowledge",
        "The share of the answer's claims that are correct, although the context does not support them.",
        (CORRECT, SUPPORTED),
        _count_answer_claims("correct but not supported", lambda correct, support, _: correct and not support.holds),
        better="lower",
    ),
    _build_family(
        "relevant_noise_sensitivity",
        "The share of the answer's claims that are not correct, and that a relevant chunk or triple states.",
        (CORRECT, SUPPORTED, FOUND),
        _count_answer_claims(
            "not correct, but stated by a relevant item",
            lambda correct, support, relevant: not correct and support.holds and bool(support.sources & relevant),
        ),
        better="lower",
    ),
    _build_family(
        "irrelevant_noise_sensitivity",
        "The share of the answer's claims that are not correct, and that only irrelevant parts of the context support.",
        (CORRECT, SUPPORTED, FOUND),
        _count_answer_claims(
            "not correct, but supported by irrelevant items",
            lambda correct, support, relevant: not correct and support.holds and not support.sources & relevant,
        ),
        better="lower",
    ),
    _build_family(
        "context_utilisation",
        "The share of the expected claims in the context that the answer states.",
        (FOUND, STATED),
        _count_used_claims,
    ),
)
"""The families of metrics computed from the verdicts on claims."""
