"""Loading methods from a spec: `module:function`, a file, a URL, or an adapter."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from greval.errors import DataError, MethodError
from greval.methods import Method

ADAPTERS = ("graphrag", "lightrag", "reference")
ENDPOINT_FILES = (".yaml", ".yml", ".json")
ADDRESS = ("http://", "https://")
HOW_TO_NAME = (
    "name a method as my_module:function, path/to/file.py:function, http://..., an endpoint file (.yaml, .json), "
    "reference:FOLDER?search=hybrid, graphrag:FOLDER?method=local or lightrag:..., each with NAME= before it if you "
    "like"
)
_NAMED = re.compile(r"([^=:/?()\x00-\x1f]+)=(.+)", re.DOTALL)
_OBJECT = re.compile(r"(?P<module>[^:()]+):(?P<name>[A-Za-z_][\w.]*)(?P<call>\((?P<text>.*)\))?", re.DOTALL)


def load_methods(specs: Iterable[str]) -> dict[str, Method]:
    """Load methods by `NAME=SPEC` or `SPEC`, as for `load_method`; one without a name is named by `default_name`.

    Raises:
        MethodError: If a method cannot be loaded, or two have the same name.

    Example:
        >>> load_methods(["ours=http://127.0.0.1:8000/ask"])
        {'ours': HttpMethod('http://127.0.0.1:8000/ask')}
    """
    methods: dict[str, Method] = {}
    for given in specs:
        named = _NAMED.fullmatch(given.strip())
        name, spec = (named[1].strip(), named[2].strip()) if named else (default_name(given), given.strip())
        if name in methods:
            raise MethodError(f"{given}: another method is called {name!r}; name it with NAME={spec}")
        methods[name] = load_method(spec)
    return methods


def default_name(spec: str) -> str:
    """Return the default name of a method.

    Example:
        >>> default_name("my_rag:ask"), default_name("graphrag:ragtest?method=local"), default_name("rag.yaml")
        ('ask', 'local', 'rag')
        >>> default_name("reference:index?search=hybrid")
        'hybrid'
    """
    spec = spec.strip()
    kind, _, rest = spec.partition(":")
    if spec.startswith(ADDRESS):
        return urlsplit(spec).hostname or kind
    if kind in ADAPTERS:
        options = parse_qs(rest.partition("?")[2])
        return next((options[key][0] for key in ("method", "mode", "search") if key in options), kind)
    found = _OBJECT.fullmatch(spec)
    return found["name"].rpartition(".")[2] if found else Path(spec).stem


def load_method(spec: str) -> Method:
    """Load a method.

    Args:
        spec: One of these. `my_module:name` or `path/to/file.py:name`: a function (asynchronous or not), another
            callable, or a LangChain runnable; with `name()` or `name(TEXT)`, the result of calling that
            function. `http://...`: an endpoint that takes `{"question": ...}` and returns the fields of a
            response. A YAML or JSON file: an endpoint as described in `greval.methods.endpoint`.
            `graphrag:...` and `lightrag:...`: see docs/graphrag.md. `reference:FOLDER?search=NAME`: a search of an
            index that `greval index` made. Modules in the current folder can be imported.

    Raises:
        MethodError: If it cannot be loaded. The message says what to correct.
        MissingExtraError: If an adapter needs a package that is not installed.

    Example:
        >>> load_method("http://127.0.0.1:8000/ask")
        HttpMethod('http://127.0.0.1:8000/ask')
    """
    spec = spec.strip()
    kind, _, rest = spec.partition(":")
    if spec.startswith(ADDRESS) or Path(spec).suffix.lower() in ENDPOINT_FILES:
        from greval.methods.endpoint import load_endpoint

        return load_endpoint(spec)
    if kind in ADAPTERS:
        return _load_adapter(kind, rest)
    return as_method(load_object(spec), spec)


def as_method(target: Any, label: str = "") -> Method:  # noqa: ANN401 - any object of a user's module
    """Convert an object to a method.

    The object may be a function, another callable, or a LangChain runnable. The second argument names it in messages.

    Raises:
        MethodError: If it cannot be called with a sample.
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
    except ValueError:  # a C function without an inspectable signature
        pass
    return FunctionMethod(target)


