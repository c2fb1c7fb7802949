"""Sampling of the items to annotate, with known inclusion probabilities.

The weight of an item is the inverse of its inclusion probability. Without weights, figures of a sample
with more uncertain items would be biased.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field

from greval.errors import ArgillaArgumentError
from greval.records.record import Record
from greval.trust.argilla.ledger import Ledger, LedgerEntry
from greval.trust.argilla.record_items import RecordItem

MIN_UNCERTAINTY = 0.05
"""The minimum uncertainty of an item, so that items with certain verdicts are drawn as well."""


class SampleCandidate(NamedTuple):
    """An item that can be drawn."""

    key: str
    value: str
    uncertainty: float | None


class SampleWeight(NamedTuple):
    """The weight of a drawn item, which is the inverse of its inclusion probability, and its stratum."""

    weight: float = 1.0
    stratum: str | None = None


class SamplingPlan(Record):
    """The sample size and method: simple random, stratified by verdict, or proportional to uncertainty."""

    kind: Literal["random", "stratified", "uncertain"]
    size: Annotated[int, Field(ge=1)]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `random:200`, `stratified:200` or `uncertain:200`.

        Raises:
            ArgillaError: If the text has another form.

        Example:
            >>> SamplingPlan.parse("random:200")
            SamplingPlan(kind='random', size=200)
        """
        match = re.fullmatch(r"(random|stratified|uncertain):([1-9]\d{0,8})", text.strip())
        if not match:
            raise ArgillaArgumentError("sample", f"write random:200, stratified:200 or uncertain:200, got {text}")
        return cls.model_validate({"kind": match[1], "size": int(match[2])})

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}"

    def check(self, candidates: Sequence[SampleCandidate]) -> None:
        """Raise `ArgillaError` if the method is `uncertain` and no candidate has an uncertainty."""
        if self.kind == "uncertain" and all(candidate.uncertainty is None for candidate in candidates):
            reason = "uncertain needs the certainty of the judge, which the run does not record"
            hint = "judge with confidence or 3 repeats, or draw with random or stratified"
            raise ArgillaArgumentError("sample", f"{reason}; {hint}")

    def draw(self, candidates: Sequence[SampleCandidate], seed: int) -> dict[str, SampleWeight]:
        """Draw a sample and return the weights by key. The order of the candidates does not matter."""
        ordered = sorted(candidates)
        chance = Random(seed)  # noqa: S311 - a sample, no secret
        chance.shuffle(ordered)
        if not ordered:
            return {}
        self.check(ordered)
        if self.kind == "random":
            return _draw_simple(ordered, self.size, None)
        if self.kind == "stratified":
            return _draw_stratified(ordered, self.size)
        return _draw_uncertain(ordered, self.size, chance)


def _draw_simple(shuffled: Sequence[SampleCandidate], size: int, stratum: str | None) -> dict[str, SampleWeight]:
    """Draw the first `size` items of a shuffled list."""
    size = min(size, len(shuffled))
    return {candidate.key: SampleWeight(len(shuffled) / size, stratum) for candidate in shuffled[:size]}


