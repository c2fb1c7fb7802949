"""Metrics in Python code, by `file.py:name` or `module:name`: definitions, and functions that become metrics."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from greval._util.object_loading import (
    FILE_MODULE_PREFIX,
    PYTHON_SUFFIX,
    ObjectSpec,
    import_user_module,
    load_python_object,
    parse_object_spec,
)
from greval.errors import DefinitionError
from greval.metrics.dependencies import MetricSource
from greval.records.case import FIELDS, Case, read_need
from greval.records.metric import ComputedMetric, DerivedMetric, Metric
from greval.records.scale import CategoricalScale, MeasureScale

HOW_TO_WRITE = "name a metric, or a function of a case such as def length(answer): return len(answer)"
VERSION_DIGITS = 16
VERSION_NAME = "__greval_version__"


def is_python_spec(text: str) -> bool:
    """Return whether a text names Python code: `file.py`, `file.py:name` or `module:name`."""
    return text.endswith(PYTHON_SUFFIX) or parse_object_spec(text) is not None


def load_python_metric(spec: str) -> Metric:
    """Load the metric that a spec names; see `load_python_metrics`."""
    sources = load_python_metrics(spec)
    if len(sources) > 1:
        names = ", ".join(f"{spec}:{source.metric.name}" for source in sources)
        raise DefinitionError(f"{spec}: defines {len(sources)} metrics; name one: {names}")
    return sources[0].metric


def load_python_metrics(spec: str) -> tuple[MetricSource, ...]:
    """Load the metric that `file.py:name` or `module:name` names, or all metrics that `file.py` defines.

    A function becomes a computed metric of its name, see `build_function_metric`. A computed metric gets the hash of
    its file as its version, so that its results are computed again if the file changes.
    """
    parsed = parse_object_spec(spec)
    if parsed is None:
        module = import_user_module(spec, spec, DefinitionError)
        defined = _list_defined_metrics(module)
        if not defined:
            raise DefinitionError(f"{spec}: defines no metric; name a function in it, such as {spec}:length")
        loaded = [*defined.values()]
    else:
        python_object = load_python_object(spec, parsed, DefinitionError)
        module = import_user_module(spec, parsed.module, DefinitionError)
        loaded = [_add_version(_convert_to_metric(python_object, parsed, spec), module)]
        defined = _list_defined_metrics(module)
    file = getattr(module, "__file__", None)
    return tuple(MetricSource(metric, spec, Path(file).parent if file else None, defined) for metric in loaded)


def list_file_modules(metrics: Iterable[Metric]) -> list[ModuleType]:
    """List the modules of functions from a Python file, which other processes cannot import by name."""
    functions = (
        inspect.unwrap(metric.compute) for metric in metrics if isinstance(metric, ComputedMetric | DerivedMetric)
    )
    names = dict.fromkeys(getattr(function, "__module__", None) or "" for function in functions)
    return [sys.modules[name] for name in names if name.startswith(FILE_MODULE_PREFIX)]


def build_function_metric(function: Callable[..., Any], name: str) -> ComputedMetric:
    """Build a computed metric of a function.

    The function takes the case, or fields of the case by their names. Fields without a default are needed: a case
    without them is skipped. The first paragraph of its docstring is the description. The annotation of its return
    value determines the scale: `bool` gives 0 or 1, `Literal["a", "b"]` categories without an order, a scale in
    `Annotated[float, MeasureScale(low=-1, high=1)]` that scale, and anything else numbers from 0.

    Example:
        >>> def length(answer: str) -> int:
        ...     '''Count the characters of the answer.'''
        ...     return len(answer)
        >>> metric = build_function_metric(length, "length")
        >>> metric.needs, metric.description
        (('answer',), 'Count the characters of the answer.')
    """
    if inspect.iscoroutinefunction(function):
        raise DefinitionError(f"{name}: is asynchronous; write it as def, not async def")
    parameters = [*_read_parameters(function, name).values()]
    takes_case = len(parameters) == 1 and parameters[0].name not in FIELDS
    if not takes_case and (unknown := [parameter.name for parameter in parameters if parameter.name not in FIELDS]):
        unknown_names = ", ".join(unknown)
        raise DefinitionError(
            f"{name}: takes {unknown_names}; a function takes the case, or fields of it: {', '.join(FIELDS)}"
        )
    needs = (
        () if takes_case else tuple(parameter.name for parameter in parameters if parameter.default is parameter.empty)
    )
    optional = (
        FIELDS if takes_case else tuple(parameter.name for parameter in parameters if parameter.name not in needs)
    )
    description = (inspect.getdoc(function) or "").split("\n\n")[0]
    try:
        return ComputedMetric(
            name=name,
            description=" ".join(description.split()) or f"Computed by {name}().",
            needs=needs,
            optional=optional,
            scale=_find_scale(function),
            compute=function if takes_case else _pass_fields(function, needs, optional),
        )
    except ValidationError as error:
        raise DefinitionError(*(f"{name}: {fault['msg']}" for fault in error.errors())) from error


def _read_parameters(function: Callable[..., Any], name: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function without `*args` and `**options`; raise `DefinitionError` if it has none."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"{name}: its parameters cannot be read; {HOW_TO_WRITE}") from error
    readable = {
        key: parameter
        for key, parameter in parameters.items()
        if parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    }
    if not readable:
        raise DefinitionError(f"{name}: takes nothing of a case; {HOW_TO_WRITE}")
    return readable


def _pass_fields(function: Callable[..., Any], needs: tuple[str, ...], optional: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of a case that calls a function of its fields; optional ones are left out if not recorded."""

    @wraps(function)
    def compute(case: Case) -> Any:  # noqa: ANN401 - what the user's function returns
        values = {need: read_need(case, need) for need in (*needs, *optional)}
        return function(**{need: value for need, value in values.items() if need in needs or value is not None})

    return compute


