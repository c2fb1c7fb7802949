"""Repositories: in rank order, each once, and each in one version."""

from __future__ import annotations

import json

import pytest
from computed_figures import compute
from hypothesis import given
from hypothesis import strategies as st

from greval import Case, ValueMetric
from greval.judging.prompt import format_case_text
from greval.records.result import Skipped


def case(repos, essential=None, versions=(), **gold):
    """Make a case of chunks by their repositories."""
    listed = [*versions, *([None] * len(repos))]
    chunks = [
        {"id": f"c{n}", "text": "", "repo": repo, "version": version}
        for n, (repo, version) in enumerate(zip(repos, listed, strict=False), 1)
    ]
    return Case(question="?", chunks=chunks, gold={"essential_repos": essential, **gold})


def test_precision():
    """Unique repositories in rank order, the first k; divided by how many there are."""
    retrieval = case(["core", "core", None, "web", "ops", "web"], ["core", "ops"])
    assert compute("cross_repo_precision@2", retrieval) == (
        1 / 2,
        "1 of 2 repositories essential; not essential: web",
    )
    assert compute("cross_repo_precision@5", retrieval) == (
        2 / 3,
        "2 of 3 repositories essential; not essential: web",
    )
    assert compute("cross_repo_precision", case(["core"], ["core"])) == (1, "1 of 1 repository essential")


def test_recall():
    """The share of the essential repositories that came, the missed named."""
    retrieval = case(["core", "web"], ["core", "ops", "ops"])
    told = "1 of 2 essential repositories among the retrieved repositories; missed: ops"
    assert compute("repo_recall", retrieval) == (1 / 2, told)
    assert compute("repo_recall@1", case(["web", "core"], ["core"]))[0] == 0


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
def test_laws(repos, essential):
    """Both are of 0 to 1, and repeating a repository changes nothing."""
    for name in ("cross_repo_precision@3", "cross_repo_precision", "repo_recall"):
        figure = compute(name, case(repos, essential))[0]
        assert 0 <= figure <= 1
        assert figure == compute(name, case([*repos, *repos], essential))[0]
    assert compute("repo_recall", case([*repos, *essential], essential))[0] == 1


@pytest.mark.parametrize("name", ["cross_repo_precision@5", "repo_recall"])
def test_nothing_retrieved(name):
    """Where repositories were due and nothing came, it is 0."""
    assert compute(name, case([], ["core"]))[0] == 0


@pytest.mark.parametrize("name", ["cross_repo_precision", "repo_recall"])
@pytest.mark.parametrize(
    ("retrieval", "told"),
    [
        (case([None], ["core"]), "no chunk names its repository"),
        (case(["core"], []), "gold.essential_repos is empty"),
        (case(["core"]), "gold.essential_repos is not recorded"),
        (Case(question="?", chunks=["x"]), "gold is not recorded"),
        (Case(question="?", gold={"essential_repos": ["core"]}), "chunks is not recorded"),
    ],
)
def test_skipped(name, retrieval, told):
    """What is not defined is skipped with its reason."""
    assert compute(name, retrieval) == Skipped(reason=told)


class TestVersions:
    def test_conflict(self):
        """A repository in two versions is told with the chunks of each."""
        retrieval = case(["core", "core", "web", "core"], versions=["v1", "v2", "v9", "v1"])
        assert compute("version_coherence", retrieval) == (0, "core in v1 (chunks c1, c4) and v2 (chunk c2)")

    def test_three_versions(self):
        """Every version of a conflict is named."""
        retrieval = case(["core"] * 3, versions=["v1", "v2", "v3"])
        assert compute("version_coherence", retrieval)[1] == "core in v1 (chunk c1), v2 (chunk c2) and v3 (chunk c3)"

    def test_many_conflicts(self):
        """Of many conflicts a few are named."""
        repos = [f"r{n // 2}" for n in range(12)]
        outcome = compute("version_coherence", case(repos, versions=["v1", "v2"] * 6))
        assert outcome[0] == 0
        assert outcome[1].endswith("; and 3 more")

    def test_coherent(self):
        """Different repositories may have different versions; chunks that do not tell count for nothing."""
        retrieval = case(["core", "web", "core", "ops"], versions=["v1", "v2", "v1", None])
        assert compute("version_coherence", retrieval) == (1, "2 repositories, each in one version")

    @pytest.mark.parametrize("retrieval", [case([]), case(["core"]), case([None], versions=["v1"])])
    def test_skipped(self, retrieval):
        """Where no chunk names its repository and version, nothing is said of them."""
        assert compute("version_coherence", retrieval) == Skipped(reason="no chunk names its repository and version")

    def test_nothing_recorded(self):
        """Without chunks and a walk whose nodes tell where they come from, it is skipped."""
        for unrecorded in (Case(question=""), Case(question="?", traversal={"start_nodes": ["a"]})):
            assert compute("version_coherence", unrecorded) == Skipped(reason="chunks is not recorded")


