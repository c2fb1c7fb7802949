"""Repositories: whether the retrieved chunks come from the right ones, each in one version."""

from __future__ import annotations

from collections.abc import Callable

from greval.case import Case, Chunk
from greval.metric import ComputedMetric
from greval.metrics import formulas
from greval.metrics.making import Compute, Family, Setting, judged, share, yes_no
from greval.metrics.telling import counted, names, shares
from greval.result import Judgement, Skipped

Repositories = tuple[str, ...]
MOST_CONFLICTS = 3


def repositories(case: Case) -> Repositories | Skipped:
    """Give the repositories of the chunks in order, each at its first place, or why there are none."""
    if case.chunks is None:
        return Skipped(reason="chunks is not recorded")
    told = tuple(dict.fromkeys(chunk.repo for chunk in case.chunks if chunk.repo))
    return Skipped(reason="no chunk tells its repository") if case.chunks and not told else told


def _due(case: Case) -> Repositories | Skipped:
    """Give the essential repositories, or why there are none."""
    if case.gold is None:
        return Skipped(reason="gold is not recorded")
    if case.gold.essential_repos is None:
        return Skipped(reason="gold.essential_repos is not recorded")
    return tuple(dict.fromkeys(case.gold.essential_repos)) or Skipped(reason="gold.essential_repos is empty")


def _against(give: Callable[[Repositories, Repositories], tuple[Judgement, ...]]) -> Compute:
    """Give the computation over the repositories that were found and those that were due."""

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
        optional=("chunks",),
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
        optional=("chunks",),
        scale=share(),
        compute=_against(give),
    )


def _coherence(name: str, _: Setting) -> ComputedMetric:
    return ComputedMetric(
        name=name,
        description="Whether each repository appears in one version only.",
        needs=("chunks",),
        scale=yes_no("Each repository appears in one version.", "A repository appears in several versions."),
        compute=_one_version,
    )


def _one_version(case: Case) -> tuple[Judgement, ...] | Skipped:
    """Judge whether each repository appears in one version; chunks that do not tell both count for nothing."""
    versions: dict[str, dict[str, list[Chunk]]] = {}
    for chunk in case.chunks or ():
        if chunk.repo and chunk.version:
            versions.setdefault(chunk.repo, {}).setdefault(chunk.version, []).append(chunk)
    if not versions:
        return Skipped(reason="no chunk tells its repository and version")
    conflicts = [_conflict(repo, found) for repo, found in versions.items() if len(found) > 1]
    if not conflicts:
        return judged(1, f"{counted(len(versions), 'repository')}, each in one version")
    more = f"; and {len(conflicts) - MOST_CONFLICTS} more" if len(conflicts) > MOST_CONFLICTS else ""
    return judged(0, "; ".join(conflicts[:MOST_CONFLICTS]) + more)


def _conflict(repo: str, versions: dict[str, list[Chunk]]) -> str:
    """Tell in which versions a repository appears, and in which chunks."""
    told = [
        f"{version} (chunk{'s' if len(chunks) > 1 else ''} {names((chunk.id for chunk in chunks), 3)})"
        for version, chunks in versions.items()
    ]
    return f"{repo} in {', '.join(told[:-1])} and {told[-1]}"


FAMILIES = (
    Family("cross_repo_precision", _precision, at="cutoff"),
    Family("repo_recall", _recall, at="cutoff"),
    Family("version_coherence", _coherence),
)
"""The metrics of repositories."""
