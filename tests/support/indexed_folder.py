"""Folders of indexes: the marks by which each kind is known, without an index, and an evaluation with documents."""

from __future__ import annotations

import json
import textwrap

from greval.methods.reference_index import INDEX_FILE, LEDGER_FILE

DOCUMENTS = {
    "bramble": "Old Bramble was built in Port Hallow. It carries 48 cars.",
    "hallow": "Port Hallow is run by Team Petrel. It has four berths.",
    "marl": "Outer Marl is run by Team Eider. Its telephone box works.",
}


def mark_reference(folder, build="build-1", **settings):
    """Write the files by which an index of the reference pipeline is known."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"build": build, "settings": {}, "search_settings": settings}
    (folder / INDEX_FILE).write_text(json.dumps(content), encoding="utf-8")
    (folder / LEDGER_FILE).touch()


def mark_graphrag(folder):
    """Write the file by which a project of Microsoft GraphRAG is known."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.yaml").write_text("models: {}", encoding="utf-8")


def put_documents(folder, documents=DOCUMENTS):
    """Write documents as a project has them."""
    (folder / "input").mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / "input" / f"{name}.txt").write_text(textwrap.dedent(text), encoding="utf-8")