def load_object(spec: str, *, from_here: bool = True) -> Any:  # noqa: ANN401 - any object of a user's module
    """Load the object named by `module:name` or `path/to/file.py:name`.

    With `name()` or `name(TEXT)`, the function is called and its result returned. Modules of the current folder can be
    imported unless `from_here` is False.

    Raises:
        MethodError: If the module, file or name does not exist, or importing or calling it fails.

    Example:
        >>> load_object("math:floor")
        <built-in function floor>
    """
    found = _OBJECT.fullmatch(spec.strip())
    if not found:
        raise MethodError(f"{spec}: {HOW_TO_NAME}")
    where = found["module"].strip()
    module = (
        _import_file(Path(where), spec) if where.endswith(".py") else _import_module(where, spec, from_here=from_here)
    )
    value = _find_attribute(module, found["name"], spec)
    if found["call"] is None:
        return value
    if not callable(value):
        raise MethodError(f"{spec}: {found['name']} cannot be called; leave the brackets out")
    try:
        return value(*([found["text"]] if found["text"] else []))
    except Exception as error:
        raise MethodError(f"{spec}: {found['name']} raised {type(error).__name__}: {error}") from error


def _find_attribute(module: ModuleType, name: str, spec: str) -> Any:  # noqa: ANN401 - any object of a user's module
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            from greval._util.wording import did_you_mean

            near = did_you_mean(part, [known for known in vars(value) if not known.startswith("_")])
            raise MethodError(f"{spec}: there is no {part!r} in it{near}")
        value = getattr(value, part)
    return value


def _import_module(name: str, spec: str, *, from_here: bool) -> ModuleType:
    """Import a module, if wanted also from the current folder."""
    if from_here:
        _add_to_import_path(Path.cwd())
    try:
        return importlib.import_module(name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}.")
        from greval._util.wording import did_you_mean

        why = (
            f"there is no module {error.name!r}, neither installed nor in {Path.cwd() if from_here else 'PYTHONPATH'}"  # type: ignore[attr-defined]
            f"{did_you_mean(name, ADAPTERS)}"
            if missing
            else f"it cannot be imported: {type(error).__name__}: {error}"
        )
        raise MethodError(f"{spec}: {why}") from error


def _import_file(path: Path, spec: str) -> ModuleType:
    """Import a Python file once, under any file name; its folder is added to the import path."""
    if not path.is_file():
        raise MethodError(f"{spec}: there is no file {path}")
    path = path.resolve()
    name = f"_greval_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    _add_to_import_path(path.parent)
    made = importlib.util.spec_from_file_location(name, path)
    assert made is not None  # noqa: S101 - always set for names that end in .py
    assert made.loader is not None  # noqa: S101 - the same
    module = sys.modules[name] = importlib.util.module_from_spec(made)
    try:
        made.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise MethodError(f"{spec}: it cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _add_to_import_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _load_adapter(kind: str, rest: str) -> Method:
    """Load a method with an adapter, from the part of the spec after the name of the adapter."""
    try:
        adapter = importlib.import_module(f"greval.methods.{kind}.method")
        load: Any = adapter.load
    except (ImportError, AttributeError) as error:
        raise MethodError(f"{kind}:{rest}: the adapter for {kind} cannot be loaded: {error}") from error
    method: Method = load(rest)
    return method


def read_spec(spec: str, **allowed: tuple[str, ...] | type[int] | None) -> tuple[str, dict[str, str]]:
    """Parse `PLACE?name=value&name=value` into the place and the options.

    The allowed values of each option are given by its name: a tuple of them, `int` for whole numbers, None for any.

    Raises:
        DataError: If an option is unknown, is given twice, or has a value that is not allowed.

    Example:
        >>> read_spec("ragtest?method=local&community_level=2", method=("local", "basic"), community_level=int)
        ('ragtest', {'method': 'local', 'community_level': '2'})
    """
    place, _, query = spec.partition("?")
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
    return place, options


def read_adapter_spec(
    kind: str, spec: str, **allowed: tuple[str, ...] | type[int] | None
) -> tuple[str, dict[str, str]]:
    """Parse the part of a spec after the name of its adapter; see `read_spec`.

    Raises:
        MethodError: If an option is unknown, is given twice, or has a value that is not allowed.
    """
    try:
        return read_spec(spec, **allowed)
    except DataError as error:
        raise MethodError(f"{kind}:{error}") from error


def require_package(name: str, requirement: str) -> None:
    """Raise if the package of an adapter is not installed.

    Raises:
        MethodError: If it is not. The message says how to install it.
    """
    if importlib.util.find_spec(name) is None:
        raise MethodError(f"{name} is not installed beside greval: pip install '{requirement}'")
