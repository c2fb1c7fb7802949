"""Repositories: in rank order, each once, and each in one version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Case, compile_metric
from greval.library import load
from greval.result import Skipped


def case(repos, essential=None, versions=(), **gold):
    """Make a case of chunks by their repositories."""
    listed = [*versions, *([None] * len(repos))]
    chunks = [
        {"id": f"c{n}", "text": "", "repo": repo, "version": version}
        for n, (repo, version) in enumerate(zip(repos, listed, strict=False), 1)
    ]
    return Case(question="?", chunks=chunks, gold={"essential_repos": essential, **gold})


def judged(name, found):
    given = load(name).compute(found)
    return given if isinstance(given, Skipped) else (given[0].number, given[0].reason)


def test_precision():
    """Unique repositories in rank order, the first k; divided by how many there are."""
    found = case(["core", "core", None, "web", "ops", "web"], ["core", "ops"])
    assert judged("cross_repo_precision@2", found) == (1 / 2, "1 of 2 repositories essential; not essential: web")
    assert judged("cross_repo_precision@5", found) == (2 / 3, "2 of 3 repositories essential; not essential: web")
    assert judged("cross_repo_precision", case(["core"], ["core"])) == (1, "1 of 1 repository essential")


def test_recall():
    """The share of the essential repositories that came, the missed named."""
    found = case(["core", "web"], ["core", "ops", "ops"])
    told = "1 of 2 essential repositories among the retrieved repositories; missed: ops"
    assert judged("repo_recall", found) == (1 / 2, told)
    assert judged("repo_recall@1", case(["web", "core"], ["core"]))[0] == 0


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
def test_laws(repos, essential):
    """Both are of 0 to 1, and repeating a repository changes nothing."""
    for name in ("cross_repo_precision@3", "cross_repo_precision", "repo_recall"):
        found = judged(name, case(repos, essential))[0]
        assert 0 <= found <= 1
        assert found == judged(name, case([*repos, *repos], essential))[0]
    assert judged("repo_recall", case([*repos, *essential], essential))[0] == 1


@pytest.mark.parametrize("name", ["cross_repo_precision@5", "repo_recall"])
def test_nothing_retrieved(name):
    """Where repositories were due and nothing came, it is 0, in a run too."""
    assert judged(name, case([], ["core"]))[0] == 0
    assert compile_metric(load(name)).invoke(case([], ["core"])).judgements[0].value == 0


@pytest.mark.parametrize("name", ["cross_repo_precision", "repo_recall"])
@pytest.mark.parametrize(
    ("found", "told"),
    [
        (case([None], ["core"]), "no chunk tells its repository"),
        (case(["core"], []), "gold.essential_repos is empty"),
        (case(["core"]), "gold.essential_repos is not recorded"),
        (Case(question="?", chunks=["x"]), "gold is not recorded"),
        (Case(question="?", gold={"essential_repos": ["core"]}), "chunks is not recorded"),
    ],
)
def test_skipped(name, found, told):
    """What is not defined is skipped with its reason."""
    assert judged(name, found) == Skipped(reason=told)


class TestVersions:
    def test_conflict(self):
        """A repository in two versions is told with the chunks of each."""
        found = case(["core", "core", "web", "core"], versions=["v1", "v2", "v9", "v1"])
        assert judged("version_coherence", found) == (0, "core in v1 (chunks c1, c4) and v2 (chunk c2)")

    def test_three_versions(self):
        """Every version of a conflict is named."""
        found = case(["core"] * 3, versions=["v1", "v2", "v3"])
        assert judged("version_coherence", found)[1] == "core in v1 (chunk c1), v2 (chunk c2) and v3 (chunk c3)"

    def test_many_conflicts(self):
        """Of many conflicts a few are named."""
        repos = [f"r{n // 2}" for n in range(12)]
        found = judged("version_coherence", case(repos, versions=["v1", "v2"] * 6))
        assert found[0] == 0
        assert found[1].endswith("; and 3 more")

    def test_coherent(self):
        """Different repositories may have different versions; chunks that do not tell count for nothing."""
        found = case(["core", "web", "core", "ops"], versions=["v1", "v2", "v1", None])
        assert judged("version_coherence", found) == (1, "2 repositories, each in one version")

    @pytest.mark.parametrize("found", [case([]), case(["core"]), case([None], versions=["v1"]), Case(question="?")])
    def test_skipped(self, found):
        """Where no chunk tells its repository and version, nothing is said of them."""
        assert judged("version_coherence", found) == Skipped(reason="no chunk tells its repository and version")
