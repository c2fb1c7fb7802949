"""Sampling of a run's items for a dataset. Each draw is recorded in the ledger, so that it is made only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from greval.trust.annotations.judged_items import ItemRef, JudgedItem
from greval.trust.argilla.ledger import Ledger, LedgerEntry
from greval.trust.argilla.sampling import SampleCandidate, SampleWeight, SamplingPlan


class DrawableItem(NamedTuple):
    """A judged item without the content that is shown to annotators."""

    id: str
    place: ItemRef
    content: str
    candidate: SampleCandidate

    @classmethod
    def from_judged_item(cls, thing: JudgedItem) -> Self:
        """Build from a judged item, without the fields that sampling does not need."""
        candidate = SampleCandidate(thing.place.hash_key(), str(thing.judgement.value), thing.uncertainty)
        return cls(thing.id, thing.place, thing.content, candidate)


def plan_records(
    ledger: Ledger, things: Sequence[DrawableItem], sample: SamplingPlan | None, *, seed: int
) -> tuple[Ledger, set[str]]:
    """Draw from the places not seen before, and return the new ledger with the ids of the wanted records.

    A place is drawn or not drawn only once. If its content changes later, the new record keeps the weight of
    the old one. Each later draw is a stratum of its own.
    """
    drawn = {entry.place.hash_key(): SampleWeight(entry.weight, entry.stratum) for entry in ledger.planned.values()}
    fresh = [one.candidate for one in things if one.candidate.key not in ledger.frame]
    more = sample.draw(fresh, seed) if sample else {one.key: SampleWeight() for one in fresh}
    if sample and ledger.draws:
        more = {key: _mark_later_draw(one, ledger.draws) for key, one in more.items()}
    drawn |= more
    wanted = {one.id: _build_entry(one, drawn[one.candidate.key]) for one in things if one.candidate.key in drawn}
    new = {
        "draws": ledger.draws + bool(fresh),
        "frame": ledger.frame | {candidate.key for candidate in fresh},
        "planned": {**ledger.planned, **wanted},
    }
    return ledger.model_copy(update=new), set(wanted)


def count_changed(ledger: Ledger, added: Iterable[str]) -> int:
    """Count the added records whose item had other content before."""
    contents = Counter(entry.place.hash_key() for entry in ledger.planned.values())
    return sum(contents[ledger.planned[one].place.hash_key()] > 1 for one in added)


def _build_entry(thing: DrawableItem, drawn: SampleWeight) -> LedgerEntry:
    return LedgerEntry(place=thing.place, content=thing.content, weight=drawn.weight, stratum=drawn.stratum)


def _mark_later_draw(drawn: SampleWeight, draws: int) -> SampleWeight:
    """Prefix the stratum with the number of a later draw, because its population is only what came since."""
    part = f"draw {draws + 1}"
    return SampleWeight(drawn.weight, part if drawn.stratum is None else f"{part}: {drawn.stratum}")