def _find_scale(function: Callable[..., Any]) -> CategoricalScale | MeasureScale:
    try:
        annotation = get_type_hints(function, include_extras=True).get("return")
    except (NameError, TypeError, AttributeError):
        # The annotation exists for type checkers only.
        annotation = None
    if annotation is bool:
        return MeasureScale(high=1.0)
    if get_origin(annotation) is Literal:
        names = [str(name) for name in get_args(annotation)]
        return CategoricalScale.model_validate({"categories": dict.fromkeys(names, ""), "ordered": False})
    stated = (mark for mark in get_args(annotation) if isinstance(mark, MeasureScale | CategoricalScale))
    return next(stated, MeasureScale())


def _convert_to_metric(python_object: object, parsed: ObjectSpec, spec: str) -> Metric:
    if isinstance(python_object, Metric):
        return python_object
    if inspect.isclass(python_object) or not callable(python_object):
        kind = f"a {type(python_object).__name__}"
        kind = f"the class {python_object.__name__}" if inspect.isclass(python_object) else kind
        raise DefinitionError(f"{spec}: is {kind}, no metric; {HOW_TO_WRITE}")
    return build_function_metric(python_object, parsed.name.rpartition(".")[2])


def _list_defined_metrics(module: ModuleType) -> dict[str, Metric]:
    """Return the metrics that a module holds under names of its own, by the names of the metrics."""
    public_objects = [candidate for name, candidate in vars(module).items() if not name.startswith("_")]
    return {
        candidate.name: _add_version(candidate, module) for candidate in public_objects if isinstance(candidate, Metric)
    }


def _add_version(metric: Metric, module: ModuleType) -> Metric:
    """Return the metric with the hash of its module's file as its version, if it is computed and has none."""
    if not isinstance(metric, ComputedMetric | DerivedMetric) or metric.version:
        return metric
    function = inspect.unwrap(metric.compute)
    modules = dict.fromkeys([module, sys.modules.get(getattr(function, "__module__", None) or "", module)])
    return metric.model_copy(update={"version": "-".join(filter(None, map(_hash_module, modules)))})


def _hash_module(module: ModuleType) -> str:
    """Return the hash of the file of a module, empty for a module without a file."""
    # Kept with the module: the file may change, the code that was imported does not.
    if VERSION_NAME not in vars(module):
        file = getattr(module, "__file__", None)
        vars(module)[VERSION_NAME] = (
            hashlib.sha256(Path(file).read_bytes()).hexdigest()[:VERSION_DIGITS] if file else ""
        )
    return str(vars(module)[VERSION_NAME])