def _draw_stratified(shuffled: Sequence[SampleCandidate], size: int) -> dict[str, SampleWeight]:
    """Draw equally many items of each value. The unused share of a small stratum goes to the larger ones."""
    parts: dict[str, list[SampleCandidate]] = defaultdict(list)
    for candidate in shuffled:
        parts[candidate.value].append(candidate)
    weights: dict[str, SampleWeight] = {}
    remaining = max(size, len(parts))
    # From the smallest stratum to the largest: what one does not use is left for those that follow.
    for index, (value, part) in enumerate(sorted(parts.items(), key=lambda entry: (len(entry[1]), entry[0]))):
        share = min(len(part), remaining // (len(parts) - index))
        weights |= _draw_simple(part, share, value)
        remaining -= share
    return weights


def _draw_uncertain(shuffled: Sequence[SampleCandidate], size: int, chance: Random) -> dict[str, SampleWeight]:
    """Draw `size` items with probabilities that increase with their uncertainty (systematic sampling)."""
    uncertainties = [candidate.uncertainty for candidate in shuffled if candidate.uncertainty is not None]
    # Items whose uncertainty is not known are as likely to be drawn as the median one.
    middle = sorted(uncertainties)[len(uncertainties) // 2]
    sizes = {
        candidate.key: max(MIN_UNCERTAINTY, middle if candidate.uncertainty is None else candidate.uncertainty)
        for candidate in shuffled
    }
    chances = _compute_chances(sizes, min(size, len(shuffled)))
    weights, passed, mark = {}, 0.0, chance.random()
    for key, share in chances.items():
        passed += share
        # An item with a share of 1 is always drawn, whatever rounding does to the sum.
        if passed > mark or share >= 1:
            weights[key] = SampleWeight(1 / share)
            mark += 1
    return weights


def _compute_chances(sizes: Mapping[str, float], count: int) -> dict[str, float]:
    """Compute inclusion probabilities in proportion to sizes. They sum to `count`, and none exceeds 1."""
    sure: set[str] = set()
    while True:
        total = sum(size for key, size in sizes.items() if key not in sure)
        scale = (count - len(sure)) / total if total else 0.0
        more = {key for key, size in sizes.items() if key not in sure and size * scale >= 1}
        if not more:
            return {key: 1.0 if key in sure else size * scale for key, size in sizes.items()}
        sure |= more


def build_candidate(item: RecordItem) -> SampleCandidate:
    """Return what sampling needs to know of a judged item."""
    return SampleCandidate(item.place.hash_key(), str(item.judgement.value), item.judgement.uncertainty)


def plan_records(
    ledger: Ledger, items: Sequence[RecordItem], sample: SamplingPlan | None, *, seed: int
) -> tuple[Ledger, set[str]]:
    """Draw from the places not seen before, and return the new ledger with the ids of the drawn records.

    A place is drawn or not drawn only once. If its content changes later, the new record keeps the weight of
    the old one. Each later draw is a stratum of its own.
    """
    candidates = [build_candidate(item) for item in items]
    fresh = [candidate for candidate in candidates if candidate.key not in ledger.frame]
    weights = sample.draw(fresh, seed) if sample else {candidate.key: SampleWeight() for candidate in fresh}
    if sample and ledger.draws:
        # The population of a later draw is only what came since, so that its strata are its own.
        part = f"draw {ledger.draws + 1}"
        weights = {
            key: SampleWeight(weight, part if stratum is None else f"{part}: {stratum}")
            for key, (weight, stratum) in weights.items()
        }
    # Last, so that a place keeps the weight of the draw in which it was first seen.
    weights |= {entry.place.hash_key(): SampleWeight(entry.weight, entry.stratum) for entry in ledger.planned.values()}
    drawn = {
        item.id: LedgerEntry(place=item.place, content=item.content, **weights[candidate.key]._asdict())
        for item, candidate in zip(items, candidates, strict=True)
        if candidate.key in weights
    }
    new = {
        "draws": ledger.draws + bool(fresh),
        "sample": ledger.sample if ledger.draws else describe_draw(sample, seed),
        "frame": ledger.frame | {candidate.key for candidate in fresh},
        "planned": {**ledger.planned, **drawn},
    }
    return ledger.model_copy(update=new), set(drawn)


def describe_draw(sample: SamplingPlan | None, seed: int) -> str:
    """Return how items are drawn, with the seed if chance has a part in it."""
    return f"{sample}, seed {seed}" if sample else "all items"


def count_changed(ledger: Ledger, added: Iterable[str]) -> int:
    """Count the added records whose item had other content before."""
    contents = Counter(entry.place.hash_key() for entry in ledger.planned.values())
    return sum(contents[ledger.planned[record_id].place.hash_key()] > 1 for record_id in added)
