"""Kill rates: compare each pair of verdicts with the relation that must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance

from greval.records.result import Judgement, Result, Skipped
from greval.records.scale import JudgedScale
from greval.stats.interval import wilson_interval
from greval.stats.measured import Measured, MeasuredValue, Undefined
from greval.trust.probing.checks import ProbeCheck
from greval.trust.probing.plan import (
    NO_VERDICT,
    NOT_YET,
    MutantPair,
    ProbePlan,
    ProbeVerdicts,
    ReferenceCases,
    get_verdict_key,
)
from greval.trust.probing.records import JudgeNoise, ProbeCheckResult, SurvivingMutant
from greval.trust.probing.relations import compute_position, explain_unusable, is_satisfied

MIN_REPEATS = 2


@dataclass
class MutantTally:
    """The counts of one check's mutants, with the questions, the unused pairs and the survivors."""

    counts: Counter[str] = field(default_factory=Counter)
    questions: set[str] = field(default_factory=set)
    unused: Counter[str] = field(default_factory=Counter)
    survivors: list[SurvivingMutant] = field(default_factory=list)


def count_check(
    check: ProbeCheck, plan: ProbePlan, verdicts: ProbeVerdicts, scale: JudgedScale
) -> tuple[ProbeCheckResult, tuple[SurvivingMutant, ...]]:
    """Count the mutants that a check caught.

    Args:
        check: The check.
        plan: The pairs, and the counts of those that cannot be used.
        verdicts: All verdicts.
        scale: The metric's scale.

    Returns:
        The figures, and the mutants that were not caught.
    """
    found = MutantTally(unused=Counter(plan.unused.get(check.name, {})))
    pairs = [pair for pair in plan.pairs if pair.check == check.name]
    for pair in pairs:
        _compare_pair(found, pair, verdicts, scale)
    relations = dict.fromkeys(pair.relation.value for pair in pairs) or {check.relation.value: None}
    counts, n = found.counts, found.counts["mutants"]
    return ProbeCheckResult(
        name=check.name,
        holds="; ".join(relations),
        rate=compute_share(counts["killed"], n, len(found.questions), "no verdict could be used"),
        killed=counts["killed"],
        mutants=n,
        questions=len(found.questions),
        better=counts["better"],
        worse=counts["worse"],
        failed=counts["failed"],
        missing=counts["missing"],
        unused=dict(found.unused),
    ), tuple(found.survivors)


def compute_share(count: int, n: int, questions: int, why: str) -> Measured:
    """Compute a proportion with Wilson's interval.

    If there are fewer questions than observations, `clustered` is a second, more careful interval for which
    only questions count.

    Args:
        count: The number of successes.
        n: The number of observations.
        questions: The number of questions they belong to.
        why: The reason of the undefined value if `n` is 0.

    Example:
        >>> compute_share(3, 4, 4, "nothing").value
        0.75
    """
    if not n:
        return Undefined(n=0, reason=why)
    together = wilson_interval(count / n, questions) if questions < n else None
    return MeasuredValue(value=count / n, n=n, interval=wilson_interval(count / n, n), clustered=together)


def measure_noise(bases: Sequence[ReferenceCases], verdicts: ProbeVerdicts, stages: Sequence[str]) -> JudgeNoise:
    """Measure how much repeated verdicts on the same cases differ.

    Args:
        bases: The cases.
        verdicts: All verdicts.
        stages: The stages that judged the unchanged cases.
    """
    things: dict[tuple[str, str, str | None], list[Judgement]] = {}
    failed = 0
    for base in bases:
        for stage in stages:
            result = verdicts.get(get_verdict_key(base.original, stage))
            failed += len(result.failures) if result else 0
            for one in result.judgements if result else ():
                things.setdefault((base.sample_id, base.original.method, one.item), []).append(one)
    several = {thing: given for thing, given in things.items() if len(given) >= MIN_REPEATS}
    flips = [1 - max(Counter(one.value for one in given).values()) / len(given) for given in several.values()]
    numbers = [[one.number for one in given if one.number is not None] for given in several.values()]
    spreads = [variance(given) for given in numbers if len(given) >= MIN_REPEATS]
    questions = len({thing[0] for thing in several})
    return JudgeNoise(
        repeats=len(stages),
        things=len(several),
        unsteady=compute_share(sum(flip > 0 for flip in flips), len(flips), questions, "nothing was judged twice"),
        flip_rate=fmean(flips) if flips else None,
        sd=fmean(spreads) ** 0.5 if spreads else None,
        failed=failed,
    )


def count_failures(results: Iterable[Result]) -> dict[str, int]:
    """Count the failed verdicts by kind."""
    return dict(Counter(failure.kind for result in results for failure in result.failures))


def _compare_pair(found: MutantTally, pair: MutantPair, verdicts: ProbeVerdicts, scale: JudgedScale) -> None:
    """Compare each verdict on a mutant with the verdict on its reference."""
    before, after = verdicts.get(pair.before), verdicts.get(pair.after)
    if before is None or not before.judgements:
        found.unused[NO_VERDICT if before else NOT_YET] += 1
        return
    now = {one.item: one for one in after.judgements} if after else {}
    for one in before.judgements:
        if why := explain_unusable(pair.relation, scale, one.value) or _get_skip_reason(after):
            found.unused[why] += 1
        elif one.item not in now:
            found.counts["failed" if after and after.failures else "missing"] += 1
        else:
            found.counts.update(_classify_verdict(found, pair, one, now[one.item], scale))
            found.questions.add(pair.sample_id)


def _classify_verdict(
    found: MutantTally, pair: MutantPair, before: Judgement, after: Judgement, scale: JudgedScale
) -> Iterator[str]:
    """Yield the counters that a verdict increments, and record a survivor if the mutant was not caught."""
    yield "mutants"
    old, new = (compute_position(scale, one.value) for one in (before, after))
    if old is not None and new is not None and old != new:
        yield "better" if new > old else "worse"
    if is_satisfied(pair.relation, scale, before.value, after.value):
        yield "killed"
        return
    found.survivors.append(
        SurvivingMutant(
            check=pair.check,
            variant=pair.variant,
            sample_id=pair.sample_id,
            method=pair.after[2],
            item=before.item,
            before=before.value,
            after=after.value,
            reason=after.reason,
        )
    )


def _get_skip_reason(after: Result | None) -> str | None:
    return after.outcome.reason if after and isinstance(after.outcome, Skipped) else None
