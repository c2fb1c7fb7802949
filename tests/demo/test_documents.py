"""The documents that the demo indexes say what facts.md says, and the cases quote them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import greval

FOLDER = Path(greval.__file__).parent / "demo"
OLD = {"booking/fare-engine@v6": "v6.4"}
"""The versions of documents that are left over from an earlier release than that of their repository."""
DOCUMENTS = FOLDER / "documents.jsonl"


def read_facts():
    """Give a row for each document of facts.md: id, repository, version and text."""
    text = (FOLDER / "facts.md").read_text(encoding="utf-8").partition("\n## The graph")[0]
    rows = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, *parts = re.split(r"^### ", section, flags=re.MULTILINE)
        repo, version = re.fullmatch(r"(\w+)(?:, (v[\d.]+))?.*", heading.splitlines()[0]).groups()
        for part in parts:
            name, _, body = part.partition("\n")
            row = {"id": name.strip(), "text": body.strip(), "repo": repo, "version": OLD.get(name.strip(), version)}
            rows.append({field: value for field, value in row.items() if value})
    return rows


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_documents_are_those_of_the_facts():
    """There is one source: `make golden` writes the documents anew from facts.md."""
    rows = read_facts()
    if os.environ.get("GREVAL_WRITE_GOLDEN"):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        DOCUMENTS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert read_lines(DOCUMENTS) == rows
    assert len(rows) == 21


def test_the_cases_quote_the_documents():
    """Each chunk of a case is a paragraph of its document, of the same repository and version; gold names documents."""
    documents = {row["id"]: row for row in read_lines(DOCUMENTS)}
    for case in [*read_lines(FOLDER / "cases.jsonl"), *read_lines(FOLDER / "multi_hop.jsonl")]:
        for chunk in case["chunks"]:
            row = documents[chunk["doc_id"]]
            paragraphs = row["text"].split("\n\n")
            assert paragraphs[int(chunk["id"].rpartition("#")[2]) - 1] == chunk["text"]
            assert (chunk.get("repo"), chunk.get("version")) == (row["repo"], row.get("version"))
        assert {*case["gold"]["essential_docs"], *case["gold"]["helpful_docs"]} <= {*documents}
