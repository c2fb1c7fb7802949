"""The methods of a run. If it has groups, a name refers to one method per group, because each has its own index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval.apps import import_by_name
from greval.errors import DataError, GrevalError, MethodError
from greval.judging.model.judge import Judge
from greval.methods.fair_context.answer_generation import with_generator
from greval.methods.loading import load_method
from greval.methods.protocol import Method
from greval.methods.reference_index import has_reference_index
from greval.records.case import Response, Sample
from greval.runs.config.group_indexes import GroupIndex, build_search_spec
from greval.runs.config.model import INDEX_PLACEHOLDER, RunConfig

INDEX_TAG = "index"
"""The tag that holds the folder of the group's index; user-defined methods read it."""
THINK_ON_GRAPH = "tog"
"""The search that asks a model also when another one answers."""


class GroupMethod:
    """A method that calls the method of the sample's group, with the folder of the group's index as a tag."""

    def __init__(self, by_group: Mapping[str, Method], group_by: str, indexes: Mapping[str, Path]) -> None:
        self._by_group = by_group
        self._group_by = group_by
        self._indexes = indexes

    async def __call__(self, sample: Sample, /) -> Response:
        """Return the response of the group's method."""
        group = sample.tags.get(self._group_by, "")
        method = self._by_group.get(group)
        if method is None:
            raise MethodError(f"no method is loaded for {self._group_by} {group!r}")
        if index := self._indexes.get(group):
            # A tag of this name in the data goes before it.
            sample = sample.model_copy(update={"tags": {INDEX_TAG: str(index), **sample.tags}})
        return await method(sample)


def load_run_methods(
    config: RunConfig,
    groups: Mapping[str, int],
    indexes: Mapping[str, GroupIndex],
    answering: Judge | BaseChatModel | None = None,
) -> dict[str, Method]:
    """Load the methods of a configuration, for groups of samples if it has groups, with the number of each.

    They are wrapped by the model of `generation` if there is one. `answering` is the model that answers for searches
    without a spec.
    """
    faults: list[str] = []
    methods: dict[str, Method] = {}
    for name, spec in (config.methods or {}).items():
        try:
            if config.group_by is None:
                methods[name] = load_method(_require_spec(name, spec))
                continue
            if spec is None:
                # If a model answers for all methods, a search needs none of its own, except one that asks it while it
                # walks.
                needs_model = name == THINK_ON_GRAPH or config.answering or not config.generation
                by_group = _load_search(name, groups, indexes, answering if needs_model else None)
            else:
                by_group = _load_by_group(spec, groups, indexes)
        except GrevalError as error:
            faults.append(f"methods: {name}: {error}")
        else:
            folders = {group: index.root for group, index in indexes.items()}
            methods[name] = GroupMethod(by_group, config.group_by, folders)
    if faults:
        raise MethodError("\n".join(faults))
    generation = config.generation
    if generation is None:
        return methods
    facts = Path(generation.facts) if generation.facts else None
    return with_generator(methods, generation.judge, context=generation.context, facts=facts, by=generation.by)


def check_searches(config: RunConfig, groups: Mapping[str, int], indexes: Mapping[str, GroupIndex]) -> None:
    """Check that the index of each group has the searches that methods without a spec are."""
    faults: list[str] = []
    for name in (name for name, spec in (config.methods or {}).items() if spec is None):
        try:
            _require_indexes(groups, indexes)
            for group in groups:
                build_search_spec(name, indexes[group])
        except DataError as error:
            faults.append(f"methods: {name}: {error}")
    if faults:
        raise MethodError("\n".join(faults))


def _require_spec(name: str, spec: str | None) -> str:
    """Return the spec of a method that is not a search of a group's index."""
    if spec is None or INDEX_PLACEHOLDER in spec:
        needy = spec or f"{name}, which has no spec,"
        raise MethodError(f"{needy} needs the index of a group; add group_by, and indexes with a folder for each group")
    return spec


def _load_by_group(spec: str, groups: Mapping[str, int], indexes: Mapping[str, GroupIndex]) -> dict[str, Method]:
    """Load the method of a spec: once for all groups, or once per group if the spec contains the index placeholder."""
    if INDEX_PLACEHOLDER not in spec:
        return dict.fromkeys(groups, load_method(spec))
    _require_indexes(groups, indexes)
    return {group: load_method(spec.replace(INDEX_PLACEHOLDER, str(indexes[group].root))) for group in groups}


def _load_search(
    name: str, groups: Mapping[str, int], indexes: Mapping[str, GroupIndex], answering: Judge | BaseChatModel | None
) -> dict[str, Method]:
    """Load the search that a method without a spec is, for the index of each group, which `check_searches` found."""
    return {group: _load_index_search(name, indexes[group], answering) for group in groups}


def _load_index_search(name: str, index: GroupIndex, answering: Judge | BaseChatModel | None) -> Method:
    spec = build_search_spec(name, index).replace(INDEX_PLACEHOLDER, str(index.folder))
    if not index.is_reference:
        return load_method(spec)
    if not has_reference_index(index.folder):
        return _MissingIndex(index)
    method: Method = import_by_name("greval.reference.method").load(spec.partition(":")[2], answering)
    return method


class _MissingIndex:
    """The method of an index that is not made yet, as in a forecast, which calls no method."""

    def __init__(self, index: GroupIndex) -> None:
        self._index = index

    async def __call__(self, _: Sample, /) -> Response:
        raise MethodError(f"{self._index.folder}: the index is not made yet")


def _require_indexes(groups: Mapping[str, int], indexes: Mapping[str, GroupIndex]) -> None:
    """Raise `DataError` if a group has no index."""
    if lacking := [f"{group} ({count} questions)" for group, count in groups.items() if group not in indexes]:
        raise DataError(f"no index for {', '.join(lacking)}; add a folder for each under indexes")
