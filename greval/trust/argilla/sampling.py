"""Which things people are asked about: all of them, or a sample with known chances.

The inverse of a thing's chance is its weight. Without it a sample that holds more of the doubtful
things would be read as if it were the whole.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field

from greval.errors import ArgillaError
from greval.records.record import Record

LEAST = 0.05
"""How uncertain a thing counts at least, so that what the judge is sure of is drawn as well."""


class Candidate(NamedTuple):
    """A thing that can be drawn."""

    key: str
    value: str
    uncertainty: float | None


class Drawn(NamedTuple):
    """The inverse of the chance with which a thing was drawn, and from which part."""

    weight: float = 1.0
    stratum: str | None = None


class Sample(Record):
    """How many things are drawn, and how: each alike, as many of each verdict, or the uncertain more often."""

    kind: Literal["random", "stratified", "uncertain"]
    size: Annotated[int, Field(ge=1)]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `random:200`, `stratified:200` or `uncertain:200`.

        Raises:
            ArgillaError: Where it is none of these.

        Example:
            >>> Sample.parse("random:200")
            Sample(kind='random', size=200)
        """
        found = re.fullmatch(r"(random|stratified|uncertain):([1-9]\d{0,8})", text.strip())
        if not found:
            raise ArgillaError(f"--sample {text}: write random:200, stratified:200 or uncertain:200")
        return cls.model_validate({"kind": found[1], "size": int(found[2])})

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}"

    def check(self, candidates: Sequence[Candidate]) -> None:
        """Refuse what cannot be drawn.

        Raises:
            ArgillaError: Where the uncertain are wanted and nothing tells how certain the judge was.
        """
        if self.kind == "uncertain" and all(one.uncertainty is None for one in candidates):
            raise ArgillaError(
                "--sample uncertain: nothing tells how certain the judge was; judge with --confidence or "
                "--repeats 3, or draw with random or stratified"
            )

    def draw(self, candidates: Sequence[Candidate], seed: int) -> dict[str, Drawn]:
        """Give what is drawn, by key; the same for the same candidates in any order.

        Raises:
            ArgillaError: Where the uncertain are wanted and nothing tells how certain the judge was.

        Example:
            >>> some = [Candidate(str(n), "Yes" if n else "No", None) for n in range(9)]
            >>> Sample(kind="stratified", size=3).draw(some, 1)["0"]
            Drawn(weight=1.0, stratum='No')
        """
        ordered = sorted(candidates)
        chance = Random(seed)  # noqa: S311 - a sample, no secret
        chance.shuffle(ordered)
        if not ordered:
            return {}
        self.check(ordered)
        if self.kind == "random":
            return _simple(ordered, self.size, None)
        return _stratified(ordered, self.size) if self.kind == "stratified" else _uncertain(ordered, self.size, chance)


def _simple(shuffled: Sequence[Candidate], size: int, stratum: str | None) -> dict[str, Drawn]:
    """Take the first of a shuffled list."""
    size = min(size, len(shuffled))
    return {one.key: Drawn(len(shuffled) / size, stratum) for one in shuffled[:size]}


def _stratified(shuffled: Sequence[Candidate], size: int) -> dict[str, Drawn]:
    """Take as many of each value as there are, up to an even share; who has fewer leaves the rest to others."""
    parts: dict[str, list[Candidate]] = defaultdict(list)
    for one in shuffled:
        parts[one.value].append(one)
    found: dict[str, Drawn] = {}
    left = max(size, len(parts))
    for place, (value, part) in enumerate(sorted(parts.items(), key=lambda entry: (len(entry[1]), entry[0]))):
        share = min(len(part), left // (len(parts) - place))
        found |= _simple(part, share, value)
        left -= share
    return found


def _uncertain(shuffled: Sequence[Candidate], size: int, chance: Random) -> dict[str, Drawn]:
    """Draw so many, each with a chance that rises with its uncertainty (systematic sampling)."""
    known = [one.uncertainty for one in shuffled if one.uncertainty is not None]
    middle = sorted(known)[len(known) // 2]
    sizes = {one.key: max(LEAST, middle if one.uncertainty is None else one.uncertainty) for one in shuffled}
    chances = _chances(sizes, min(size, len(shuffled)))
    found, passed, mark = {}, 0.0, chance.random()
    for key, share in chances.items():
        passed += share
        if passed > mark or share >= 1:
            found[key] = Drawn(1 / share)
            mark += 1
    return found


def _chances(sizes: Mapping[str, float], count: int) -> dict[str, float]:
    """Give chances in proportion to the sizes that add up to a count, none above 1."""
    sure: set[str] = set()
    while True:
        total = sum(size for key, size in sizes.items() if key not in sure)
        scale = (count - len(sure)) / total if total else 0.0
        more = {key for key, size in sizes.items() if key not in sure and size * scale >= 1}
        if not more:
            return {key: 1.0 if key in sure else size * scale for key, size in sizes.items()}
        sure |= more
