"""The plan of a probe: the source cases, the references and mutants to judge, and the pairs of verdicts to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

from greval.datasets.case_records import CaseRecords, read_case, read_records
from greval.errors import DataError
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import explain_missing_needs
from greval.records.result import Result
from greval.records.scale import JudgedScale
from greval.runs.manifest import PROBE_TAG, PROBED_CASE_TAG
from greval.trust.probing.checks import MutationVariant, ProbeCheck, ReferenceName, VerdictRelation, explain_unusable
from greval.trust.probing.mutations import find_foreign_case, find_target, swap_target

VerdictKey = tuple[str, str, str]
"""The key of a verdict: stage, sample id and method."""
ProbeVerdicts = Mapping[VerdictKey, Result]

MIN_POOL = 200
"""The minimum number of cases to read, so that foreign content is found among them."""
MAIN = "."
"""The stage that logs to the run folder itself. Every other stage has a subfolder."""
OTHER_ORDER = "category-order"
NO_ANSWER = "The documents do not say."
NO_RESPONSE = "its method gave no response"
NO_OTHER = "there is no other question to take content from"
NO_VERDICT = "no verdict before the change"
NOT_YET = "not judged yet: run the same command again to go on"
TWIN = "other question"


@dataclass
class SourceCases:
    """The cases to probe on, all cases read, the reasons of those left out, and the rows that are not valid cases."""

    cases: list[Case] = field(default_factory=list)
    pool: list[Case] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)


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
    relation: VerdictRelation
    before: VerdictKey
    after: VerdictKey


@dataclass
class ProbePlan:
    """The mutants to judge, the pairs to count, and by check the reasons of those that cannot be used."""

    cases: list[Case] = field(default_factory=list)
    pairs: list[MutantPair] = field(default_factory=list)
    unused: dict[str, Counter[str]] = field(default_factory=dict)

    def count_unused(self, check: str, *reasons: str) -> None:
        """Count the reasons why verdicts cannot be used."""
        self.unused.setdefault(check, Counter()).update(reasons)


def read_source_cases(records: CaseRecords, metric: JudgedMetric, limit: int) -> SourceCases:
    """Read cases and select the first `limit` that the metric is defined for."""
    source = SourceCases()
    for row in islice(read_records(records), max(limit, MIN_POOL)):
        try:
            case = read_case(row)
        except DataError as error:
            source.unread.append(str(error))
            continue
        reason = NO_RESPONSE if case.error is not None else explain_missing_needs(metric, case)
        if reason is None:
            source.pool.append(case)
        if len(source.cases) < limit:
            if reason is None:
                source.cases.append(case)
            else:
                source.left_out[reason] += 1
    return source


def iter_demo_cases() -> Iterator[Case]:
    """Yield one shipped case of each question whose answer is correct and supported by its chunks and triples."""
    ids: set[str] = set()
    for line in (files("greval") / "demo" / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = Case.model_validate_json(line)
        supported = case.tags["human_correct"] == "yes" and case.triples and case.expected_answer != NO_ANSWER
        if supported and case.id not in ids:
            ids.add(case.id)
            yield case


def build_references(
    cases: Sequence[Case], pool: Sequence[Case], metric: JudgedMetric, checks: Sequence[ProbeCheck]
) -> list[ReferenceCases]:
    """Build the references of each case, which are judged before anything is planted.

    Content of other questions comes from the `pool`. It is included only if one of the checks uses it.
    """
    target = find_target(metric)
    wants_other = any(check.twin(metric) or "other" in check.on for check in checks)
    bases: list[ReferenceCases] = []
    for number, case in enumerate(cases):
        references: dict[ReferenceName, Case] = {"unchanged": tag_case(case, case.id, "unchanged")}
        if target and wants_other and (foreign := find_foreign_case(case, pool, target)):
            references["other"] = tag_case(swap_target(case, foreign, target), case.id, "other", "question")
        bases.append(ReferenceCases(number, case.id, references))
    return bases


def tag_case(case: Case, sample_id: str, probe: str, variant: str = "") -> Case:
    """Return a case with a unique id, and tags for its role and the case it comes from."""
    name = f"{sample_id}~{probe}-{variant}" if variant else sample_id
    tags = {**case.tags, PROBE_TAG: probe, PROBED_CASE_TAG: sample_id} | ({"variant": variant} if variant else {})
    return case.model_copy(update={"id": name, "tags": tags})


def plan_mutants(
    bases: Sequence[ReferenceCases],
    metric: JudgedMetric,
    checks: Sequence[ProbeCheck],
    verdicts: ProbeVerdicts | None,
    *,
    mutants: int,
) -> ProbePlan:
    """Plan at most `mutants` variants per check and case, of which the first rotates between cases.

    `verdicts` are those on the references. None treats all references as usable, before they are judged.
    """
    plan = ProbePlan()
    for check in checks:
        variants = [*check.variants(metric)]
        for base in bases:
            reference_key = get_verdict_key(base.original)
            if check.reworded:
                keys = reference_key, (OTHER_ORDER, *reference_key[1:])
                plan.pairs.append(MutantPair(check.name, "reversed", base.sample_id, check.relation, *keys))
            if check.twin(metric):
                if foreign := base.references.get("other"):
                    keys = reference_key, get_verdict_key(foreign)
                    plan.pairs.append(MutantPair(check.name, TWIN, base.sample_id, VerdictRelation.bad, *keys))
                else:
                    plan.count_unused(check.name, NO_OTHER)
            if variants:
                # The first variant rotates, so that few mutants for each case still cover all variants.
                start = base.number % len(variants)
                chosen = (*variants[start:], *variants[:start])[:mutants]
                _add_mutants(plan, check, base, chosen, metric.scale, verdicts)
    return plan


def get_verdict_key(case: Case, stage: str = MAIN) -> VerdictKey:
    """Return the key of a case's verdict."""
    return stage, case.id, case.method


def _add_mutants(
    plan: ProbePlan,
    check: ProbeCheck,
    base: ReferenceCases,
    variants: Sequence[MutationVariant],
    scale: JudgedScale,
    verdicts: ProbeVerdicts | None,
) -> None:
    """Add mutants of the first usable reference."""
    case, reasons = _find_usable(check, base, scale, verdicts)
    if case is None:
        plan.count_unused(check.name, *reasons)
        return
    for variant in variants:
        mutant = variant.make(case)
        if isinstance(mutant, str):
            plan.count_unused(check.name, mutant)
            continue
        mutant = tag_case(mutant, base.sample_id, check.name, variant.name.replace(" ", "-"))
        plan.cases.append(mutant)
        keys = get_verdict_key(case), get_verdict_key(mutant)
        plan.pairs.append(MutantPair(check.name, variant.name, base.sample_id, check.relation, *keys))


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
        result = verdicts.get(get_verdict_key(case))
        why = (
            [explain_unusable(check.relation, scale, judgement.value) for judgement in result.judgements]
            if result
            else []
        )
        if None in why:
            return case, []
        reasons = [reason for reason in why if reason] or [NO_VERDICT if result else NOT_YET]
    return None, reasons
