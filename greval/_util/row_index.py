"""A map from keys to row numbers by 64-bit hash, in about 12 bytes per entry.

A Python dict of a million keys takes about 150 MB. Here nearly all entries are in two sorted arrays. Only
the newest ones are in a dict, which is merged into the arrays periodically.
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
MAX_UNMERGED = 8_192
"""Maximum number of entries in the dict: it stays near 1 MB, and a merge into a million entries takes 10 ms."""


def hash_key(key: str) -> int:
    """Return the 64-bit number of a key: the value of its 16 hex digits, or the hash of any other text.

    Example:
        >>> hash_key("00000000000000ff")
        255
        >>> hash_key("k1") == hash_key("k1") != hash_key("k2")
        True
    """
    try:
        raw = bytes.fromhex(key) if len(key) == 2 * BYTES else b""
    except ValueError:
        raw = b""
    # `fromhex` also accepts spaces and capitals.
    if len(raw) != BYTES or raw.hex() != key:
        raw = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()
    return int.from_bytes(raw, "big", signed=True)


def format_key(number: int) -> str:
    """Format a key's number as 16 hex digits, the inverse of `hash_key`.

    Example:
        >>> format_key(255), hash_key(format_key(-1))
        ('00000000000000ff', -1)
    """
    return f"{number % (1 << 64):016x}"


class RowIndex:
    """A map from keys to row numbers; the newest row of a key counts.

    A key is a text, or its number from `hash_key`. Two texts whose numbers collide count as the same key.
    For a million keys the probability of a collision is 3 in 100 million.

    Example:
        >>> index = RowIndex()
        >>> index["k1"] = 7
        >>> index.get("k1"), index.get("k2"), "k1" in index, len(index)
        (7, None, True, 1)
    """

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._numbers: Numbers | None = None
        self._places: Places | None = None

    def load(self, entries: Iterable[tuple[int, int]]) -> None:
        """Add many (key number, row) pairs without building a dict of them; the last row of a key counts."""
        import numpy as np

        flat = np.fromiter(chain.from_iterable(entries), dtype=np.int64)
        self.load_arrays(flat[0::2], flat[1::2])

    def load_arrays(self, numbers: Numbers, places: NDArray[Any]) -> None:
        """Add many entries given as two arrays; the last row of a key counts."""
        import numpy as np

        self._merge_newest()
        # Stable, so that the last of equal numbers is the last row of its key.
        order = np.argsort(numbers, kind="stable")
        numbers, places = numbers[order], places[order]
        last = np.ones(len(numbers), dtype=bool)
        last[:-1] = numbers[1:] != numbers[:-1]
        self._merge_sorted(numbers[last], places[last].astype(np.uint32))

    def get(self, key: str | int) -> int | None:
        """Return the newest row of a key, None if it was never set."""
        number = hash_key(key) if isinstance(key, str) else key
        row = self._newest.get(number)
        if row is not None or self._numbers is None or self._places is None:
            return row
        at = int(self._numbers.searchsorted(number))
        if at < len(self._numbers) and self._numbers[at] == number:
            return int(self._places[at])
        return None

    def list_rows(self) -> list[int]:
        """List the rows of all keys in ascending order.

        Example:
            >>> index = RowIndex()
            >>> index["a"], index["b"], index["a"] = 1, 2, 3
            >>> index.list_rows()
            [2, 3]
        """
        self._merge_newest()
        return [] if self._places is None else sorted(self._places.tolist())

    def __setitem__(self, key: str | int, row: int) -> None:
        self._newest[hash_key(key) if isinstance(key, str) else key] = row
        if len(self._newest) >= MAX_UNMERGED:
            self._merge_newest()

    def __contains__(self, key: str | int) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        self._merge_newest()
        return 0 if self._numbers is None else len(self._numbers)

    def _merge_newest(self) -> None:
        """Merge the dict into the arrays."""
        if not self._newest:
            return
        import numpy as np

        numbers = np.fromiter(self._newest.keys(), dtype=np.int64, count=len(self._newest))
        places = np.fromiter(self._newest.values(), dtype=np.uint32, count=len(self._newest))
        self._newest = {}
        order = np.argsort(numbers)
        self._merge_sorted(numbers[order], places[order])

    def _merge_sorted(self, numbers: Numbers, places: Places) -> None:
        """Merge sorted entries with distinct key numbers into the arrays."""
        import numpy as np

        if self._numbers is None or self._places is None or not len(self._numbers):
            self._numbers, self._places = numbers, places
            return
        at = np.searchsorted(self._numbers, numbers)
        is_known = self._numbers[np.minimum(at, len(self._numbers) - 1)] == numbers
        self._places[at[is_known]] = places[is_known]
        self._numbers = np.insert(self._numbers, at[~is_known], numbers[~is_known])
        self._places = np.insert(self._places, at[~is_known], places[~is_known])
