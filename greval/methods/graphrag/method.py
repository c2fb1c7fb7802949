"""A search of Microsoft GraphRAG as a method under test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from greval.errors import MethodError
from greval.methods.graphrag.records import IndexIds, ReportField, build_response
from greval.methods.query_trace import trace_query
from greval.records.case import Response, Sample

Search = Callable[[str], Awaitable[str]]


class GraphRagMethod:
    """A GraphRAG search as a method; it returns the answer, the context of the model, and the usage.

    After many kinds of errors GraphRAG continues, and returns an empty answer or one from a part of the context. This
    class raises such an error instead.

    Args:
        search: Answers a question, and records its contexts in `greval.methods.query_trace.get_current_trace()`.
        ids: The ids of the index.
        reports: Whether community reports are returned as chunks or as aggregates.
    """

    def __init__(self, search: Search, ids: IndexIds, reports: ReportField = "chunks") -> None:
        self._search = search
        self._ids = ids
        self._reports: ReportField = reports

    async def __call__(self, sample: Sample, /) -> Response:
        """Answer the sample's question.

        Raises:
            MethodError: If GraphRAG raised or suppressed an error, or returned an empty answer.
        """
        with trace_query() as watch:
            try:
                answer = await self._search(sample.question)
            except Exception as error:
                raise MethodError(f"graphrag: {type(error).__name__}: {error}") from error
            usage = watch.compute_usage()
        if watch.errors:
            lost = watch.errors[0]
            others = f" (and {len(watch.errors) - 1} more)" if len(watch.errors) > 1 else ""
            raise MethodError(f"graphrag: it went on after an error: {type(lost).__name__}: {lost}{others}") from lost
        if not answer.strip():
            raise MethodError("graphrag: the answer is empty, and no error was told; look at GraphRAG's log")
        return build_response(
            answer, watch.contexts, self._ids, ranking=watch.ranking, reports=self._reports, usage=usage
        )
