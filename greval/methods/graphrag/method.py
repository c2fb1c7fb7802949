"""A search of Microsoft GraphRAG as a method under test; the only module that uses the graphrag package, 3.x.

The engines are built by `graphrag.query.factory`, as in graphrag's own command line. Each is built once, because that
reads the whole index.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

from greval.datasets.replies.graphrag import IndexIds, Search, build_response
from greval.errors import GrevalError, MethodError
from greval.methods.loading import read_adapter_spec, require_package
from greval.methods.protocol import Method
from greval.methods.query_trace import get_current_trace, trace_chat_model, trace_query, wrap_once
from greval.records.case import Response, Sample

SUPPORTED_VERSIONS = "graphrag>=3,<4"
BOOLEANS = ("true", "false")
DEFAULT_OPTIONS = {
    "method": "local",
    "community_level": "2",
    "response_type": "Multiple Paragraphs",
    "dynamic_community_selection": "false",
    "document": "id",
}
"""The options of a search; those that GraphRAG's own command line has are as there."""
SEARCH_TABLES = {
    "local": ("entities", "communities", "community_reports", "text_units", "relationships"),
    "global": ("entities", "communities", "community_reports"),
    "drift": ("entities", "communities", "community_reports", "text_units", "relationships"),
    "basic": ("text_units",),
}
"""The tables that each search reads."""
ID_TABLES = ("documents", "communities", "covariates", "entities", "relationships", "text_units")

Tables = dict[str, Any]


class GraphRagMethod:
    """A GraphRAG search as a method; it returns the answer, the context of the model, and the usage.

    After many kinds of errors GraphRAG continues, and returns an empty answer or one from a part of the context. This
    class raises such an error instead. The search records its contexts in the current trace.
    """

    def __init__(self, search: Search, ids: IndexIds) -> None:
        self._search = search
        self._ids = ids

    async def __call__(self, sample: Sample, /) -> Response:
        """Answer the sample's question."""
        with trace_query("graphrag") as trace:
            answer = await self._search(sample.question)
        answer = trace.require_answer(answer)
        return build_response(answer, trace.contexts, self._ids, ranking=trace.ranking, usage=trace.usage)


def load(spec: str) -> Method:
    """Load a search of a GraphRAG project as a method.

    Args:
        spec: `ROOT?name=value&...`: the root of the project, which holds `settings.yaml`, and options: `method`
            (local, global, drift or basic; default local), `community_level` (default 2), `response_type`
            (default Multiple Paragraphs), `dynamic_community_selection` (true or false, for global search),
            `document` (id or title: identifies documents).

    Returns:
        The method. It can be called concurrently.
    """
    folder, spec_options = read_adapter_spec(
        "graphrag",
        spec,
        method=("local", "global", "drift", "basic"),
        community_level=int,
        response_type=None,
        dynamic_community_selection=BOOLEANS,
        document=("id", "title"),
    )
    root = Path(folder)
    if not any((root / f"settings.{ending}").is_file() for ending in ("yaml", "yml", "json")):
        raise MethodError(f"graphrag:{spec}: {root}/settings.yaml is not there; name the root of a GraphRAG project")
    require_package("graphrag", SUPPORTED_VERSIONS)
    options = DEFAULT_OPTIONS | spec_options
    try:
        search, tables = open_project(root, options)
    except GrevalError:
        raise
    except Exception as error:
        raise MethodError(
            f"graphrag:{spec}: the project cannot be opened: {type(error).__name__}: {error}; "
            f"does `graphrag query` work in it, with a graphrag of {SUPPORTED_VERSIONS}?"
        ) from error
    return GraphRagMethod(search, IndexIds.from_tables(tables, options["document"]))


def open_project(root: Path, options: Mapping[str, str]) -> tuple[Search, Tables]:
    """Build the search of a project, and read the tables that the search and the ids need."""
    from graphrag.config.load_config import load_config  # type: ignore[import-not-found]

    # Paths in GraphRAG's configuration are relative to the working directory.
    with contextlib.chdir(root):
        config = load_config(root_dir=Path())
        # The reader is asynchronous, and an event loop may already be running in this thread.
        with ThreadPoolExecutor(1) as pool:
            tables = pool.submit(asyncio.run, _read_tables(config, SEARCH_TABLES[options["method"]])).result()
        engine = _build_engine(config, tables, options)
    return build_search(engine, options["method"]), tables


async def _read_tables(config: Any, needed: tuple[str, ...]) -> Tables:  # noqa: ANN401 - GraphRAG's own
    from graphrag.data_model.data_reader import DataReader  # type: ignore[import-not-found]
    from graphrag_storage import create_storage  # type: ignore[import-not-found]
    from graphrag_storage.tables.table_provider_factory import create_table_provider  # type: ignore  # noqa: PGH003

    provider = create_table_provider(config.table_provider, storage=create_storage(config.output_storage))
    reader = DataReader(provider)
    names = [name for name in dict.fromkeys((*needed, *ID_TABLES)) if name in needed or await provider.has(name)]
    return {name: await getattr(reader, name)() for name in names}


