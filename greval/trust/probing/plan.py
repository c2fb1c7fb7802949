"""The plan of a probe: the mutants to judge, and the pairs of verdicts to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.result import Result
from greval.records.scale import JudgedScale
from greval.runs.manifest import PROBE_TAG, PROBED_CASE_TAG
from greval.trust.probing.checks import MutationVariant, ProbeCheck, ReferenceName
from greval.trust.probing.mutations import find_foreign_case, find_target, swap_target
from greval.trust.probing.relations import Relation, explain_unusable

VerdictKey = tuple[str, str, str]
"""The key of a verdict: stage, sample id and method."""
ProbeVerdicts = Mapping[VerdictKey, Result]

MAIN = "."
"""The stage that logs to the run folder itself. Every other stage has a subfolder."""
OTHER_ORDER = "category-order"
NO_OTHER = "no other question to take something from"
NO_VERDICT = "no verdict before the change"
NOT_YET = "not judged yet: run the same command again to go on"
TWIN = "other question"


class ReferenceCases(NamedTuple):
    """A source case and its references: unchanged, and with another question's content in place of what is judged."""

    number: int
    sample_id: str
    references: dict[ReferenceName, Case]

    @property
    def original(self) -> Case:
        """The unchanged case."""
        return self.references["unchanged"]


class MutantPair(NamedTuple):
    """A mutant of the case `sample_id`, the keys of the two verdicts to compare, and the relation that must hold."""

    check: str
    variant: str
    sample_id: str
    relation: Relation
    before: VerdictKey
    after: VerdictKey


@dataclass
class ProbePlan:
    """The mutants to judge, the pairs to count, and by check the reasons of those that cannot be used."""

    cases: list[Case] = field(default_factory=list)
    pairs: list[MutantPair] = field(default_factory=list)
    unused: dict[str, Counter[str]] = field(default_factory=dict)

    def count_unused(self, check: str, reasons: Iterator[str]) -> None:
        """Count the reasons why verdicts cannot be used."""
        self.unused.setdefault(check, Counter()).update(reasons)


def build_references(
    cases: Sequence[Case], pool: Sequence[Case], metric: JudgedMetric, wanted: Sequence[ProbeCheck]
) -> list[ReferenceCases]:
    """Build the references of each case, which are judged before anything is planted.

    Args:
        cases: The cases to probe on.
        pool: The cases from which other content is taken.
        metric: The definition.
        wanted: The checks to make. Other content is included only if one of them uses it.
    """
    what = find_target(metric)
    wants_other = any(one.twin(metric) or "other" in one.on for one in wanted)
    found: list[ReferenceCases] = []
    for number, case in enumerate(cases):
        references: dict[ReferenceName, Case] = {"unchanged": tag_case(case, case.id, "unchanged")}
        if what and wants_other and (other := find_foreign_case(case, pool, what)):
            references["other"] = tag_case(swap_target(case, other, what), case.id, "other", "question")
        found.append(ReferenceCases(number, case.id, references))
    return found


def tag_case(case: Case, sample_id: str, probe: str, variant: str = "") -> Case:
    """Return a case with a unique id, and tags for its role and the case it comes from."""
    name = f"{sample_id}~{probe}-{variant}" if variant else sample_id
    tags = {**case.tags, PROBE_TAG: probe, PROBED_CASE_TAG: sample_id} | ({"variant": variant} if variant else {})
    return case.model_copy(update={"id": name, "tags": tags})


def plan_mutants(
    bases: Sequence[ReferenceCases],
    metric: JudgedMetric,
    wanted: Sequence[ProbeCheck],
    verdicts: ProbeVerdicts | None,
    *,
    mutants: int,
) -> ProbePlan:
    """Plan the mutants of all checks.

    Args:
        bases: The cases with their references.
        metric: The definition.
        wanted: The checks that apply to it.
        verdicts: The verdicts on the references. None treats all references as usable, before they are judged.
        mutants: The maximum number of variants per check and case. The first variant rotates between cases.
    """
    found = ProbePlan()
    for check in wanted:
        variants = [*check.variants(metric)]
        for base in bases:
            if check.reworded:
                before = get_verdict_key(base.original)
                found.pairs.append(
                    MutantPair(
                        check.name, "reversed", base.sample_id, check.relation, before, (OTHER_ORDER, *before[1:])
                    )
                )
            if check.twin(metric):
                _add_twin(found, check, base)
            if variants:
                start = base.number % len(variants)
                _add_mutants(
                    found, check, base, (*variants[start:], *variants[:start])[:mutants], metric.scale, verdicts
                )
    return found


def get_verdict_key(case: Case, stage: str = MAIN) -> VerdictKey:
    """Return the key of a case's verdict."""
    return stage, case.id, case.method


def _add_twin(found: ProbePlan, check: ProbeCheck, base: ReferenceCases) -> None:
    """Add the pair of the case with another question's content and the unchanged case."""
    other = base.references.get("other")
    if other is None:
        found.count_unused(check.name, iter((NO_OTHER,)))
        return
    found.pairs.append(
        MutantPair(
            check.name, TWIN, base.sample_id, Relation.bad, get_verdict_key(base.original), get_verdict_key(other)
        )
    )


def _add_mutants(
    found: ProbePlan,
    check: ProbeCheck,
    base: ReferenceCases,
    variants: Sequence[MutationVariant],
    scale: JudgedScale,
    verdicts: ProbeVerdicts | None,
) -> None:
    """Add mutants of the first usable reference."""
    case, reasons = _find_usable(check, base, scale, verdicts)
    if case is None:
        found.count_unused(check.name, iter(reasons))
        return
    for variant in variants:
        made = variant.make(case)
        if isinstance(made, str):
            found.count_unused(check.name, iter((made,)))
            continue
        mutant = tag_case(made, base.sample_id, check.name, variant.name.replace(" ", "-"))
        found.cases.append(mutant)
        found.pairs.append(
            MutantPair(
                check.name, variant.name, base.sample_id, check.relation, get_verdict_key(case), get_verdict_key(mutant)
            )
        )


def _find_usable(
    check: ProbeCheck, base: ReferenceCases, scale: JudgedScale, verdicts: ProbeVerdicts | None
) -> tuple[Case | None, list[str]]:
    """Return the first reference with a usable verdict, or else the reasons."""
    reasons = [NO_OTHER]
    for name in check.on:
        case = base.references.get(name)
        if case is None:
            continue
        if verdicts is None:
            return case, []
        before = verdicts.get(get_verdict_key(case))
        why = [explain_unusable(check.relation, scale, one.value) for one in before.judgements] if before else []
        if None in why:
            return case, []
        reasons = [one for one in why if one] or [NO_VERDICT if before else NOT_YET]
    return None, reasons
