"""A base class for context managers that hold a resource."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class CloseOnExit:
    """A base class for objects that hold a file or a connection: leaving the `with` statement closes them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the resource."""
        raise NotImplementedError
