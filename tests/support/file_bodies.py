"""Bodies that schemathesis sends as files."""

from __future__ import annotations

import schemathesis

from greval.serve.state.file_receiver import KINDS

WRITTEN = {"application/json", "text/csv"}
"""The kinds that schemathesis writes by itself."""


def register_file_bodies() -> None:
    """Let schemathesis send what it makes up for a file of any other kind as its bytes."""

    @schemathesis.serializer(*(kind for kind in KINDS if kind not in WRITTEN))
    def as_it_is(_, value):
        return value if isinstance(value, bytes) else str(value).encode(errors="replace")
