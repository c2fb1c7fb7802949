"""The methods of an evaluation. A name refers to one method per group, because each group has its own index."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from greval.errors import DataError, GrevalError, MethodError
from greval.methods import Method
from greval.methods.fair_context.answer_generation import with_generator
from greval.methods.loading import load_method
from greval.records.case import Response, Sample
from greval.runs.from_config.config import INDEX_PLACEHOLDER, EvaluationConfig

INDEX_TAG = "index"
"""The tag that holds the folder of the group's index; user-defined methods read it."""
_FILE = re.compile(r"(?P<file>[^:()?]+\.(?:py|ya?ml|json))(?P<rest>[:(?].*)?", re.DOTALL)


class GroupMethod:
    """A method that calls the method of the sample's group, with the folder of the group's index as a tag."""

    def __init__(self, by_group: Mapping[str, Method], group_by: str, indexes: Mapping[str, Path]) -> None:
        self._by_group = by_group
        self._group_by = group_by
        self._indexes = indexes

    async def __call__(self, sample: Sample, /) -> Response:
        """Return the response of the group's method.

        Raises:
            MethodError: If the group has no method.
        """
        group = sample.tags.get(self._group_by, "")
        method = self._by_group.get(group)
        if method is None:
            raise MethodError(f"no method is loaded for {self._group_by} {group!r}")
        if index := self._indexes.get(group):
            sample = sample.model_copy(update={"tags": {INDEX_TAG: str(index), **sample.tags}})
        return await method(sample)


def load_group_methods(
    config: EvaluationConfig, names: Iterable[str], groups: Mapping[str, int], root: Path
) -> dict[str, Method]:
    """Load methods for groups of samples (with the number of each), wrapped by the answering model if there is one.

    The root is added to the import path.

    Raises:
        MethodError: If methods cannot be loaded. All faults are reported at once.
        DataError: If the facts cannot be read.
    """
    root = root.resolve()
    if str(root) not in sys.path:
        sys.path.append(str(root))
    faults: list[str] = []
    methods: dict[str, Method] = {}
    for name in names:
        try:
            methods[name] = _load_by_group(resolve_spec(config.find_spec(name) or "", root), groups, config, root)
        except GrevalError as error:
            faults.append(f"methods: {name}: {error}")
    if faults:
        raise MethodError("\n".join(faults))
    generation = config.generation
    if generation is None:
        return methods
    facts = root / generation.facts if generation.facts else None
    return with_generator(methods, generation.judge, context=generation.context, facts=facts, by=generation.by)


def resolve_spec(spec: str, root: Path) -> str:
    """Return a spec with the full path of its file, if the file exists under the root; other specs are unchanged.

    Example:
        >>> resolve_spec("my_module:ask", Path("/data"))
        'my_module:ask'
    """
    found = _FILE.fullmatch(spec)
    if not found or not (root / found["file"]).is_file():
        return spec
    return f"{root / found['file']}{found['rest'] or ''}"


def _load_by_group(spec: str, groups: Mapping[str, int], config: EvaluationConfig, root: Path) -> Method:
    """Load the method of a spec: once for all groups, or once per group if the spec contains the index placeholder."""
    indexes = {group: (root / folder).resolve() for group, folder in config.indexes.items()}
    if INDEX_PLACEHOLDER not in spec:
        return GroupMethod(dict.fromkeys(groups, load_method(spec)), config.dataset.group_by, indexes)
    if lacking := [f"{group} ({count} questions)" for group, count in groups.items() if group not in indexes]:
        raise DataError(f"no index for {', '.join(lacking)}; add a folder for each under indexes")
    loaded = {group: load_method(spec.replace(INDEX_PLACEHOLDER, str(indexes[group]))) for group in groups}
    return GroupMethod(loaded, config.dataset.group_by, indexes)
