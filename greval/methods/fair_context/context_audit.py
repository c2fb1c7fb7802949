"""The context audit: what context each method was given, and how the contexts of the methods differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from greval._util.arguments import require_iterable
from greval.judging.model.tokens import ESTIMATE_METHOD, TokenCounter, estimate_tokens
from greval.records.case import Case, sort_methods
from greval.records.record import Record

MAX_RATIO = 1.25
"""Mean sizes that differ by more than this factor are reported."""
MAX_SHARE_DIFFERENCE = 0.05
"""Differences above this are reported, between methods' shares of cases with a kind of context."""

KINDS = ("chunks", "triples", "aggregates")
SIZES = ("documents", "chunks", "triples", "characters", "tokens", "aggregates", "aggregate_tokens")


class SizeDistribution(Record):
    """The distribution of a size over the `cases` that record it: its mean, median and 95th percentile."""

    cases: int
    mean: float
    p50: float
    p95: float


class MethodContext(Record):
    """The contexts of one method; sizes are per case.

    `cases` counts the answered cases, `failed` those without a response. `with_chunks`, `with_triples` and
    `with_aggregates` count the cases with at least one such item. A size is None if no case records it. `characters`
    and `tokens` cover all texts of the context, `aggregate_tokens` the aggregates alone.
    """

    method: str
    cases: int
    failed: int
    with_chunks: int
    with_triples: int
    with_aggregates: int
    documents: SizeDistribution | None
    chunks: SizeDistribution | None
    triples: SizeDistribution | None
    characters: SizeDistribution | None
    tokens: SizeDistribution | None
    aggregates: SizeDistribution | None
    aggregate_tokens: SizeDistribution | None


class ContextAudit(Record):
    """The contexts of the methods, and a sentence for each difference between them.

    `tokens_how` says how tokens were counted.
    """

    methods: tuple[MethodContext, ...]
    differences: tuple[str, ...]
    tokens_how: str

    @property
    def alike(self) -> bool:
        """Return whether the methods were given the same kinds and sizes of context."""
        return not self.differences


@dataclass
class _MethodTally:
    """The figures of one method, accumulated over its cases."""

    ids: set[str] = field(default_factory=set)
    cases: int = 0
    failed: int = 0
    having: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    sizes: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SIZES})


def audit_contexts(cases: Iterable[Case], *, tokens: TokenCounter | None = None) -> ContextAudit:
    """Compare the contexts that the methods were given.

    Args:
        cases: The cases of one or several methods.
        tokens: The token counter. By default tokens are estimated.

    Returns:
        The figures of each method, in the order of their first case, and a sentence for each difference: kinds of
        context that one method has in more cases than another (by more than 5 percentage points), and mean sizes
        that differ by more than a factor of 1.25.

    Example:
        >>> found = audit_contexts([Case(question="Who?", method="a", chunks=["One."], aggregates=["x: 7"]),
        ...                Case(question="Who?", method="b", chunks=["Two."])])
        >>> found.differences[0]
        'a got aggregates in 1 of 1 cases, b in none: differences of answers may come from these'
    """
    require_iterable(cases, "cases", "read_cases('cases.jsonl')")
    count: Callable[[str], int] = tokens or estimate_tokens
    tallies: dict[str, _MethodTally] = defaultdict(_MethodTally)
    for case in cases:
        of = tallies[case.method]
        if case.error is not None:
            of.failed += 1
            continue
        of.ids.add(case.id)
        of.cases += 1
        for kind in KINDS:
            of.having[kind] += bool(getattr(case, kind))
        for name, size in _measure_sizes(case, count):
            of.sizes[name].append(size)
    ordered = {method: tallies[method] for method in sort_methods(tallies)}
    contexts = tuple(_summarise_method(method, tally) for method, tally in ordered.items())
    return ContextAudit(
        methods=contexts,
        differences=(
            *_report_case_differences(ordered),
            *_report_kind_differences(contexts),
            *_report_size_differences(contexts),
        ),
        tokens_how=tokens.how if tokens else ESTIMATE_METHOD,
    )


