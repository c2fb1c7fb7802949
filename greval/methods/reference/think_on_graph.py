"""Think-on-Graph: a beam search over relations and entities that a model prunes and stops."""

from __future__ import annotations

from typing import Any

from greval.judging.model.client import JudgeClient
from greval.methods.reference.settings import SearchSettings
from greval.records.result import Usage


async def think_on_graph(
    index: Any,  # noqa: ANN401 - a ReferenceIndex
    question: str,
    settings: SearchSettings,
    client: JudgeClient,
) -> tuple[str, Any, Usage]:
    """Return the answer to a question, what was found (`Found`), and the usage."""
    raise NotImplementedError((index, question, settings, client))
