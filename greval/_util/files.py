"""What is closed at the end of a `with` statement."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """The base of what holds a file or a connection: leaving the `with` statement closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError
