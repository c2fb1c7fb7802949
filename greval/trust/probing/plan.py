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
from greval.runs.manifest import OF, PROBE
from greval.trust.probing.expected_order import Relation, useless
from greval.trust.probing.mutations import Check, Reference, Variant
from greval.trust.probing.targets import foreign, swapped, target

Key = tuple[str, str, str]
"""The key of a verdict: stage, sample id and method."""
Verdicts = Mapping[Key, Result]

MAIN = "."
"""The stage that logs to the run folder itself. Every other stage has a subfolder."""
OTHER_ORDER = "category-order"
NO_OTHER = "no other question to take something from"
NO_VERDICT = "no verdict before the change"
NOT_YET = "not judged yet: run the same command again to go on"
TWIN = "other question"


class Base(NamedTuple):
    """A source case and its references: unchanged, and with another question's content in place of what is judged."""

    number: int
    sample_id: str
    references: dict[Reference, Case]

    @property
    def unchanged(self) -> Case:
        """The unchanged case."""
        return self.references["unchanged"]


class Pair(NamedTuple):
    """A mutant of the case `sample_id`, the keys of the two verdicts to compare, and the relation that must hold."""

    check: str
    variant: str
    of: str
    relation: Relation
    before: Key
    after: Key


@dataclass
class Plan:
    """The mutants to judge, the pairs to count, and by check the reasons of those that cannot be used."""

    cases: list[Case] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    unused: dict[str, Counter[str]] = field(default_factory=dict)

    def leave(self, check: str, reasons: Iterator[str]) -> None:
        """Count the reasons why verdicts cannot be used."""
        self.unused.setdefault(check, Counter()).update(reasons)


def named_bases(
    cases: Sequence[Case], pool: Sequence[Case], metric: JudgedMetric, wanted: Sequence[Check]
) -> list[Base]:
    """Build the references of each case, which are judged before anything is planted.

    Args:
        cases: The cases to probe on.
        pool: The cases from which other content is taken.
        metric: The definition.
        wanted: The checks to make. Other content is included only if one of them uses it.
    """
    what = target(metric)
    wants_other = any(one.twin(metric) or "other" in one.on for one in wanted)
    found: list[Base] = []
    for number, case in enumerate(cases):
        references: dict[Reference, Case] = {"unchanged": marked(case, case.id, "unchanged")}
        if what and wants_other and (other := foreign(case, pool, what)):
            references["other"] = marked(swapped(case, other, what), case.id, "other", "question")
        found.append(Base(number, case.id, references))
    return found


def marked(case: Case, of: str, probe: str, variant: str = "") -> Case:
    """Return a case with a unique id, and tags for its role and the case it comes from."""
    name = f"{of}~{probe}-{variant}" if variant else of
    tags = {**case.tags, PROBE: probe, OF: of} | ({"variant": variant} if variant else {})
    return case.model_copy(update={"id": name, "tags": tags})


def plan(
    bases: Sequence[Base], metric: JudgedMetric, wanted: Sequence[Check], verdicts: Verdicts | None, *, mutants: int
) -> Plan:
    """Plan the mutants of all checks.

    Args:
        bases: The cases with their references.
        metric: The definition.
        wanted: The checks that apply to it.
        verdicts: The verdicts on the references. None treats all references as usable, before they are judged.
        mutants: The maximum number of variants per check and case. The first variant rotates between cases.
    """
    found = Plan()
    for check in wanted:
        variants = [*check.variants(metric)]
        for base in bases:
            if check.reworded:
                before = key(base.unchanged)
                found.pairs.append(
                    Pair(check.name, "reversed", base.sample_id, check.relation, before, (OTHER_ORDER, *before[1:]))
                )
            if check.twin(metric):
                _hold_twin(found, check, base)
            if variants:
                start = base.number % len(variants)
                _change(found, check, base, (*variants[start:], *variants[:start])[:mutants], metric.scale, verdicts)
    return found


def key(case: Case, stage: str = MAIN) -> Key:
    """Return the key of a case's verdict."""
    return stage, case.id, case.method


def _hold_twin(found: Plan, check: Check, base: Base) -> None:
    """Add the pair of the case with another question's content and the unchanged case."""
    other = base.references.get("other")
    if other is None:
        found.leave(check.name, iter((NO_OTHER,)))
        return
    found.pairs.append(Pair(check.name, TWIN, base.sample_id, Relation.bad, key(base.unchanged), key(other)))


def _change(
    found: Plan,
    check: Check,
    base: Base,
    variants: Sequence[Variant],
    scale: JudgedScale,
    verdicts: Verdicts | None,
) -> None:
    """Add mutants of the first usable reference."""
    case, reasons = _usable(check, base, scale, verdicts)
    if case is None:
        found.leave(check.name, iter(reasons))
        return
    for variant in variants:
        made = variant.make(case)
        if isinstance(made, str):
            found.leave(check.name, iter((made,)))
            continue
        mutant = marked(made, base.sample_id, check.name, variant.name.replace(" ", "-"))
        found.cases.append(mutant)
        found.pairs.append(Pair(check.name, variant.name, base.sample_id, check.relation, key(case), key(mutant)))


def _usable(check: Check, base: Base, scale: JudgedScale, verdicts: Verdicts | None) -> tuple[Case | None, list[str]]:
    """Return the first reference with a usable verdict, or else the reasons."""
    reasons = [NO_OTHER]
    for name in check.on:
        case = base.references.get(name)
        if case is None:
            continue
        if verdicts is None:
            return case, []
        before = verdicts.get(key(case))
        why = [useless(check.relation, scale, one.value) for one in before.judgements] if before else []
        if None in why:
            return case, []
        reasons = [one for one in why if one] or [NO_VERDICT if before else NOT_YET]
    return None, reasons