WALK = {
    "start_nodes": ["login"],
    "traversed_edges": [["login", "calls", "token"]],
    "final_nodes": ["token"],
    "nodes": {
        "login": {"repo": "core", "version": "v2"},
        "token": {"repo": "web", "version": "v1"},
        "not visited": {"repo": "ops", "version": "v1"},
    },
}


class TestWalk:
    def test_nodes_count_as_chunks_do(self):
        """A repository in one version by its chunks and another by a node of the walk is a conflict."""
        chunks = [{"id": "c1", "text": "", "repo": "core", "version": "v1"}]
        retrieval = Case(question="?", chunks=chunks, traversal=WALK, gold={"essential_repos": ["core", "web"]})
        assert compute("version_coherence", retrieval) == (0, "core in v1 (chunk c1) and v2 (node login)")
        assert compute("cross_repo_precision", retrieval) == (1, "2 of 2 repositories essential")
        assert compute("repo_recall", retrieval)[0] == 1
        assert compute("cross_repo_precision@1", retrieval)[0] == 1

    def test_a_walk_alone(self):
        """Without chunks the walk is looked at; nodes that it did not visit count for nothing."""
        retrieval = Case(question="?", traversal=WALK, gold={"essential_repos": ["core"]})
        assert compute("version_coherence", retrieval) == (1, "2 repositories, each in one version")
        assert compute("cross_repo_precision", retrieval) == (
            1 / 2,
            "1 of 2 repositories essential; not essential: web",
        )
        silent = {**WALK, "nodes": {"login": {"version": "v2"}}}
        retrieval = Case(question="?", chunks=["text"], traversal=silent, gold={"essential_repos": ["core"]})
        told = Skipped(reason="no chunk and no node names its repository")
        assert compute("cross_repo_precision", retrieval) == told
        told = Skipped(reason="no chunk and no node names its repository and version")
        assert compute("version_coherence", retrieval) == told

    def test_no_judge_is_shown_it(self):
        """What a judge is asked does not depend on where nodes come from."""
        walk = {**WALK, "nodes": None}
        metric = ValueMetric(
            name="path", description="d", needs=["traversal"], steps=["s"], range=(0, 1), levels={0: "No.", 1: "Yes."}
        )
        texts = [format_case_text(metric, Case(question="?", traversal=traversal)) for traversal in (walk, WALK)]
        assert texts[0] == texts[1]


RULE = r"^(?P<repo>[^/@]+)@(?P<version>[^/]+)/"


def test_command_line(tmp_path, greval_says):
    """The command takes the pattern of document ids, and refuses a wrong one."""
    row = {"id": "q", "question": "?", "chunks": [{"text": "", "doc_id": f"core@v{n}/a.py"} for n in (1, 2)]}
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(row), encoding="utf-8")
    words = ("evaluate", cases, "-m", "version_coherence", "-o", tmp_path / "run", "--doc-id-pattern")
    code, out, _ = greval_says(*words, RULE, "--show", "1")
    assert code == 0
    assert "core in v1 (chunk c1) and v2 (chunk c2)" in out
    code, _, err = greval_says(*words, "core")
    assert code == 2
    assert "has no group named repo or version" in err
