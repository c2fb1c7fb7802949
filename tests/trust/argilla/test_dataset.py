"""Tests of datasets on an Argilla stand-in."""

from __future__ import annotations

import pytest
from argilla_stand_in import KEY
from tone_metrics import BUILT, TONE

from greval.errors import ArgillaArgumentError, ArgillaError
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import DatasetTarget, ensure_dataset, ensure_workspace, find_dataset, find_workspace

WHOLE = BUILT.model_copy(update={"name": "whole", "uses": {}})
STEPS = TONE.model_copy(update={"steps": ("Read twice.",)})


@pytest.fixture
def client(stand_in):
    """Connect to the stand-in."""
    with ArgillaClient(stand_in.url, KEY) as found:
        yield found


def ensure(client, metrics=(TONE,), *, suggested=False, name="d", min_submitted=None):
    return ensure_dataset(client, DatasetTarget(name, None, min_submitted), metrics, suggested=suggested)


def test_a_dataset_is_created_once_with_all_parts(client, stand_in):
    """A further call finds it, with its questions and fields."""
    dataset = ensure(client)
    assert dataset == ensure(client) == find_dataset(client, "d", "team")
    assert [question["name"] for question in dataset.questions] == ["tone", "tone_comment"]
    assert dataset.fields == {"question": True, "answer": True}
    assert stand_in.datasets["d0"]["distribution"] == {"strategy": "overlap", "min_submitted": 2}
    assert len(stand_in.datasets) == 1


def test_an_interrupted_creation_is_completed(client, stand_in):
    """Parts that exist are not made twice; a draft of somebody else is left as it is."""
    ensure(client)
    stand_in.datasets["d0"]["status"] = "draft"
    lost = stand_in.parts["d0"]["questions"].pop()
    assert lost in ensure(client).questions
    assert len(stand_in.parts["d0"]["questions"]) == 2
    assert stand_in.datasets["d0"]["status"] == "ready"
    stand_in.datasets["d0"] |= {"status": "draft", "metadata": None}
    for call in (lambda: ensure(client), lambda: find_dataset(client, "d", None)):
        with pytest.raises(ArgillaArgumentError, match="'d' is not published"):
            call()


@pytest.mark.parametrize(
    ("metrics", "more", "message"),
    [
        ([TONE], {"suggested": True}, r"with suggestions False \(asked for: True\)"),
        ([TONE], {"min_submitted": 3}, r"with min_submitted 2 \(asked for: 3\)"),
        ([STEPS], {}, "with another definition of tone"),
        ([TONE, WHOLE], {}, r"with the metrics tone \(asked for: tone, whole\)"),
    ],
)
def test_a_name_that_is_taken_by_other_settings_is_refused(client, metrics, more, message):
    """The first difference is named, and the dataset stays as it was."""
    dataset = ensure(client)
    with pytest.raises(ArgillaArgumentError, match=message) as caught:
        ensure(client, metrics, **more)
    assert (caught.value.argument, caught.value.kind) == ("dataset", "taken")
    assert find_dataset(client, "d", None) == dataset


def test_a_published_dataset_of_others_is_taken_as_it_is(client, stand_in):
    """Only the number of annotators is compared, and only if it is requested."""
    ensure(client)
    stand_in.datasets["d0"]["metadata"] = None
    assert ensure(client, [STEPS, WHOLE], suggested=True).name == "d"
    with pytest.raises(ArgillaArgumentError, match="with min_submitted 2"):
        ensure(client, min_submitted=1)


def test_missing_names_are_listed_with_existing_ones(client, stand_in):
    """Workspaces and datasets that exist are listed, and a dataset of others is not touched."""
    with pytest.raises(ArgillaError, match="dataset: no 'd' in workspace 'team'; there: none"):
        find_dataset(client, "d", None)
    with pytest.raises(ArgillaError, match=r"workspace: no 'other' at .*; there: team"):
        find_workspace(client, "other")
    stand_in.workspaces["w2"] = "second"
    with pytest.raises(ArgillaError, match=r"workspace: name one; .* has 2; there: second, team"):
        find_workspace(client, None)
    assert find_workspace(client, "second") == ("w2", "second")
    with pytest.raises(ArgillaError, match="dataset: expected 1 to 200 characters, got 0"):
        DatasetTarget("").check()


def test_a_workspace_is_created_once(client, stand_in):
    """An owner may create it; of an admin's refusal the reason has no name of another workspace."""
    for _ in range(2):
        ensure_workspace(client, "ana")
    assert [*stand_in.workspaces.values()] == ["team", "ana"]
    stand_in.role = "admin"
    ensure_workspace(client, "ana")
    with pytest.raises(ArgillaArgumentError, match=r"workspace: no 'bob' .*create it in Argilla as an owner") as caught:
        ensure_workspace(client, "bob")
    assert (caught.value.argument, caught.value.kind) == ("workspace", "missing")
    assert "team" not in str(caught.value)
