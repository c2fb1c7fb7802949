"""The embedded graph and the embedded model in one process."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("xllamacpp", reason="the embedded model is not installed")
pytest.importorskip("ladybug", reason="the embedded graph is not installed")
CODE = """
import sys
from pathlib import Path
from greval.methods.index_records import Entity
from greval.reference.storage.graph_store import open_graph

store = open_graph("embedded", Path(sys.argv[1]), read_only=False)
store.write([Entity(name="Ada")], [])
import xllamacpp
print(store.query("MATCH (e:Entity) RETURN e.name AS name"))
"""


@pytest.mark.nightly
def test_the_embedded_model_loads_after_a_graph_was_opened(tmp_path):
    """The native module of ladybug keeps its symbols to itself; with global ones the process would end here."""
    done = subprocess.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[{'name': 'Ada'}]\n"), done.stderr
