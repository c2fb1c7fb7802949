"""A search of Microsoft GraphRAG as a method under test."""

from __future__ import annotations

import importlib.util
from collections.abc import Awaitable, Callable
from pathlib import Path

from greval.errors import DataError, GrevalError, MethodError
from greval.methods import Method
from greval.methods.graphrag.records import IndexIds, ReportField, build_response
from greval.methods.loading import read_spec
from greval.methods.query_trace import trace_query
from greval.records.case import Response, Sample

SUPPORTED_VERSIONS = "graphrag>=3,<4"
BOOLEANS = ("true", "false")
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


def load(spec: str) -> Method:
    """Load a search of a GraphRAG project as a method.

    Args:
        spec: `ROOT?name=value&...`: the root of the project, which holds `settings.yaml`, and options: `method`
            (local, global, drift or basic; default local), `community_level` (default 2), `response_type`
            (default Multiple Paragraphs), `dynamic_community_selection` (true or false, for global search),
            `document` (id or title: identifies documents), `reports` (chunks or aggregates: the field of the
            response that receives community reports).

    Returns:
        The method. It can be called concurrently.

    Raises:
        MethodError: If graphrag is not installed, or the project cannot be opened.
    """
    try:
        place, given = read_spec(
            spec,
            method=("local", "global", "drift", "basic"),
            community_level=None,
            response_type=None,
            dynamic_community_selection=BOOLEANS,
            document=("id", "title"),
            reports=("chunks", "aggregates"),
        )
    except DataError as error:
        raise MethodError(f"graphrag:{error}") from error
    root = Path(place)
    if not any((root / f"settings.{ending}").is_file() for ending in ("yaml", "yml", "json")):
        raise MethodError(f"graphrag:{spec}: {root}/settings.yaml is not there; name the root of a GraphRAG project")
    if importlib.util.find_spec("graphrag") is None:
        raise MethodError(f"graphrag is not installed beside greval: pip install '{SUPPORTED_VERSIONS}'")
    return _build_method(root, given, spec)


def _build_method(root: Path, given: dict[str, str], spec: str) -> Method:
    from greval.methods.graphrag.engines import GraphRagOptions, open_project
    from greval.methods.graphrag.records import IndexIds

    default = GraphRagOptions()
    level = given.get("community_level", str(default.community_level))
    if not level.isdecimal():
        raise MethodError(f"graphrag:{spec}: community_level={level!r} will not do; give a whole number")
    options = GraphRagOptions(
        method=given.get("method", default.method),
        community_level=int(level),
        response_type=given.get("response_type", default.response_type),
        dynamic_community_selection=given.get("dynamic_community_selection") == "true",
    )
    try:
        search, tables = open_project(root, options)
    except GrevalError:
        raise
    except Exception as error:
        told = f"graphrag:{spec}: the project cannot be opened: {type(error).__name__}: {error}"
        raise MethodError(
            f"{told}; does `graphrag query` work in it, with a graphrag of {SUPPORTED_VERSIONS}?"
        ) from error
    ids = IndexIds.from_tables(tables, "title" if given.get("document") == "title" else "id")
    return GraphRagMethod(search, ids, "aggregates" if given.get("reports") == "aggregates" else "chunks")
