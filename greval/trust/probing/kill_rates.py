"""Kill rates: compare each pair of verdicts with the relation that must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance

from greval.records.result import Judgement, Skipped
from greval.records.scale import JudgedScale
from greval.stats.interval import Measured, MeasuredValue, Undefined, wilson_interval
from greval.trust.agreement.rules import ItemNumbers
from greval.trust.probing.checks import ProbeCheck, VerdictRelation, compute_position, explain_unusable, is_satisfied
from greval.trust.probing.plan import (
    NO_VERDICT,
    NOT_YET,
    MutantPair,
    ProbePlan,
    ProbeVerdicts,
    ReferenceCases,
    VerdictKey,
    get_verdict_key,
)
from greval.trust.probing.records import JudgeNoise, ProbeCheckResult, SurvivingMutant

MIN_REPEATS = 2


@dataclass
class MutantTally:
    """The counts of one check's mutants, with the questions, the unused pairs and the survivors."""

    counts: Counter[str] = field(default_factory=Counter)
    questions: set[str] = field(default_factory=set)
    unused: Counter[str] = field(default_factory=Counter)
    survivors: list[SurvivingMutant] = field(default_factory=list)


def count_check(
    check: ProbeCheck,
    plan: ProbePlan,
    verdicts: ProbeVerdicts,
    scale: JudgedScale,
    numbers: Mapping[VerdictKey, ItemNumbers],
) -> tuple[ProbeCheckResult, tuple[SurvivingMutant, ...]]:
    """Count the mutants that a check caught, and return the figures and the mutants that were not caught.

    `numbers` are those of a rule of one line, which is tried on the same mutants.
    """
    tally = MutantTally(unused=Counter(plan.unused.get(check.name, {})))
    pairs = [pair for pair in plan.pairs if pair.check == check.name]
    for pair in pairs:
        _compare_pair(tally, pair, verdicts, scale, numbers)
    relations = dict.fromkeys(pair.relation.value for pair in pairs) or {check.relation.value: None}
    names = ("killed", "mutants", "better", "worse", "failed", "missing", "rule_killed", "rule_mutants")
    counts = {name: tally.counts[name] for name in names}
    questions = len(tally.questions)
    return ProbeCheckResult(
        name=check.name,
        holds="; ".join(relations),
        rate=compute_share(counts["killed"], counts["mutants"], questions, "no verdict could be used"),
        questions=questions,
        unused=dict(tally.unused),
        **counts,
    ), tuple(tally.survivors)


def compute_share(count: int, n: int, questions: int, why: str) -> Measured:
    """Compute a proportion with Wilson's interval; `why` is the reason of the undefined value if `n` is 0."""
    if not n:
        return Undefined(n=0, reason=why)
    together = wilson_interval(count / n, questions) if questions < n else None
    return MeasuredValue(value=count / n, n=n, interval=wilson_interval(count / n, n), clustered=together)


def measure_noise(bases: Sequence[ReferenceCases], verdicts: ProbeVerdicts, stages: Sequence[str]) -> JudgeNoise:
    """Measure how much the verdicts on the same unchanged cases differ between `stages`."""
    by_item: dict[tuple[str, str, str | None], list[Judgement]] = {}
    failed = 0
    for base in bases:
        for stage in stages:
            result = verdicts.get(get_verdict_key(base.original, stage))
            failed += len(result.failures) if result else 0
            for judgement in result.judgements if result else ():
                key = base.sample_id, base.original.method, judgement.item
                by_item.setdefault(key, []).append(judgement)
    repeated = {key: judgements for key, judgements in by_item.items() if len(judgements) >= MIN_REPEATS}
    flips = [
        1 - max(Counter(judgement.value for judgement in judgements).values()) / len(judgements)
        for judgements in repeated.values()
    ]
    numbers = [
        [judgement.number for judgement in judgements if judgement.number is not None]
        for judgements in repeated.values()
    ]
    variances = [variance(values) for values in numbers if len(values) >= MIN_REPEATS]
    questions = len({sample_id for sample_id, _, _ in repeated})
    return JudgeNoise(
        repeats=len(stages),
        things=len(repeated),
        unsteady=compute_share(sum(flip > 0 for flip in flips), len(flips), questions, "nothing was judged twice"),
        flip_rate=fmean(flips) if flips else None,
        sd=fmean(variances) ** 0.5 if variances else None,
        failed=failed,
    )


def _compare_pair(
    tally: MutantTally,
    pair: MutantPair,
    verdicts: ProbeVerdicts,
    scale: JudgedScale,
    numbers: Mapping[VerdictKey, ItemNumbers],
) -> None:
    """Compare each verdict on a mutant with the verdict on its reference."""
    reference, mutant = verdicts.get(pair.before), verdicts.get(pair.after)
    if reference is None or not reference.judgements:
        tally.unused[NO_VERDICT if reference else NOT_YET] += 1
        return
    skipped = mutant.outcome.reason if mutant and isinstance(mutant.outcome, Skipped) else None
    mutant_judgements = {judgement.item: judgement for judgement in mutant.judgements} if mutant else {}
    for judgement in reference.judgements:
        if why := explain_unusable(pair.relation, scale, judgement.value) or skipped:
            tally.unused[why] += 1
        elif judgement.item not in mutant_judgements:
            tally.counts["failed" if mutant and mutant.failures else "missing"] += 1
        else:
            mutant_judgement = mutant_judgements[judgement.item]
            tally.counts.update(_classify_verdict(tally, pair, judgement, mutant_judgement, scale))
            tally.questions.add(pair.sample_id)
            before, after = (numbers.get(key, {}).get(judgement.item) for key in (pair.before, pair.after))
            # a rule reads items one by one, so that their order cannot change it
            if before is not None and after is not None and pair.relation is not VerdictRelation.same:
                tally.counts["rule_mutants"] += 1
                is_caught = after <= before if pair.relation is VerdictRelation.not_better else after < before
                tally.counts["rule_killed"] += is_caught


def _classify_verdict(
    tally: MutantTally, pair: MutantPair, reference: Judgement, mutant: Judgement, scale: JudgedScale
) -> Iterator[str]:
    """Yield the counters that a verdict increments, and record a survivor if the mutant was not caught."""
    yield "mutants"
    old, new = (compute_position(scale, judgement.value) for judgement in (reference, mutant))
    if old is not None and new is not None and old != new:
        yield "better" if new > old else "worse"
    if is_satisfied(pair.relation, scale, reference.value, mutant.value):
        yield "killed"
        return
    tally.survivors.append(
        SurvivingMutant(
            check=pair.check,
            variant=pair.variant,
            sample_id=pair.sample_id,
            method=pair.after[2],
            item=reference.item,
            before=reference.value,
            after=mutant.value,
            reason=mutant.reason,
        )
    )
