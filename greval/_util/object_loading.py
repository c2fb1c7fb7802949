"""Loading objects of a user's Python code by `module:name` or `path/to/file.py:name`."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from greval._util.wording import did_you_mean
from greval.errors import GrevalError

PYTHON_SUFFIX = ".py"
FILE_MODULE_PREFIX = "_greval_"
"""The start of the names of modules that were imported from a file, which no other process can import by name."""
_OBJECT = re.compile(r"(?P<module>[^:()]+):(?P<name>[A-Za-z_][\w.]*)(?P<call>\((?P<text>.*)\))?", re.DOTALL)


class ObjectSpec(NamedTuple):
    """A parsed spec: module or file, name, and the text of a call, None if the object is not called."""

    module: str
    name: str
    call: str | None = None


def parse_object_spec(spec: str) -> ObjectSpec | None:
    """Parse `module:name`, `file.py:name`, `module:name()` or `module:name(TEXT)`; None for any other text.

    Example:
        >>> parse_object_spec("my_rag.py:make(fast)")
        ObjectSpec(module='my_rag.py', name='make', call='fast')
        >>> parse_object_spec("my_rag") is None
        True
    """
    match = _OBJECT.fullmatch(spec.strip())
    if match is None:
        return None
    return ObjectSpec(match["module"].strip(), match["name"], None if match["call"] is None else match["text"])


def load_python_object(
    spec: str, parsed: ObjectSpec, error: type[GrevalError], *, from_here: bool = True, alternatives: Iterable[str] = ()
) -> Any:  # noqa: ANN401 - any object of a user's module
    """Load the object that a spec names; with a call, the function is called and its result returned.

    Args:
        spec: The spec as it was given, for messages.
        parsed: The parsed spec.
        error: The class of the errors, such as that an import or a call fails.
        from_here: Whether modules of the current folder can be imported.
        alternatives: Further names that may have been meant instead of a missing module.
    """
    module = import_user_module(spec, parsed.module, error, from_here=from_here, alternatives=alternatives)
    value = _find_attribute(module, parsed.name, spec, error)
    if parsed.call is None:
        return value
    if not callable(value):
        raise error(f"{spec}: {parsed.name} cannot be called; leave the brackets out")
    try:
        return value(*([parsed.call] if parsed.call else []))
    except (Exception, SystemExit) as cause:
        raise error(f"{spec}: {parsed.name} raised {type(cause).__name__}: {cause}") from cause


def import_user_module(
    spec: str, module: str, error: type[GrevalError], *, from_here: bool = True, alternatives: Iterable[str] = ()
) -> ModuleType:
    """Import a module by its name, or a Python file by its path; see `load_python_object`."""
    if module.endswith(PYTHON_SUFFIX):
        return _import_file(Path(module), spec, error)
    if from_here:
        add_to_import_path(Path.cwd())
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as cause:
        missing = isinstance(cause, ModuleNotFoundError) and cause.name and f"{module}.".startswith(f"{cause.name}.")
        why = (
            f"there is no module {cause.name!r}, neither installed nor in {Path.cwd() if from_here else 'PYTHONPATH'}"  # type: ignore[union-attr]
            f"{did_you_mean(module, alternatives)}"
            if missing
            else f"it cannot be imported: {type(cause).__name__}: {cause}"
        )
        raise error(f"{spec}: {why}") from cause


def _find_attribute(module: ModuleType, name: str, spec: str, error: type[GrevalError]) -> Any:  # noqa: ANN401 - any object of a user's module
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            hint = did_you_mean(part, [attribute for attribute in vars(value) if not attribute.startswith("_")])
            raise error(f"{spec}: there is no {part!r} in it{hint}")
        value = getattr(value, part)
    return value


def _import_file(path: Path, spec: str, error: type[GrevalError]) -> ModuleType:
    """Import a Python file, again only if it changed; its folder is added to the import path."""
    if not path.is_file():
        raise error(f"{spec}: there is no file {path}")
    path = path.resolve()
    source = path.read_bytes()
    name = f"{FILE_MODULE_PREFIX}{path.stem}_{hashlib.sha256(str(path).encode() + source).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    add_to_import_path(path.parent)
    # Registered before it runs, as `dataclasses` and `pickle` look modules up by name.
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    try:
        # Without importlib, whose compiled copy on disk may be older than an edit of the same second and length.
        exec(compile(source, path, "exec"), vars(module))  # noqa: S102 - a file that the user names
    except (Exception, SystemExit) as cause:
        del sys.modules[name]
        raise error(f"{spec}: it cannot be imported: {type(cause).__name__}: {cause}") from cause
    return module


def add_to_import_path(folder: Path) -> None:
    """Make the modules of a folder importable.

    They come after all installed ones: a file beside a metric must not replace a package that is imported later.
    """
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
