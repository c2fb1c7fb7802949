"""What goes wrong on the way to a server: a clear message, nothing lost, and the same call finishes later."""

from __future__ import annotations

import os
import re

import pytest
from judged_runs import TONE, judge, judged, rows
from killing import BEFORE, killed_at_call
from proxy import DROP, DROP_AFTER, PASS

from greval import Case, evaluate
from greval.errors import ArgillaError, DataError, StoreError
from greval.metrics.computed import COMPUTED_METRICS
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


@pytest.fixture
def run(tmp_path):
    """Give a run of twelve judged answers."""
    return judged(tmp_path / "run", TONE, 12)


def options(owner, **more):
    """Give what every call needs."""
    return {"dataset": "d", "workspace": owner.workspace, **more}


def with_key(owner):
    """Give the same for a process of its own, which has another environment."""
    return options(owner, key=owner.key)


def whole(owner, run):
    """Check that all is there once: the dataset with its parts and each record."""
    records = owner.records("d")
    assert len(records) == 12
    assert len({one["external_id"] for one in records}) == 12
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
def test_a_push_killed_in_its_middle_goes_on(owner, proxy, run):
    """Killed with -9 while the dataset is made, before and while records are sent, a push ends whole."""
    for last in (3, 6, 9, 5):
        assert killed_at_call(
            proxy, lambda n, *_, last=last: n == last, BEFORE, push_to_argilla, run, "tone", **with_key(owner)
        )
    push_to_argilla(run, "tone", **options(owner))
    whole(owner, run)


@pytest.mark.nightly
def test_a_pull_killed_or_cut_off_goes_on(owner, proxy, run):
    """However a pull ends, the file is the old one or the new one, and the next pull brings all."""
    push_to_argilla(run, "tone", **options(owner))
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Plain")
    path = run / "annotations.jsonl"
    for at in (1, 2, 3, 4):
        for cut in (DROP, DROP_AFTER):
            proxy.reset(lambda n, *_, at=at, cut=cut: cut if n == at else PASS)
            with pytest.raises(ArgillaError, match="no answer"):
                pull_from_argilla(run, **options(owner, url=proxy.url))
            assert not path.exists()
    assert killed_at_call(proxy, lambda n, *_: n == 4, BEFORE, pull_from_argilla, run, **with_key(owner))
    path.mkdir()  # the file cannot be written, after the notes were
    with pytest.raises(DataError, match="cannot be written"):
        pull_from_argilla(run, **options(owner))
    path.rmdir()
    for _ in range(2):
        pull_from_argilla(run, **options(owner))
        assert len(rows(path)) == 12
    owner.ask("DELETE", f"/users/{person['id']}")
    pull_from_argilla(run, **options(owner))
    assert rows(path) == []


@pytest.mark.nightly
def test_a_sample_stands_before_it_is_sent(owner, proxy, run):
    """A push that was cut off before any record was sent goes on with its sample, though the run has grown since."""
    proxy.reset(lambda _, __, path: DROP if path.endswith("bulk") else PASS)
    with pytest.raises(ArgillaError, match="no answer"):
        push_to_argilla(run, "tone", **options(owner, sample="random:4", url=proxy.url))
    judged(run, TONE, 20)
    done = push_to_argilla(run, "tone", **options(owner, sample="random:4"))
    assert (done.drawn, done.added, done.known) == (8, 8, 0)
    weights = sorted((one["metadata"].get("stratum", ""), one["metadata"]["weight"]) for one in owner.records("d"))
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


def test_no_server_and_no_argilla(owner, proxy, run):
    """Where nothing listens, and where something else answers, the message says so."""
    with pytest.raises(ArgillaError, match=r"127\.0\.0\.1:9: no answer"):
        push_to_argilla(run, "tone", **options(owner, url="http://127.0.0.1:9"))
    proxy.reset(lambda *_: (200, b"<html>"))
    with pytest.raises(ArgillaError, match="no Argilla server"):
        pull_from_argilla(run, **options(owner, url=proxy.url))
    with pytest.raises(ArgillaError, match=r"expected an http\(s\) address .* got nowhere"):
        pull_from_argilla(run, **options(owner, url="nowhere"))


def test_settings_that_are_missing(owner, run, monkeypatch):
    """Without an address or a key the message names the variable to set."""
    monkeypatch.delenv("ARGILLA_API_KEY")
    with pytest.raises(ArgillaError, match="set ARGILLA_API_KEY"):
        push_to_argilla(run, "tone", **options(owner))
    monkeypatch.delenv("ARGILLA_API_URL")
    with pytest.raises(ArgillaError, match="set ARGILLA_API_URL"):
        pull_from_argilla(run, **options(owner))