def _measure_sizes(case: Case, count: Callable[[str], int]) -> Iterator[tuple[str, float]]:
    """Iterate over the sizes that a case records."""
    if case.chunks is not None:
        yield "documents", len({chunk.doc_id or chunk.id for chunk in case.chunks})
        yield "chunks", len(case.chunks)
    if case.triples is not None:
        yield "triples", len(case.triples)
    if case.aggregates is not None:
        yield "aggregates", len(case.aggregates)
        yield "aggregate_tokens", sum(map(count, case.aggregates))
    texts = [chunk.text for chunk in case.chunks or () if chunk.text is not None]
    # A chunk without a text has an unknown size, which is not 0.
    is_whole = len(texts) == len(case.chunks or ())
    if is_whole and (case.chunks, case.triples, case.aggregates) != (None, None, None):
        texts += [f"{triple.subject} {triple.predicate} {triple.object}" for triple in case.triples or ()]
        texts += case.aggregates or ()
        yield "characters", sum(map(len, texts))
        yield "tokens", sum(map(count, texts))


def _summarise_method(method: str, tally: _MethodTally) -> MethodContext:
    spreads = {name: _summarise_sizes(sizes) for name, sizes in tally.sizes.items()}
    having = {f"with_{kind}": count for kind, count in tally.having.items()}
    return MethodContext(method=method, cases=tally.cases, failed=tally.failed, **having, **spreads)


def _summarise_sizes(sizes: Sequence[float]) -> SizeDistribution | None:
    if not sizes:
        return None
    import numpy as np

    p50, p95 = np.percentile(sizes, [50, 95])
    return SizeDistribution(cases=len(sizes), mean=float(np.mean(sizes)), p50=float(p50), p95=float(p95))


def _report_case_differences(tallies: dict[str, _MethodTally]) -> Iterator[str]:
    """Report that the methods did not answer the same cases, because then their means are not comparable."""
    common = set.intersection(*(of.ids for of in tallies.values())) if tallies else set()
    if any(of.ids != common for of in tallies.values()):
        counts = ", ".join(f"{_format_method_name(method)} {len(of.ids)}" for method, of in tallies.items())
        yield f"the methods did not answer the same questions ({counts}, all of them {len(common)}): compare these only"


def _report_kind_differences(contexts: Sequence[MethodContext]) -> Iterator[str]:
    """Report each kind of context that one method was given more often than another."""
    for kind in KINDS:
        shares = [(context, getattr(context, f"with_{kind}")) for context in contexts if context.cases]
        portions = [count / context.cases for context, count in shares]
        if portions and max(portions) - min(portions) > MAX_SHARE_DIFFERENCE:
            shares.sort(key=lambda share: -share[1] / share[0].cases)
            counts = [
                f"{_format_method_name(context.method)} in {f'{count} of {context.cases}' if count else 'none'}"
                for context, count in shares
            ]
            first, count = shares[0]
            other_counts = ", ".join(counts[1:])
            yield (
                f"{_format_method_name(first.method)} got {kind} in {count} of {first.cases} cases, {other_counts}: "
                "differences of answers may come from these"
            )


def _report_size_differences(contexts: Sequence[MethodContext]) -> Iterator[str]:
    """Report the sizes whose means differ by more than `MAX_RATIO`."""
    for name in ("documents", "chunks", "triples", "aggregates", "tokens"):
        means = [
            (context.method, spread.mean) for context in contexts if (spread := getattr(context, name)) and spread.mean
        ]
        if len(means) < 2:  # noqa: PLR2004 - a difference needs two methods
            continue
        means.sort(key=lambda pair: -pair[1])
        (most, high), (least, low) = means[0], means[-1]
        if high / low > MAX_RATIO:
            yield (
                f"{_format_method_name(most)} got {high:,.1f} {name} a case, {_format_method_name(least)} {low:,.1f} "
                f"({high / low:.1f} times as many): differences of answers may come from these"
            )


def _format_method_name(method: str) -> str:
    return method or "(no method)"
