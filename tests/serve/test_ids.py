"""Tests of the ids of runs and data sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.serve.ids import MAX_NAME_LENGTH, build_not_found_error, create_id, resolve_folder
from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME


@given(st.text(max_size=200))
def test_ids_of_any_name_are_plain(name):
    """Whatever the name, its id is a valid file name of at most 64 characters."""
    made = create_id(name)
    assert PLAIN_NAME.fullmatch(made)
    assert len(made) <= 64


@given(st.text(alphabet="abcXYZ019", min_size=1, max_size=MAX_NAME_LENGTH))
def test_plain_names_begin_their_id(name):
    """A plain name is kept, so that people recognise their runs."""
    assert create_id(name).startswith(f"{name}-")


def test_ids_of_one_name_differ():
    """Ids created within one second differ by their random suffix."""
    assert len({create_id("run") for _ in range(20)}) > 15


@given(st.text(max_size=80))
def test_no_id_leads_out_of_its_folder(given_id):
    """An id is either refused, or names a direct child of the folder."""
    folder = Path("/runs")
    try:
        found = resolve_folder(folder, given_id, "run")
    except ServeError as error:
        assert error.status == 404
    else:
        assert found.parent == folder
        assert found.name == given_id


@pytest.mark.parametrize("given_id", ["..", ".", "", "a/b", "a\\b", ".queue", "-a", "a" * 65, "a\n", "a\x00"])
def test_invalid_ids_are_not_found(given_id):
    """Hidden, empty, long and path-like ids are 404, like ids that do not exist."""
    with pytest.raises(ServeError) as caught:
        resolve_folder(Path("/runs"), given_id, "run")
    assert str(caught.value) == str(build_not_found_error("run", given_id))


def test_the_message_names_the_list():
    """The message quotes a short form of the id, and names the route that lists all."""
    message = str(build_not_found_error("data set", "x" * 500))
    assert message == f"data set {'x' * 64!r}: not found; GET /v1/datasets lists the existing ones"
