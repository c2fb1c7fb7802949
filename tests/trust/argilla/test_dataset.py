"""Tests of datasets on an Argilla stand-in."""

from __future__ import annotations

import pytest
from argilla_stand_in import KEY
from tone_metrics import TONE

from greval.errors import ArgillaArgumentError, ArgillaError
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import DatasetSettings, ensure_dataset, ensure_workspace, find_dataset, find_workspace
from greval.trust.argilla.form import hash_form

ABOUT = DatasetSettings(
    metric="tone", scale=TONE.scale, suggested=False, sample=None, seed=0, min_submitted=2, settings=hash_form(TONE)
)


@pytest.fixture
def client(stand_in):
    """Connect to the stand-in."""
    with ArgillaClient(stand_in.url, KEY) as found:
        yield found


def ensure(client, about=ABOUT, name="d"):
    """Find or create a dataset in the only workspace."""
    return ensure_dataset(client, name, None, metric=TONE, about=about)


def test_a_dataset_is_created_once_with_all_parts(client, stand_in):
    """A further call finds it, with the ids of its questions."""
    first = ensure(client)
    assert first == ensure(client)
    assert first.about == find_dataset(client, "d", "team").about == ABOUT
    assert first.question_ids == {name: f"questions-{name}" for name in ("judgement", "comment")}
    assert stand_in.datasets["d0"]["distribution"] == {"strategy": "overlap", "min_submitted": 2}
    assert [one["name"] for one in stand_in.parts["d0"]["fields"]] == ["question", "answer"]
    assert len(stand_in.datasets) == 1


def test_an_interrupted_creation_is_completed(client, stand_in):
    """Parts that exist are not made twice."""
    ensure(client)
    stand_in.datasets["d0"]["status"] = "draft"
    lost = stand_in.parts["d0"]["questions"].pop()
    assert lost["name"] in ensure(client).question_ids
    assert [one["name"] for one in stand_in.parts["d0"]["questions"]] == ["judgement", "comment"]
    assert stand_in.datasets["d0"]["status"] == "ready"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suggested": True}, r"with suggestions False \(asked for: True\)"),
        ({"seed": 5}, r"with the seed 0 \(asked for: 5\)"),
        ({"min_submitted": 3}, r"with min_submitted 2 \(asked for: 3\)"),
        ({"settings": "x"}, "with another definition of the metric"),
    ],
)
def test_a_name_that_is_taken_by_other_settings_is_refused(client, change, message):
    """The first difference is named, and the dataset stays as it was."""
    ensure(client)
    with pytest.raises(ArgillaError, match=message):
        ensure(client, ABOUT.model_copy(update=change))
    assert find_dataset(client, "d", None).about == ABOUT


def test_what_is_not_there_is_named_with_what_is(client, stand_in):
    """Workspaces and datasets that exist are listed, and a dataset of others is not touched."""
    with pytest.raises(ArgillaError, match="dataset: no 'd' in workspace 'team'; there: none"):
        find_dataset(client, "d", None)
    with pytest.raises(ArgillaError, match=r"workspace: no 'other' at .*; there: team"):
        find_workspace(client, "other")
    stand_in.workspaces["w2"] = "second"
    with pytest.raises(ArgillaError, match=r"workspace: name one; .* has 2; there: second, team"):
        find_workspace(client, None)
    assert find_workspace(client, "second") == ("w2", "second")
    stand_in.datasets["x"] = {"id": "x", "name": "x", "workspace_id": "w1", "status": "ready", "metadata": None}
    with pytest.raises(ArgillaError, match="was not made by a push of greval"):
        find_dataset(client, "x", "team")
    with pytest.raises(ArgillaError, match="dataset: expected 1 to 200 characters, got 0"):
        ensure(client, name="")


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
