"""A query mode of LightRAG as a method under test."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from weakref import WeakKeyDictionary

from greval.errors import MethodError
from greval.methods.lightrag.records import path_of, response_of
from greval.methods.query_trace import current, once, watching
from greval.records.case import Response, Sample

DocumentName = Literal["id", "path"]
Ask = Callable[..., Awaitable[str]]
Build = Callable[[], dict[str, Any]]
_OPENING: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""One object at a time is opened on a loop: several methods may have the same one."""


class LightRagMethod:
    """Asks a LightRAG object, and gives what its model was given, what it answered and what was spent.

    Its cache of answers is turned off, so that repeats are asked and counted. LightRAG gives no usage and
    queues its calls, so the calls of each query are counted where the query makes them.

    Args:
        source: The LightRAG object, or a function, asynchronous or not, that makes it. Its storages are
            initialised with the first question, on the loop that asks it.
        param: Makes the `QueryParam` of a question.
        document: What names a document: its `id`, or the `path` of its file.
    """

    def __init__(self, source: Any, param: Callable[[], Any], document: DocumentName = "id") -> None:  # noqa: ANN401
        self._source = source
        self._param = param
        self._document = document
        self._rag: Any = None

    async def __call__(self, sample: Sample, /) -> Response:
        """Answer the sample's question.

        Raises:
            MethodError: Where LightRAG failed, told of it or not, or gave an empty answer.
        """
        rag = await self._opened()
        param = self._param()
        with watching() as watch:
            try:
                result = await rag.aquery_llm(sample.question, param)
            except Exception as error:
                raise MethodError(f"lightrag: {type(error).__name__}: {error}") from error
            usage = watch.effort()
        answer = _checked(result, watch.errors)
        data = result.get("data") or {}
        return response_of(answer, data, await self._documents(rag, data), param.mode, usage)

    async def _opened(self) -> Any:  # noqa: ANN401 - LightRAG's own
        """Give the object, ready to be asked."""
        async with _OPENING.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._rag is None:
                try:
                    self._rag = await _ready(self._source)
                except Exception as error:
                    raise MethodError(f"lightrag: cannot be opened: {type(error).__name__}: {error}") from error
        return self._rag

    async def _documents(self, rag: Any, data: Mapping[str, Any]) -> dict[str, str]:  # noqa: ANN401 - LightRAG's own
        """Give the document of each chunk of a context."""
        chunks = data.get("chunks") or ()
        if self._document == "path":
            return {row["chunk_id"]: path for row in chunks if (path := path_of(row))}
        ids = [row["chunk_id"] for row in chunks]
        stored = await rag.text_chunks.get_by_ids(ids) if ids else []
        return {key: row["full_doc_id"] for key, row in zip(ids, stored, strict=True) if row}


def _checked(result: Mapping[str, Any], errors: list[Exception]) -> str:
    """Give the answer, or raise where LightRAG failed.

    Finding nothing is no failure: then LightRAG's answer is that it cannot tell.
    """
    answer = (result.get("llm_response") or {}).get("content")
    found_nothing = (result.get("metadata") or {}).get("failure_reason") == "no_results"
    if result.get("status") != "success" and not found_nothing:
        raise MethodError(f"lightrag: {result.get('message') or 'it failed and does not tell why'}")
    if errors:
        raise MethodError(f"lightrag: it went on after an error: {type(errors[0]).__name__}: {errors[0]}")
    if not isinstance(answer, str) or not answer.strip():
        raise MethodError("lightrag: the answer is empty, and no error was told; look at LightRAG's log")
    return answer


async def _ready(source: Any) -> Any:  # noqa: ANN401 - LightRAG's own
    """Give the object with its storages initialised, its cache turned off and its calls counted."""
    made = source if hasattr(source, "aquery_llm") else source()
    rag = await made if inspect.isawaitable(made) else made
    await rag.initialize_storages()
    rag.enable_llm_cache = False
    rag.llm_response_cache.global_config["enable_llm_cache"] = False
    _watch(rag)
    return rag


def _watch(rag: Any) -> None:  # noqa: ANN401 - LightRAG's own
    """Count calls at the functions that a query finds in its configuration.

    Behind them is a queue with workers of its own, where it is no longer known which query asks.
    """

    def watched(build: Build) -> Build:
        def built() -> dict[str, Any]:
            config = build()
            asks = config["role_llm_funcs"]
            return config | {"role_llm_funcs": {role: ask and counted(ask, _count(rag)) for role, ask in asks.items()}}

        return built

    # There is no public place to count at.
    rag._build_global_config = once(rag._build_global_config, watched)  # noqa: SLF001


def _count(rag: Any) -> Callable[[str], int]:  # noqa: ANN401 - LightRAG's own
    return lambda text: len(rag.tokenizer.encode(text))


def counted(ask: Ask, count: Callable[[str], int]) -> Ask:
    """Give a model function of LightRAG that tells the watch of its calls, and of the tokens of its texts."""

    async def asked(prompt: str, *given: Any, **named: Any) -> str:  # noqa: ANN401 - LightRAG's own
        watch = current()
        watch.calls += 1
        history = [str(turn.get("content", "")) for turn in named.get("history_messages") or ()]
        watch.prompt_tokens += count("\n".join([named.get("system_prompt") or "", *history, prompt]))
        try:
            said = await ask(prompt, *given, **named)
        except Exception as error:
            watch.errors.append(error)
            raise
        watch.output_tokens += count(said) if isinstance(said, str) else 0
        return said

    return asked
