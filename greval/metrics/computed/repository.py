"""Repository metrics: whether chunks and visited nodes come from the essential repositories, each in one version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from greval._util.wording import format_count, format_found_share, format_names
from greval.metrics.computed import formulas
from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    build_yes_no_scale,
    explain_unmet_ids,
)
from greval.records.case import Case
from greval.records.metric import ComparedIds, ComputedMetric
from greval.records.result import Judgement, Skipped

Repositories = tuple[str, ...]
JudgeRepositories = Callable[[Repositories, Repositories], tuple[Judgement, ...]]
MAX_CONFLICTS = 3


class RetrievedSource(NamedTuple):
    """A chunk or a visited node, with its repository and version as far as they are known."""

    kind: str
    name: str
    repo: str | None
    version: str | None


def list_sources(case: Case) -> list[RetrievedSource] | Skipped:
    """List the chunks in order, then the visited nodes with a recorded source; or return why neither is recorded."""
    nodes = case.traversal.nodes if case.traversal else None
    if case.chunks is None and nodes is None:
        return Skipped(reason="chunks is not recorded")
    chunks = [RetrievedSource("chunk", chunk.id, chunk.repo, chunk.version) for chunk in case.chunks or ()]
    visited = case.traversal.visited if case.traversal else ()
    walked = [(name, nodes[name]) for name in visited if nodes and name in nodes]
    return [*chunks, *(RetrievedSource("node", name, node.repo, node.version) for name, node in walked)]


def list_repositories(case: Case) -> Repositories | Skipped:
    """List the distinct repositories of chunks and nodes in order of first occurrence, or return why none is known."""
    sources = list_sources(case)
    if isinstance(sources, Skipped):
        return sources
    repositories = tuple(dict.fromkeys(source.repo for source in sources if source.repo))
    return (
        Skipped(reason=f"no {_format_kinds(sources)} names its repository")
        if sources and not repositories
        else repositories
    )


def _format_kinds(sources: Sequence[RetrievedSource]) -> str:
    return " and no ".join(dict.fromkeys(source.kind for source in sources)) or "chunk"


def _list_essential(case: Case) -> Repositories | Skipped:
    """List the essential repositories, or return why the gold has none."""
    if case.gold is None:
        return Skipped(reason="gold is not recorded")
    if case.gold.essential_repos is None:
        return Skipped(reason="gold.essential_repos is not recorded")
    return tuple(dict.fromkeys(case.gold.essential_repos)) or Skipped(reason="gold.essential_repos is empty")


def _list_compared_repositories(case: Case) -> tuple[Repositories, Repositories]:
    """Return the essential repositories and those of chunks and nodes, empty if they are not known."""
    essential, retrieved = _list_essential(case), list_repositories(case)
    return () if isinstance(essential, Skipped) else essential, () if isinstance(retrieved, Skipped) else retrieved


REPOSITORY_NAMES = ComparedIds(_list_compared_repositories, ("essential repositories", "retrieved repositories"))


def _build_share_metric(name: str, description: str, judge: JudgeRepositories) -> ComputedMetric:
    """Build a metric whose function judges the retrieved repositories of a case against the essential ones."""

    def compute(case: Case) -> JudgementsOrSkipped:
        retrieved, essential = list_repositories(case), _list_essential(case)
        if isinstance(essential, Skipped):
            return essential
        if isinstance(retrieved, Skipped):
            return retrieved
        return explain_unmet_ids(essential, retrieved, "repositories") or judge(retrieved, essential)

    return ComputedMetric(
        name=name,
        description=description,
        needs=("gold",),
        optional=("chunks", "traversal"),
        scale=build_share_scale(),
        compute=compute,
        compared_ids=REPOSITORY_NAMES,
    )


def _format_first(setting: MetricSetting) -> str:
    return "retrieved " if setting.k is None else f"first {setting.k:,} "


def _build_precision(name: str, setting: MetricSetting) -> ComputedMetric:
    def judge(retrieved: Repositories, essential: Repositories) -> tuple[Judgement, ...]:
        first = retrieved[: setting.k]
        right = [repo in essential for repo in first]
        wrong = [repo for repo in first if repo not in essential]
        reason = f"{sum(right)} of {format_count(len(first), 'repository')} essential"
        text = f"{reason}; not essential: {format_names(wrong)}" if wrong else reason
        return build_judgement(formulas.precision(right), text if first else "nothing was retrieved")

    description = f"Share of the {_format_first(setting)}repositories, each once in their order, that is essential."
    return _build_share_metric(name, description, judge)


def _build_recall(name: str, setting: MetricSetting) -> ComputedMetric:
    def judge(retrieved: Repositories, essential: Repositories) -> tuple[Judgement, ...]:
        first = retrieved[: setting.k]
        where = f"among the {_format_first(setting)}repositories" if first else "as nothing was retrieved"
        reason = format_found_share({*first}, essential, "essential repository", where)
        return build_judgement(formulas.recall([repo in essential for repo in first], len(essential)), reason)

    description = f"Share of the essential repositories that is among the {_format_first(setting)}repositories."
    return _build_share_metric(name, description, judge)


def _build_coherence(name: str, _: MetricSetting) -> ComputedMetric:
    return ComputedMetric(
        name=name,
        description="Whether each repository appears in one version only.",
        needs=(),
        optional=("chunks", "traversal"),
        scale=build_yes_no_scale(
            "Each repository appears in one version.", "A repository appears in several versions."
        ),
        compute=_judge_coherence,
    )


def _judge_coherence(case: Case) -> JudgementsOrSkipped:
    """Judge whether each repository appears in one version; sources without repository or version are ignored."""
    sources = list_sources(case)
    if isinstance(sources, Skipped):
        return sources
    versions: dict[str, dict[str, list[RetrievedSource]]] = {}
    for source in sources:
        if source.repo and source.version:
            versions.setdefault(source.repo, {}).setdefault(source.version, []).append(source)
    if not versions:
        return Skipped(reason=f"no {_format_kinds(sources)} names its repository and version")
    conflicts = [
        _format_conflict(repo, sources_by_version)
        for repo, sources_by_version in versions.items()
        if len(sources_by_version) > 1
    ]
    if not conflicts:
        return build_judgement(1, f"{format_count(len(versions), 'repository')}, each in one version")
    more = f"; and {len(conflicts) - MAX_CONFLICTS} more" if len(conflicts) > MAX_CONFLICTS else ""
    return build_judgement(0, "; ".join(conflicts[:MAX_CONFLICTS]) + more)


def _format_conflict(repo: str, versions: dict[str, list[RetrievedSource]]) -> str:
    occurrences = [f"{version} ({_format_source_names(sources)})" for version, sources in versions.items()]
    return f"{repo} in {', '.join(occurrences[:-1])} and {occurrences[-1]}"


def _format_source_names(sources: Sequence[RetrievedSource]) -> str:
    """Format the names of the first chunks and the first nodes."""
    names_by_kind: dict[str, list[str]] = {}
    for source in sources:
        names_by_kind.setdefault(source.kind, []).append(source.name)
    return "; ".join(
        f"{kind}{'s' if len(names) > 1 else ''} {format_names(names, 3)}" for kind, names in names_by_kind.items()
    )


FAMILIES = (
    MetricFamily("cross_repo_precision", _build_precision, at="cutoff"),
    MetricFamily("repo_recall", _build_recall, at="cutoff"),
    MetricFamily("version_coherence", _build_coherence),
)
"""The families of repository metrics."""
