"""A search of Microsoft GraphRAG as a method under test."""

from __future__ import annotations

from pathlib import Path

from greval.datasets.replies.graphrag import IndexIds, ReportField, Search, build_response
from greval.errors import GrevalError, MethodError
from greval.methods.loading import read_adapter_spec, require_package
from greval.methods.protocol import Method
from greval.methods.query_trace import trace_query
from greval.records.case import Response, Sample

SUPPORTED_VERSIONS = "graphrag>=3,<4"
BOOLEANS = ("true", "false")


class GraphRagMethod:
    """A GraphRAG search as a method; it returns the answer, the context of the model, and the usage.

    After many kinds of errors GraphRAG continues, and returns an empty answer or one from a part of the context. This
    class raises such an error instead. The search records its contexts in the current trace. Community reports are
    returned as chunks or as aggregates.
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
        with trace_query("graphrag") as trace:
            answer = await self._search(sample.question)
        return build_response(
            trace.require_answer(answer),
            trace.contexts,
            self._ids,
            ranking=trace.ranking,
            reports=self._reports,
            usage=trace.usage,
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
    place, given = read_adapter_spec(
        "graphrag",
        spec,
        method=("local", "global", "drift", "basic"),
        community_level=int,
        response_type=None,
        dynamic_community_selection=BOOLEANS,
        document=("id", "title"),
        reports=("chunks", "aggregates"),
    )
    root = Path(place)
    if not any((root / f"settings.{ending}").is_file() for ending in ("yaml", "yml", "json")):
        raise MethodError(f"graphrag:{spec}: {root}/settings.yaml is not there; name the root of a GraphRAG project")
    require_package("graphrag", SUPPORTED_VERSIONS)
    return _build_method(root, given, spec)


def _build_method(root: Path, given: dict[str, str], spec: str) -> Method:
    from greval.methods.graphrag.engines import GraphRagOptions, open_project

    default = GraphRagOptions()
    options = GraphRagOptions(
        method=given.get("method", default.method),
        community_level=int(given.get("community_level", default.community_level)),
        response_type=given.get("response_type", default.response_type),
        dynamic_community_selection=given.get("dynamic_community_selection") == "true",
    )
    try:
        search, tables = open_project(root, options)
    except GrevalError:
        raise
    except Exception as error:
        raise MethodError(
            f"graphrag:{spec}: the project cannot be opened: {type(error).__name__}: {error}; "
            f"does `graphrag query` work in it, with a graphrag of {SUPPORTED_VERSIONS}?"
        ) from error
    ids = IndexIds.from_tables(tables, "title" if given.get("document") == "title" else "id")
    return GraphRagMethod(search, ids, "aggregates" if given.get("reports") == "aggregates" else "chunks")
