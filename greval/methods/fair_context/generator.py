"""Fair generation: one model answers for all compared methods, with facts from a file or a mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval.errors import MethodError
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.methods import Method
from greval.methods.fair_context import ContextMode
from greval.methods.fair_context.answer_generation import generate_answers
from greval.methods.fair_context.counts import counts_by
from greval.methods.loading import as_method
from greval.records.case import Sample


def with_generator(
    methods: Mapping[str, Method | Callable[[Sample], object]],
    model: Judge | BaseChatModel | None,
    *,
    context: ContextMode = "fair",
    facts: Mapping[str, object] | str | Path | None = None,
    by: Sequence[str | Sequence[str]] | None = None,
) -> dict[str, Method]:
    """Wrap methods so that one model answers for all of them; without a model they keep their own answers.

    Args:
        methods: The methods by name.
        model: The answering model. All methods share one client.
        context: The context of the model, see `ContextMode`.
        facts: The facts that `fair` counts, see `counts_by`.
        by: The groupings to count, see `counts_by`.

    Raises:
        MethodError: If `context` is `fair` and `facts` is missing.
        DataError: If the facts cannot be read.
    """
    if model is None:
        return {name: as_method(one, name) for name, one in methods.items()}
    if context == "fair" and facts is None:
        raise MethodError(
            "context 'fair' needs facts of the documents, to compute every method's aggregates from; "
            "give them with --facts FILE (facts=...), or choose the context default or none"
        )
    aggregate = None if facts is None else counts_by(facts, by)
    client = JudgeClient(model)
    return {name: generate_answers(one, client, context=context, aggregate=aggregate) for name, one in methods.items()}
