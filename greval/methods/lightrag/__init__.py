"""LightRAG: the inventory of its index, and its queries as methods under test."""

from __future__ import annotations

import importlib.util
from functools import partial

from greval.errors import DataError, MethodError
from greval.methods import Method
from greval.methods.lightrag.index import read_lightrag
from greval.methods.lightrag.method import LightRagMethod
from greval.methods.spec import read_spec

__all__ = ["load", "read_lightrag"]

SUPPORTED_VERSIONS = "lightrag-hku>=1.5,<2"
MODES = ("mix", "local", "global", "hybrid", "naive")
INTEGER_OPTIONS = ("top_k", "chunk_top_k")


def load(spec: str) -> Method:
    """Load a query mode of a LightRAG object as a method.

    Args:
        spec: `my_module:rag?name=value&...` (or `path/to/file.py:name`): the LightRAG object, or a function,
            asynchronous or not, that creates it with its model functions; and options: `mode` (mix, local,
            global, hybrid or naive; default mix), `top_k`, `chunk_top_k`, `response_type`, `enable_rerank`
            (true or false), `document` (id or path: identifies documents).

    Returns:
        The method. It can be called concurrently on one event loop.

    Raises:
        MethodError: If lightrag is not installed, or the object does not exist.
    """
    try:
        place, given = read_spec(
            spec,
            mode=MODES,
            top_k=None,
            chunk_top_k=None,
            response_type=None,
            enable_rerank=("true", "false"),
            document=("id", "path"),
        )
    except DataError as error:
        raise MethodError(f"lightrag:{error}") from error
    if importlib.util.find_spec("lightrag") is None:
        raise MethodError(f"lightrag is not installed beside greval: pip install '{SUPPORTED_VERSIONS}'")
    return _build_method(place, given, spec)


def _build_method(place: str, given: dict[str, str], spec: str) -> Method:
    from lightrag import QueryParam  # type: ignore[import-not-found]

    from greval.methods.loading import load_object

    settings: dict[str, object] = {"mode": given.pop("mode", MODES[0]), "stream": False}
    document = given.pop("document", "id")
    for name, value in given.items():
        if name in INTEGER_OPTIONS and not value.isdecimal():
            raise MethodError(f"lightrag:{spec}: {name}={value!r} will not do; give a whole number")
        settings[name] = (
            int(value) if name in INTEGER_OPTIONS else (value == "true" if name == "enable_rerank" else value)
        )
    return LightRagMethod(load_object(place), partial(QueryParam, **settings), "path" if document == "path" else "id")
