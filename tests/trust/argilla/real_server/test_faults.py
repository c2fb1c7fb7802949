"""What goes wrong on the way to a server: a clear message, nothing lost, and the same call finishes later."""

from __future__ import annotations

import os
import re

import pytest
from judged_runs import TONE, judged, rows
from proxy import DROP, DROP_AFTER, PASS

from greval.errors import ArgillaError, StoreError
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


@pytest.fixture
def run(tmp_path):
    return judged(tmp_path / "run", TONE, 12)


def options(owner, **more):
    return {"dataset": "d", "workspace": owner.workspace, **more}


def with_key(owner):
    """Give the same for a process of its own, which has another environment."""
    return options(owner, key=owner.key)


def whole(owner, run):
    """Check that all is there once: the dataset with its parts and each record."""
    records = owner.records("d")
    assert len(records) == 12
    assert len({record["external_id"] for record in records}) == 12
    assert owner.dataset("d")["status"] == "ready"
    assert push_to_argilla(run, "tone", **options(owner)).added == 0
    assert owner.records("d") == records


@pytest.mark.nightly
@pytest.mark.parametrize("cut", [DROP, DROP_AFTER])
def test_a_push_that_is_cut_off_anywhere_goes_on(owner, proxy, run, cut):
    """Cut off at its first call, then at its second and so on, a push ends with each record there once."""
    cuts = 0
    for at in range(1, 60):
        proxy.reset(lambda n, *_, at=at: cut if n == at else PASS)
        try:
            push_to_argilla(run, "tone", **options(owner, url=proxy.url))
        except ArgillaError as error:
            assert re.search(r"no answer \(.+\); is Argilla running there\? .*the same command goes on", str(error))
            cuts += 1
        if len(proxy.calls) < at:
            break
    assert cuts >= 6
    whole(owner, run)


@pytest.mark.nightly
def test_a_sample_stands_before_it_is_sent(owner, proxy, run):
    """A push that was cut off before any record was sent goes on with its sample, though the run has grown since."""
    proxy.reset(lambda _, __, path: DROP if path.endswith("bulk") else PASS)
    with pytest.raises(ArgillaError, match="no answer"):
        push_to_argilla(run, "tone", **options(owner, sample="random:4", url=proxy.url))
    judged(run, TONE, 20)
    done = push_to_argilla(run, "tone", **options(owner, sample="random:4"))
    assert (done.drawn, done.added, done.known) == (8, 8, 0)
    weights = sorted(
        (record["metadata"].get("stratum", ""), record["metadata"]["weight"]) for record in owner.records("d")
    )
    assert weights == [("", 3.0)] * 4 + [("draw 2", 2.0)] * 4


@pytest.mark.nightly
def test_the_file_changes_only_once_its_rows_are_noted(owner, run):
    """Where the notes cannot be written, the file stays: else the next pull would take its rows for somebody else's."""
    push_to_argilla(run, "tone", **options(owner))
    person = owner.person()
    first, second, *_ = owner.records("d")
    owner.answer(person, first, "submitted", "Plain")
    pull_from_argilla(run, **options(owner))
    before = rows(run / "annotations.jsonl")
    owner.answer(person, second, "submitted", "Rude")
    in_the_way = run / "argilla" / f".{owner.dataset('d')['id']}.json.{os.getpid()}"
    in_the_way.mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        pull_from_argilla(run, **options(owner))
    assert rows(run / "annotations.jsonl") == before
    in_the_way.rmdir()
    owner.ask("DELETE", f"/users/{person['id']}")
    pull_from_argilla(run, **options(owner))
    assert rows(run / "annotations.jsonl") == []


def test_a_wrong_key_is_refused_and_not_shown(owner, run):
    """A key that the server does not know is told without showing it."""
    with pytest.raises(ArgillaError, match="key of ARGILLA_API_KEY is not known there") as caught:
        push_to_argilla(run, "tone", **options(owner, key="secret-of-mine"))
    assert "secret-of-mine" not in str(caught.value)


def test_an_annotator_may_not_push_or_pull(owner, run):
    """A refusal names the user and whose key is needed; an admin's key does."""
    person, admin = owner.person(), owner.person("admin")
    with pytest.raises(
        ArgillaError, match=f"'{person['username']}', an annotator, may not .* key of an owner, or of an admin"
    ):
        push_to_argilla(run, "tone", **options(owner, key=person["api_key"]))
    push_to_argilla(run, "tone", dataset="d", key=admin["api_key"])  # the admin sees one workspace only
    owner.answer(person, owner.records("d")[0], "submitted", "Plain")
    with pytest.raises(ArgillaError, match="may not"):
        pull_from_argilla(run, **options(owner, key=person["api_key"]))
    assert [
        annotator.annotator for annotator in pull_from_argilla(run, dataset="d", key=admin["api_key"]).annotators
    ] == [person["username"]]
