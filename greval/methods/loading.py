"""Loading methods from a spec: `module:function`, a file, a URL, or an adapter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from greval._util.object_loading import load_python_object, parse_object_spec
from greval.apps import import_by_name
from greval.errors import DataError, MethodError
from greval.methods.protocol import Method

ADAPTERS = {
    "graphrag": "greval.methods.graphrag.method",
    "lightrag": "greval.methods.lightrag.method",
    "reference": "greval.reference.method",
}
"""The modules of the adapters, by the names that specs begin with."""
ENDPOINT_FILES = (".yaml", ".yml", ".json")
ADDRESS = ("http://", "https://")
HOW_TO_NAME = (
    "name a method as my_module:function, path/to/file.py:function, http://..., an endpoint file (.yaml, .json), "
    "reference:FOLDER?search=hybrid, graphrag:FOLDER?method=local or lightrag:..., each with NAME= before it if you "
    "like"
)
_FILE_SPEC = re.compile(r"(?P<file>[^:()?]+\.(?:py|ya?ml|json))(?P<rest>[:(?].*)?", re.DOTALL)
_NAMED = re.compile(r"([^=:/?()\x00-\x1f]+)=(.+)", re.DOTALL)


def load_methods(specs: Iterable[str]) -> dict[str, Method]:
    """Load methods by `NAME=SPEC` or `SPEC`, as for `load_method`; one without a name is named by `default_name`."""
    return {name: load_method(spec) for name, spec in name_specs(specs).items()}


def name_specs(specs: Iterable[str]) -> dict[str, str]:
    """Return the specs of methods by name, each given as `NAME=SPEC` or `SPEC`."""
    specs_by_name: dict[str, str] = {}
    for text in specs:
        name, spec = split_name(text)
        if name in specs_by_name:
            raise MethodError(f"{text}: another method is called {name!r}; name it with NAME={spec}")
        specs_by_name[name] = spec
    return specs_by_name


def split_name(text: str) -> tuple[str, str]:
    """Split `NAME=SPEC` or `SPEC` into the name of the method and its spec.

    Example:
        >>> split_name("old=my_rag:ask"), split_name("http://127.0.0.1/ask?k=5")
        (('old', 'my_rag:ask'), ('127.0.0.1', 'http://127.0.0.1/ask?k=5'))
    """
    match = _NAMED.fullmatch(text.strip())
    return (match[1].strip(), match[2].strip()) if match else (default_name(text), text.strip())


def default_name(spec: str) -> str:
    """Return the default name of a method."""
    spec = spec.strip()
    kind, _, target = spec.partition(":")
    if spec.startswith(ADDRESS):
        return urlsplit(spec).hostname or kind
    if kind in ADAPTERS:
        options = parse_qs(target.partition("?")[2])
        return next((options[key][0] for key in ("method", "mode", "search") if key in options), kind)
    object_spec = parse_object_spec(spec)
    return object_spec.name.rpartition(".")[2] if object_spec else Path(spec).stem


def resolve_spec(spec: str, root: Path) -> str:
    """Return a spec with the path of its file or index under the root if it exists there; others are unchanged."""
    kind, _, target = spec.partition(":")
    if kind in ADAPTERS:
        path, mark, options = target.partition("?")
        return f"{kind}:{root / path}{mark}{options}" if path and (root / path).exists() else spec
    match = _FILE_SPEC.fullmatch(spec)
    if not match or not (root / match["file"]).is_file():
        return spec
    return f"{root / match['file']}{match['rest'] or ''}"


def load_method(spec: str) -> Method:
    """Load a method.

    Args:
        spec: One of these. `my_module:name` or `path/to/file.py:name`: a function (asynchronous or not), another
            callable, or a LangChain runnable; with `name()` or `name(TEXT)`, the result of calling that
            function. `http://...`: an endpoint that takes `{"question": ...}` and returns the fields of a
            response. A YAML or JSON file: an endpoint as described in `greval.methods.endpoint`.
            `graphrag:...` and `lightrag:...`: see docs/graphrag.md. `reference:FOLDER?search=NAME`: a search of an
            index that `greval index build` made. Modules in the current folder can be imported.

    Raises:
        MethodError: If it cannot be loaded. The message says what to correct.
        MissingExtraError: If an adapter needs a package that is not installed.

    Example:
        >>> load_method("http://127.0.0.1:8000/ask")
        HttpMethod('http://127.0.0.1:8000/ask')
    """
    spec = spec.strip()
    kind, _, target = spec.partition(":")
    if spec.startswith(ADDRESS) or Path(spec).suffix.lower() in ENDPOINT_FILES:
        from greval.methods.endpoint import load_endpoint

        return load_endpoint(spec)
    if kind in ADAPTERS:
        return _load_adapter(kind, target)
    return as_method(load_object(spec), spec)


def as_method(target: Any, label: str = "") -> Method:  # noqa: ANN401 - any object of a user's module
    """Convert an object to a method.

    The object may be a function, another callable, or a LangChain runnable. The second argument names it in messages.
    """
    from langchain_core.runnables import Runnable

    from greval.methods.functions import FunctionMethod
    from greval.methods.langchain import LangChainMethod

    if isinstance(target, Runnable):
        return LangChainMethod(target)
    label = f"{label}: " if label else ""
    if inspect.isclass(target):
        raise MethodError(f"{label}{target.__name__} is a class; write {target.__name__}() to make an object of it")
    if not callable(target):
        raise MethodError(f"{label}{type(target).__name__} is not a method: it cannot be called with a sample")
    try:
        inspect.signature(target).bind(None)
    except TypeError as error:
        raise MethodError(f"{label}cannot be called with a sample alone: {error}") from None
    except ValueError:
        # A C function without an inspectable signature.
        pass
    return FunctionMethod(target)


def load_object(spec: str, *, from_here: bool = True) -> Any:  # noqa: ANN401 - any object of a user's module
    """Load the object named by `module:name` or `path/to/file.py:name`.

    With `name()` or `name(TEXT)`, the function is called and its result returned. Modules of the current folder can be
    imported unless `from_here` is False.
    """
    parsed = parse_object_spec(spec)
    if parsed is None:
        raise MethodError(f"{spec}: {HOW_TO_NAME}")
    return load_python_object(spec, parsed, MethodError, from_here=from_here, alternatives=ADAPTERS)


def _load_adapter(kind: str, target: str) -> Method:
    """Load a method with an adapter, from the part of the spec after the name of the adapter."""
    try:
        load: Any = import_by_name(ADAPTERS[kind]).load
    except (ImportError, AttributeError) as error:
        raise MethodError(f"{kind}:{target}: the adapter for {kind} cannot be loaded: {error}") from error
    method: Method = load(target)
    return method


def read_spec(spec: str, **allowed: tuple[str, ...] | type[int] | None) -> tuple[str, dict[str, str]]:
    """Parse `PLACE?name=value&name=value` into the place and the options.

    The allowed values of each option are given by its name: a tuple of them, `int` for whole numbers, None for any.

    Example:
        >>> read_spec("ragtest?method=local&community_level=2", method=("local", "basic"), community_level=int)
        ('ragtest', {'method': 'local', 'community_level': '2'})
    """
    location, _, query = spec.partition("?")
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            raise DataError(f"{spec}: unknown option {name!r}; the options are {', '.join(allowed) or 'none'}")
        if name in options:
            raise DataError(f"{spec}: {name} is given twice; give it once")
        values = allowed[name]
        if isinstance(values, tuple) and value not in values:
            raise DataError(f"{spec}: {name}: expected one of {', '.join(values)}, got {value!r}")
        if values is int and not value.isdecimal():
            raise DataError(f"{spec}: {name}: expected a whole number, got {value!r}")
        options[name] = value
    return location, options


def read_adapter_spec(
    kind: str, spec: str, **allowed: tuple[str, ...] | type[int] | None
) -> tuple[str, dict[str, str]]:
    """Parse the part of a spec after the name of its adapter; see `read_spec`."""
    try:
        return read_spec(spec, **allowed)
    except DataError as error:
        raise MethodError(f"{kind}:{error}") from error


def require_package(name: str, requirement: str) -> None:
    """Raise if the package of an adapter is not installed."""
    if find_spec(name) is None:
        raise MethodError(f"{name} is not installed beside greval: pip install '{requirement}'")
