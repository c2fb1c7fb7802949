"""Repository metrics: whether chunks and visited nodes come from the essential repositories, each in one version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from greval._util.wording import counted, names, shares
from greval.metrics.computed import formulas
from greval.metrics.computed.families import Compute, Family, Setting, judged, share, yes_no
from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.result import Judgement, Skipped

Repositories = tuple[str, ...]
MOST_CONFLICTS = 3


class Source(NamedTuple):
    """A chunk or a visited node, with its repository and version as far as they are known."""

    kind: str
    name: str
    repo: str | None
    version: str | None


def list_sources(case: Case) -> list[Source] | Skipped:
    """List the chunks in order, then the visited nodes with a recorded source; or return why neither is recorded."""
    nodes = case.traversal.nodes if case.traversal else None
    if case.chunks is None and nodes is None:
        return Skipped(reason="chunks is not recorded")
    chunks = [Source("chunk", chunk.id, chunk.repo, chunk.version) for chunk in case.chunks or ()]
    visited = case.traversal.visited if case.traversal else ()
    walked = [(name, nodes[name]) for name in visited if nodes and name in nodes]
    return [*chunks, *(Source("node", name, node.repo, node.version) for name, node in walked)]


def repositories(case: Case) -> Repositories | Skipped:
    """List the distinct repositories of chunks and nodes in order of first occurrence, or return why none is known."""
    sources = list_sources(case)
    if isinstance(sources, Skipped):
        return sources
    told = tuple(dict.fromkeys(source.repo for source in sources if source.repo))
    return Skipped(reason=f"no {_kinds(sources)} tells its repository") if sources and not told else told


def _kinds(sources: Sequence[Source]) -> str:
    """Format the kinds of sources that are present: chunks, nodes or both."""
    return " and no ".join(dict.fromkeys(source.kind for source in sources)) or "chunk"


def _due(case: Case) -> Repositories | Skipped:
    """List the essential repositories, or return why the gold has none."""
    if case.gold is None:
        return Skipped(reason="gold is not recorded")
    if case.gold.essential_repos is None:
        return Skipped(reason="gold.essential_repos is not recorded")
    return tuple(dict.fromkeys(case.gold.essential_repos)) or Skipped(reason="gold.essential_repos is empty")


def _against(give: Callable[[Repositories, Repositories], tuple[Judgement, ...]]) -> Compute:
    """Build the function of a case that judges its retrieved repositories against the essential ones."""

    def compute(case: Case) -> tuple[Judgement, ...] | Skipped:
        found, due = repositories(case), _due(case)
        if isinstance(due, Skipped):
            return due
        return found if isinstance(found, Skipped) else give(found, due)

    return compute


def _first(setting: Setting) -> str:
    return "retrieved " if setting.k is None else f"first {setting.k:,} "


def _precision(name: str, setting: Setting) -> ComputedMetric:
    def give(found: Repositories, due: Repositories) -> tuple[Judgement, ...]:
        first = found[: setting.k]
        right = [repo in due for repo in first]
        wrong = [repo for repo in first if repo not in due]
        reason = f"{sum(right)} of {counted(len(first), 'repository')} essential"
        told = f"{reason}; not essential: {names(wrong)}" if wrong else reason
        return judged(formulas.precision(right), told if first else "nothing was retrieved")

    return ComputedMetric(
        name=name,
        description=f"Share of the {_first(setting)}repositories, each once in their order, that is essential.",
        needs=("gold",),
        optional=("chunks", "traversal"),
        scale=share(),
        compute=_against(give),
    )


def _recall(name: str, setting: Setting) -> ComputedMetric:
    def give(found: Repositories, due: Repositories) -> tuple[Judgement, ...]:
        first = found[: setting.k]
        where = f"among the {_first(setting)}repositories" if first else "as nothing was retrieved"
        told = shares({*first}, due, "essential repository", where)
        return judged(formulas.recall([repo in due for repo in first], len(due)), told)

    return ComputedMetric(
        name=name,
        description=f"Share of the essential repositories that is among the {_first(setting)}repositories.",
        needs=("gold",),
        optional=("chunks", "traversal"),
        scale=share(),
        compute=_against(give),
    )


def _coherence(name: str, _: Setting) -> ComputedMetric:
    return ComputedMetric(
        name=name,
        description="Whether each repository appears in one version only.",
        needs=(),
        optional=("chunks", "traversal"),
        scale=yes_no("Each repository appears in one version.", "A repository appears in several versions."),
        compute=_one_version,
    )


def _one_version(case: Case) -> tuple[Judgement, ...] | Skipped:
    """Judge whether each repository appears in one version; sources without repository or version are ignored."""
    sources = list_sources(case)
    if isinstance(sources, Skipped):
        return sources
    versions: dict[str, dict[str, list[Source]]] = {}
    for source in sources:
        if source.repo and source.version:
            versions.setdefault(source.repo, {}).setdefault(source.version, []).append(source)
    if not versions:
        return Skipped(reason=f"no {_kinds(sources)} tells its repository and version")
    conflicts = [_conflict(repo, found) for repo, found in versions.items() if len(found) > 1]
    if not conflicts:
        return judged(1, f"{counted(len(versions), 'repository')}, each in one version")
    more = f"; and {len(conflicts) - MOST_CONFLICTS} more" if len(conflicts) > MOST_CONFLICTS else ""
    return judged(0, "; ".join(conflicts[:MOST_CONFLICTS]) + more)


def _conflict(repo: str, versions: dict[str, list[Source]]) -> str:
    """Format the versions of a repository with the chunks and nodes in which they occur."""
    told = [f"{version} ({_list_names(sources)})" for version, sources in versions.items()]
    return f"{repo} in {', '.join(told[:-1])} and {told[-1]}"


def _list_names(sources: Sequence[Source]) -> str:
    """Format the names of the first chunks and the first nodes."""
    found: dict[str, list[str]] = {}
    for source in sources:
        found.setdefault(source.kind, []).append(source.name)
    return "; ".join(f"{kind}{'s' if len(own) > 1 else ''} {names(own, 3)}" for kind, own in found.items())


FAMILIES = (
    Family("cross_repo_precision", _precision, at="cutoff"),
    Family("repo_recall", _recall, at="cutoff"),
    Family("version_coherence", _coherence),
)
"""The families of repository metrics."""
