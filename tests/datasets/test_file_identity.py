"""The identity of a file of cases changes with all that changes its cases, and with nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.file_identity import UNKNOWN_SOURCE, identify_file


@pytest.fixture
def file(tmp_path):
    """Write a file of one case."""
    path = tmp_path / "cases.jsonl"
    path.write_text('{"question": "Who?"}', "utf-8")
    return path


def test_the_same_file_and_settings_are_the_same_source(file):
    """Settings that are None, and the order of settings, change nothing."""
    assert identify_file(file, limit=3, method="a") == identify_file(file, method="a", limit=3, pattern=None)


@pytest.mark.parametrize("settings", [{"limit": 3}, {"method": "a"}, {"limit": 3, "method": "a"}])
def test_a_setting_changes_the_digest(file, settings):
    """Each setting that changes what is read makes another digest; only the method makes another label."""
    plain, changed = identify_file(file), identify_file(file, **settings)
    assert plain.digest != changed.digest
    assert (plain.label == changed.label) == ("method" not in settings)
    assert plain.path == changed.path == str(file.resolve())


def test_content_and_joined_files_change_the_digest(file, tmp_path):
    """An edited file, a further file, and the order of further files each make another digest."""
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text("1")
    log.write_text("2")
    original = identify_file(file)
    digests = {
        original.digest,
        *(identify_file(file, *joined_files).digest for joined_files in ([gold], [log], [gold, log], [log, gold])),
    }
    file.write_text('{"question": "When?"}', "utf-8")
    assert len({*digests, identify_file(file).digest}) == 6
    assert identify_file(file).label == original.label


def test_an_unreadable_file_is_unknown(file, tmp_path):
    """A missing file, or a missing joined one, has no identity; the reader reports the error."""
    assert identify_file(tmp_path / "none.jsonl") == identify_file(file, tmp_path / "none") == UNKNOWN_SOURCE
    assert (UNKNOWN_SOURCE.label, UNKNOWN_SOURCE.digest, UNKNOWN_SOURCE.path) == ("", "", "")


@given(first_content=st.binary(max_size=20), second_content=st.binary(max_size=20))
def test_contents_are_told_apart(tmp_path_factory, first_content, second_content):
    """Two contents have the same digest only if they are equal."""
    path = tmp_path_factory.mktemp("files") / "cases.jsonl"
    digests = []
    for content in (first_content, second_content):
        path.write_bytes(content)
        digests.append(identify_file(path).digest)
    assert (digests[0] == digests[1]) == (first_content == second_content)
