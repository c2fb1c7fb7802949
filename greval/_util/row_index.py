"""Where a row stands, found by a 64-bit digest, in about 12 bytes an entry.

A Python dict of a million keys takes some 150 MB. Here nearly all entries are in two sorted arrays;
only the newest are in a dict, which is merged into the arrays now and then.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Places = NDArray[np.uint32]

BYTES = 8
MERGE_AT = 8_192
"""How many entries are in the dict at most: it stays near 1 MB, and a merge into a million takes 10 ms."""


def number(key: str) -> int:
    """Give the 64-bit number of a key: what its 16 hex digits say, or the hash of any other text.

    Example:
        >>> number("00000000000000ff")
        255
        >>> number("k1") == number("k1") != number("k2")
        True
    """
    try:
        raw = bytes.fromhex(key)
    except ValueError:
        raw = b""
    if len(raw) != BYTES or raw.hex() != key:  # spaces and capitals are read as hex too
        raw = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()
    return int.from_bytes(raw, "big", signed=True)


def name_of(number: int) -> str:
    """Give the 16 hex digits of a number, from which `number` gives it back.

    Example:
        >>> name_of(255), number(name_of(-1))
        ('00000000000000ff', -1)
    """
    return f"{number % (1 << 64):016x}"


class Index:
    """Places (row numbers) by key; the newest place of a key counts.

    A key is a text, or the number that `number` gives of it. Two texts are taken for one where
    their numbers are equal, which for a million keys has a chance of 3 in 100 million.

    Example:
        >>> index = Index()
        >>> index["k1"] = 7
        >>> index.get("k1"), index.get("k2"), "k1" in index, len(index)
        (7, None, True, 1)
    """

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._numbers: Numbers | None = None
        self._places: Places | None = None

    def load(self, entries: Iterable[tuple[int, int]]) -> None:
        """Take many (number, place) pairs at once, without a dict of them all; of one number the last counts."""
        import numpy as np

        flat = np.fromiter(chain.from_iterable(entries), dtype=np.int64)
        self.load_arrays(flat[0::2], flat[1::2])

    def load_arrays(self, numbers: Numbers, places: NDArray[Any]) -> None:
        """Take many entries as two arrays; of one number the last counts."""
        import numpy as np

        self._merge()
        order = np.argsort(numbers, kind="stable")
        numbers, places = numbers[order], places[order]
        last = np.ones(len(numbers), dtype=bool)
        last[:-1] = numbers[1:] != numbers[:-1]
        self._join(numbers[last], places[last].astype(np.uint32))

    def get(self, key: str | int) -> int | None:
        """Give the newest place of a key, None where it was never set."""
        wanted = number(key) if isinstance(key, str) else key
        found = self._newest.get(wanted)
        if found is not None or self._numbers is None or self._places is None:
            return found
        at = int(self._numbers.searchsorted(wanted))
        if at < len(self._numbers) and self._numbers[at] == wanted:
            return int(self._places[at])
        return None

    def __setitem__(self, key: str | int, place: int) -> None:
        self._newest[number(key) if isinstance(key, str) else key] = place
        if len(self._newest) >= MERGE_AT:
            self._merge()

    def __contains__(self, key: str | int) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        self._merge()
        return 0 if self._numbers is None else len(self._numbers)

    def _merge(self) -> None:
        """Bring the dict into the arrays."""
        if not self._newest:
            return
        import numpy as np

        numbers = np.fromiter(self._newest.keys(), dtype=np.int64, count=len(self._newest))
        places = np.fromiter(self._newest.values(), dtype=np.uint32, count=len(self._newest))
        self._newest = {}
        order = np.argsort(numbers)
        self._join(numbers[order], places[order])

    def _join(self, numbers: Numbers, places: Places) -> None:
        """Bring sorted entries, each number once, in among those that are there."""
        import numpy as np

        if self._numbers is None or self._places is None or not len(self._numbers):
            self._numbers, self._places = numbers, places
            return
        at = np.searchsorted(self._numbers, numbers)
        known = self._numbers[np.minimum(at, len(self._numbers) - 1)] == numbers
        self._places[at[known]] = places[known]
        self._numbers = np.insert(self._numbers, at[~known], numbers[~known])
        self._places = np.insert(self._places, at[~known], places[~known])