def test_a_wrong_key_is_told_and_not_shown(owner, run):
    """A key that the server does not know is told without showing it."""
    with pytest.raises(ArgillaError, match="key of ARGILLA_API_KEY is not known there") as caught:
        push_to_argilla(run, "tone", **options(owner, key="secret-of-mine"))
    assert "secret-of-mine" not in str(caught.value)


def test_a_workspace_that_is_missing(owner, run):
    """A workspace that is not there, or not named where there are several, is told with those that are."""
    with pytest.raises(ArgillaError, match=f"workspace: no 'nope' at .*; there: .*{owner.workspace}"):
        push_to_argilla(run, "tone", dataset="d", workspace="nope")
    with pytest.raises(ArgillaError, match=f"workspace: name one; .*there: .*{owner.workspace}"):
        push_to_argilla(run, "tone", dataset="d")


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
    assert [one.annotator for one in pull_from_argilla(run, dataset="d", key=admin["api_key"]).annotators] == [
        person["username"]
    ]


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"suggestions": True}, "with suggestions False"),
        ({"sample": "random:3"}, "with the sample random:5, seed 0"),
        ({"min_submitted": 3}, "with min_submitted 2"),
        ({"seed": 7}, "with the sample random:5, seed 0"),
    ],
)
def test_a_name_that_is_taken(owner, run, more, match):
    """A dataset of other settings is left as it is; the message says what differs."""
    push_to_argilla(run, "tone", **options(owner, sample="random:5"))
    before = owner.records("d")
    with pytest.raises(ArgillaError, match=f"'d' is taken .*{match}.*choose another name"):
        push_to_argilla(run, "tone", **options(owner, **{"sample": "random:5", **more}))
    assert owner.records("d") == before


@pytest.mark.nightly
def test_a_dataset_of_another_definition_or_of_others(owner, run, tmp_path):
    """A definition that changed is named, and a draft of others is neither completed nor read."""
    push_to_argilla(run, "tone", **options(owner))
    other = judged(tmp_path / "other", TONE.model_copy(update={"steps": ("Other.",)}), 2)
    with pytest.raises(ArgillaError, match="another definition of tone"):
        push_to_argilla(other, "tone", **options(owner))
    owner.ask("POST", "/datasets", {"name": "theirs", "workspace_id": owner.workspace_id})
    for call in (
        lambda: push_to_argilla(run, "tone", dataset="theirs", workspace=owner.workspace),
        lambda: pull_from_argilla(run, dataset="theirs", workspace=owner.workspace),
    ):
        with pytest.raises(ArgillaError, match="'theirs' is not published"):
            call()
    with pytest.raises(ArgillaError, match=r"dataset: no 'x' in workspace .*there: d, theirs"):
        pull_from_argilla(run, dataset="x", workspace=owner.workspace)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (
            (422, b'{"detail": {"params": {"errors": [{"loc": ["body", "name"], "msg": "too long"}]}}}'),
            r"refused \(422\): body.name: too long",
        ),
        ((422, b'{"detail": "Record at position 3 is not valid"}'), r"refused \(422\): Record at position 3"),
        ((500, b"oops"), r"server failed \(500: oops\).*the same command goes on"),
        ((409, b'{"detail": "already exists"}'), r"refused \(409\): already exists"),
    ],
)
def test_a_refusal_in_the_middle(owner, proxy, run, answer, match):
    """What the server says of a fault is told, and the same call finishes later."""
    proxy.reset(lambda _, method, __: PASS if method == "GET" else answer)
    with pytest.raises(ArgillaError, match=match):
        push_to_argilla(run, "tone", **options(owner, url=proxy.url))
    assert push_to_argilla(run, "tone", **options(owner)).added == 12
    whole(owner, run)


def test_what_cannot_be_pushed(owner, tmp_path, run):
    """A metric that the run lacks, a computed one, no verdicts, no certainties: told before anything is made."""
    with pytest.raises(DataError, match=r"'other'; metrics there: tone"):
        push_to_argilla(run, "other", **options(owner))
    evaluate([Case(question="?", usage={"latency": 1.0})], [COMPUTED_METRICS["latency"]], out=tmp_path / "computed")
    with pytest.raises(DataError, match="is computed"):
        push_to_argilla(tmp_path / "computed", "latency", **options(owner))
    with pytest.raises(ArgillaError, match="confidence or 3 repeats"):
        push_to_argilla(run, "tone", **options(owner, sample="uncertain:3"))
    evaluate([Case(question="?")], [TONE], judge(TONE), out=tmp_path / "skipped")
    with pytest.raises(DataError, match="nothing was judged by 'tone' there"):
        push_to_argilla(tmp_path / "skipped", "tone", **options(owner))
    assert owner.dataset("d") is None
