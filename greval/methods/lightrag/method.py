"""A query mode of LightRAG as a method under test."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

from greval._util.concurrency import count_as_waiting
from greval.datasets.replies.lightrag import build_response, find_file_path
from greval.errors import MethodError
from greval.methods.loading import load_object, read_adapter_spec, require_package
from greval.methods.protocol import Method
from greval.methods.query_trace import get_current_trace, trace_query, wrap_once
from greval.records.case import Response, Sample

SUPPORTED_VERSIONS = "lightrag-hku>=1.5,<2"
MODES = ("mix", "local", "global", "hybrid", "naive")
INTEGER_OPTIONS = ("top_k", "chunk_top_k")
DocumentName = Literal["id", "path"]
ModelFunction = Callable[..., Awaitable[str]]
ConfigBuilder = Callable[[], dict[str, Any]]
_OPEN_LOCKS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""A lock per event loop for opening objects, because several methods may share one object."""


class LightRagMethod:
    """A LightRAG query mode as a method; it returns the answer, the context of the model, and the usage.

    LightRAG's answer cache is turned off, so that repeated queries call the model and are counted. LightRAG reports no
    usage and queues its model calls, so the calls are counted before they enter the queue.

    The source is the LightRAG object, or a function, asynchronous or not, that creates it. Its storages are initialised
    by the first query, on the event loop of that query. `param` creates the `QueryParam` of a query.
    """

    def __init__(self, source: Any, param: Callable[[], Any], document: DocumentName = "id") -> None:  # noqa: ANN401
        self._source = source
        self._param = param
        self._document = document
        self._rag: Any = None

    async def prepare(self) -> None:
        """Create the LightRAG object and initialise its storages."""
        await self._open()

    async def __call__(self, sample: Sample, /) -> Response:
        """Answer the sample's question."""
        with count_as_waiting():
            rag = await self._open()
        param = self._param()
        with trace_query("lightrag") as trace:
            result = await rag.aquery_llm(sample.question, param)
        found_nothing = (result.get("metadata") or {}).get("failure_reason") == "no_results"
        # With no results LightRAG answers that it does not know.
        if result.get("status") != "success" and not found_nothing:
            raise MethodError(f"lightrag: {result.get('message') or 'the query failed, and no reason was reported'}")
        answer = trace.require_answer((result.get("llm_response") or {}).get("content"))
        data = result.get("data") or {}
        return build_response(answer, data, await self._find_documents(rag, data), param.mode, trace.usage)

    async def _open(self) -> Any:  # noqa: ANN401 - LightRAG's own
        """Return the LightRAG object; create and initialise it on the first call."""
        async with _OPEN_LOCKS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._rag is None:
                try:
                    self._rag = await _initialise(self._source)
                except Exception as error:
                    raise MethodError(f"lightrag: cannot be opened: {type(error).__name__}: {error}") from error
        return self._rag

    async def _find_documents(self, rag: Any, data: Mapping[str, Any]) -> dict[str, str]:  # noqa: ANN401 - LightRAG's own
        """Return the document of each chunk in a context."""
        chunks = data.get("chunks") or ()
        if self._document == "path":
            return {row["chunk_id"]: path for row in chunks if (path := find_file_path(row))}
        ids = [row["chunk_id"] for row in chunks]
        stored = await rag.text_chunks.get_by_ids(ids) if ids else []
        return {key: row["full_doc_id"] for key, row in zip(ids, stored, strict=True) if row}


async def _initialise(source: Any) -> Any:  # noqa: ANN401 - LightRAG's own
    """Create the object if needed, initialise its storages, turn its cache off, and trace its model calls."""
    created = source if hasattr(source, "aquery_llm") else source()
    rag = await created if inspect.isawaitable(created) else created
    await rag.initialize_storages()
    # A repeated question would cost nothing, and its figures would be wrong.
    rag.enable_llm_cache = False
    rag.llm_response_cache.global_config["enable_llm_cache"] = False
    _trace_model_calls(rag)
    return rag


def _trace_model_calls(rag: Any) -> None:  # noqa: ANN401 - LightRAG's own
    """Trace the model functions in the configuration that each query builds."""

    def count_tokens(text: str) -> int:
        return len(rag.tokenizer.encode(text))

    def wrap_builder(build: ConfigBuilder) -> ConfigBuilder:
        def build_config() -> dict[str, Any]:
            config = build()
            asks = config["role_llm_funcs"]
            return config | {
                # Wrapped before they put their calls into a queue, whose workers do not know the query of a call.
                "role_llm_funcs": {role: ask and trace_llm_function(ask, count_tokens) for role, ask in asks.items()}
            }

        return build_config

    # LightRAG has no public hook for this.
    rag._build_global_config = wrap_once(rag._build_global_config, wrap_builder)  # noqa: SLF001


def trace_llm_function(ask: ModelFunction, count: Callable[[str], int]) -> ModelFunction:
    """Wrap a model function of LightRAG so that it records its calls and tokens in the trace of the query."""

    async def call_model(prompt: str, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401 - LightRAG's own
        watch = get_current_trace()
        watch.calls += 1
        history = [str(turn.get("content", "")) for turn in kwargs.get("history_messages") or ()]
        watch.prompt_tokens += count("\n".join([kwargs.get("system_prompt") or "", *history, prompt]))
        try:
            reply = await ask(prompt, *args, **kwargs)
        except Exception as error:
            watch.errors.append(error)
            raise
        watch.output_tokens += count(reply) if isinstance(reply, str) else 0
        return reply

    return call_model


def load(spec: str) -> Method:
    """Load a query mode of a LightRAG object as a method.

    Args:
        spec: `my_module:rag?name=value&...` (or `path/to/file.py:name`): the LightRAG object, or a function,
            asynchronous or not, that creates it with its model functions; and options: `mode` (mix, local,
            global, hybrid or naive; default mix), `top_k`, `chunk_top_k`, `response_type`, `enable_rerank`
            (true or false), `document` (id or path: identifies documents).

    Returns:
        The method. It can be called concurrently on one event loop.
    """
    target, options = read_adapter_spec(
        "lightrag",
        spec,
        mode=MODES,
        top_k=int,
        chunk_top_k=int,
        response_type=None,
        enable_rerank=("true", "false"),
        document=("id", "path"),
    )
    require_package("lightrag", SUPPORTED_VERSIONS)
    from lightrag import QueryParam  # type: ignore[import-not-found]

    document = options.pop("document", "id")
    settings: dict[str, object] = {"mode": MODES[0], "stream": False, **options}
    settings |= {name: int(options[name]) for name in INTEGER_OPTIONS if name in options}
    if "enable_rerank" in options:
        settings["enable_rerank"] = options["enable_rerank"] == "true"
    return LightRagMethod(load_object(target), partial(QueryParam, **settings), "path" if document == "path" else "id")
