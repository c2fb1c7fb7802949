"""Sampling of a run's items for a dataset. Each draw is recorded in the ledger, so that it is made only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from greval.trust.annotations.judged_items import Place, Shown
from greval.trust.argilla.ledger import Entry, Ledger
from greval.trust.argilla.sampling import Candidate, Drawn, Sample


class Light(NamedTuple):
    """A judged item without the content that is shown to annotators."""

    id: str
    place: Place
    content: str
    candidate: Candidate

    @classmethod
    def of(cls, thing: Shown) -> Self:
        """Build from a judged item, without the fields that sampling does not need."""
        candidate = Candidate(thing.place.key(), str(thing.judgement.value), thing.uncertainty)
        return cls(thing.id, thing.place, thing.content, candidate)


def plan(ledger: Ledger, things: Sequence[Light], sample: Sample | None, *, seed: int) -> tuple[Ledger, set[str]]:
    """Draw from the places not seen before, and return the new ledger with the ids of the wanted records.

    A place is drawn or not drawn only once. If its content changes later, the new record keeps the weight of
    the old one. Each later draw is a stratum of its own.
    """
    drawn = {entry.place.key(): Drawn(entry.weight, entry.stratum) for entry in ledger.planned.values()}
    fresh = [one.candidate for one in things if one.candidate.key not in ledger.frame]
    more = sample.draw(fresh, seed) if sample else {one.key: Drawn() for one in fresh}
    if sample and ledger.draws:
        more = {key: _later(one, ledger.draws) for key, one in more.items()}
    drawn |= more
    wanted = {one.id: _entry(one, drawn[one.candidate.key]) for one in things if one.candidate.key in drawn}
    new = {
        "draws": ledger.draws + bool(fresh),
        "frame": ledger.frame | {candidate.key for candidate in fresh},
        "planned": {**ledger.planned, **wanted},
    }
    return ledger.model_copy(update=new), set(wanted)


def changed(ledger: Ledger, added: Iterable[str]) -> int:
    """Count the added records whose item had other content before."""
    contents = Counter(entry.place.key() for entry in ledger.planned.values())
    return sum(contents[ledger.planned[one].place.key()] > 1 for one in added)


def _entry(thing: Light, drawn: Drawn) -> Entry:
    return Entry(place=thing.place, content=thing.content, weight=drawn.weight, stratum=drawn.stratum)


def _later(drawn: Drawn, draws: int) -> Drawn:
    """Prefix the stratum with the number of a later draw, because its population is only what came since."""
    part = f"draw {draws + 1}"
    return Drawn(drawn.weight, part if drawn.stratum is None else f"{part}: {drawn.stratum}")
