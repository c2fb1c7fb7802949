"""Tests of the ids of runs and data sets."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from greval.serve.ids import MAX_NAME_LENGTH, build_not_found_error, create_id, resolve_folder
from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME, Tenant


@given(st.text(max_size=200))
@example("run")
def test_ids_of_any_name_are_plain(name):
    """Whatever the name, its id is a valid file name; a plain name begins its ids, of which no two are equal."""
    ids = [create_id(name) for _ in range(20)]
    assert all(PLAIN_NAME.fullmatch(run_id) and len(run_id) <= 64 for run_id in ids)
    assert len({*ids}) > 15
    if re.fullmatch("[a-zA-Z0-9]+", name) and len(name) <= MAX_NAME_LENGTH:
        assert ids[0].startswith(f"{name}-")


@given(st.text(max_size=80) | st.sampled_from(["..", ".", "", "a/b", ".queue", "-a", "a" * 65, "a\n", "a\x00"]))
@example("run-1")
def test_no_id_leads_out_of_its_folder(text):
    """An id is either not found, or names a direct child of the folder."""
    folder = Path("/runs")
    try:
        resolved = resolve_folder(folder, text, "run")
    except ServeError as error:
        assert (error.status, str(error)) == (404, str(build_not_found_error("run", text)))
    else:
        assert (resolved.parent, resolved.name) == (folder, text)


def test_folders_of_a_tenant_are_no_runs(tmp_path):
    """Metrics and data sets are in folders whose names no run can have."""
    tenant = Tenant("ana", tmp_path)
    assert {tenant.metrics.parent, tenant.datasets.parent} == {tmp_path}
    assert not any(PLAIN_NAME.fullmatch(folder.name) for folder in (tenant.metrics, tenant.datasets))