def _build_engine(config: Any, tables: Tables, options: Mapping[str, str]) -> Any:  # noqa: ANN401 - GraphRAG's own
    from graphrag.config import embeddings  # type: ignore[import-not-found]
    from graphrag.query import factory, indexer_adapters  # type: ignore[import-not-found]
    from graphrag.utils.api import get_embedding_store, load_search_prompt  # type: ignore  # noqa: PGH003

    method, level = options["method"], int(options["community_level"])
    shared = {"response_type": options["response_type"], "callbacks": [_build_callbacks()]}
    if method == "basic":
        return factory.get_basic_search_engine(
            config=config,
            text_units=indexer_adapters.read_indexer_text_units(tables["text_units"]),
            text_unit_embeddings=get_embedding_store(config.vector_store, embeddings.text_unit_text_embedding),
            system_prompt=load_search_prompt(config.basic_search.prompt),
            **shared,
        )
    communities, reports = tables["communities"], tables["community_reports"]
    entities = indexer_adapters.read_indexer_entities(tables["entities"], communities, level)
    if method == "global":
        prompts, dynamic = config.global_search, options["dynamic_community_selection"] == "true"
        return factory.get_global_search_engine(
            config,
            reports=indexer_adapters.read_indexer_reports(reports, communities, level, dynamic),
            entities=entities,
            communities=indexer_adapters.read_indexer_communities(communities, reports),
            dynamic_community_selection=dynamic,
            map_system_prompt=load_search_prompt(prompts.map_prompt),
            reduce_system_prompt=load_search_prompt(prompts.reduce_prompt),
            general_knowledge_inclusion_prompt=load_search_prompt(prompts.knowledge_prompt),
            **shared,
        )
    graph = {
        "reports": indexer_adapters.read_indexer_reports(reports, communities, level),
        "text_units": indexer_adapters.read_indexer_text_units(tables["text_units"]),
        "entities": entities,
        "relationships": indexer_adapters.read_indexer_relationships(tables["relationships"]),
        "description_embedding_store": get_embedding_store(
            config.vector_store, embeddings.entity_description_embedding
        ),
    }
    if method == "local":
        claims = tables.get("covariates")
        return factory.get_local_search_engine(
            config=config,
            covariates={"claims": [] if claims is None else indexer_adapters.read_indexer_covariates(claims.copy())},
            system_prompt=load_search_prompt(config.local_search.prompt),
            **graph,
            **shared,
        )
    store = get_embedding_store(config.vector_store, embeddings.community_full_content_embedding)
    indexer_adapters.read_indexer_report_embeddings(graph["reports"], store)
    return factory.get_drift_search_engine(
        config=config,
        local_system_prompt=load_search_prompt(config.drift_search.prompt),
        reduce_system_prompt=load_search_prompt(config.drift_search.reduce_prompt),
        **graph,
        **shared,
    )


def _build_callbacks() -> Any:  # noqa: ANN401 - GraphRAG's own
    """Build callbacks that record each context, and batches that GraphRAG lost, in the trace of the query."""
    from graphrag.callbacks.noop_query_callbacks import NoopQueryCallbacks  # type: ignore  # noqa: PGH003

    def on_context(context: Any) -> None:  # noqa: ANN401 - GraphRAG's own
        get_current_trace().contexts.append(context)

    def on_map_response_end(batches: Any) -> None:  # noqa: ANN401 - GraphRAG's own
        watch = get_current_trace()
        # GraphRAG returns an answer of 0 tokens for a batch that raised an exception.
        if not watch.errors and any(batch.output_tokens == 0 for batch in batches):
            watch.errors.append(MethodError("GraphRAG lost a batch of community reports; see its log for the reason"))

    callbacks = NoopQueryCallbacks()
    callbacks.on_context = on_context
    callbacks.on_map_response_end = on_map_response_end
    return callbacks


def build_search(engine: Any, method: str) -> Search:  # noqa: ANN401 - GraphRAG's own
    """Return the search function of an engine, with its model calls and its ranking traced."""
    model = engine.model
    # Within a process, GraphRAG shares one model among all engines with the same settings.
    model.completion_async = wrap_once(
        model.completion_async, lambda ask: trace_chat_model(ask, model.tokenizer.num_tokens)
    )
    if method == "basic":
        _trace_ranking(engine.context_builder.text_unit_embeddings)
    if method == "drift":
        return _build_drift_search(engine)

    async def search(question: str) -> str:
        # Not `engine.search`: in 3.3.0 that of basic search calls no model and returns '' (an await is missing),
        # and the others return '' on errors.
        return "".join([part async for part in engine.stream_search(query=question)])

    return search


def _build_drift_search(engine: Any) -> Search:  # noqa: ANN401 - GraphRAG's own
    """Return the search function of DRIFT search, with a separate state for each question."""
    from graphrag.query.structured_search.drift_search.state import QueryState  # type: ignore  # noqa: PGH003

    primed = engine.context_builder.build_context

    async def build_context(query: str, **options: Any) -> Any:  # noqa: ANN401 - GraphRAG's own
        reports, tokens = await primed(query, **options)
        get_current_trace().contexts.append(
            {"reports": reports.rename(columns={"short_id": "id", "full_content": "content"})}
        )
        return reports, tokens

    engine.context_builder.build_context = build_context

    async def search(question: str) -> str:
        # The engine itself would carry the state of one question on to the next.
        engine_copy = copy(engine)
        engine_copy.query_state = QueryState()
        return str((await engine_copy.search(query=question)).response)

    return search


def _trace_ranking(store: Any) -> None:  # noqa: ANN401 - GraphRAG's own
    """Record the ranking by similarity."""
    find = store.similarity_search_by_text

    def search_by_text(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - GraphRAG's own
        results = find(*args, **kwargs)
        get_current_trace().ranking.update({str(result.document.id): float(result.score) for result in results})
        return results

    # Basic search itself returns its results in the order of the index.
    store.similarity_search_by_text = search_by_text
