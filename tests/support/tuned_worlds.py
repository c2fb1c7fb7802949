"""Worlds whose best search settings are known: indexed documents and questions."""

from __future__ import annotations

import json
from pathlib import Path

from greval.records.case import Case
from greval.reference.building import build_index
from greval.reference.index import save_search_settings
from greval.reference.records import Document
from greval.reference.settings import IndexSettings, SearchSettings

SYLLABLES = ("bar", "den", "fol", "gim", "hul", "jep", "kor", "lun", "mev", "nos", "pid", "quo")


def make_name(number):
    """Return a name that no other number has."""
    first, second = divmod(number, len(SYLLABLES))
    return (SYLLABLES[first % len(SYLLABLES)] + SYLLABLES[second] + "a").capitalize()


def index_chains(folder, count=24, **settings):
    """Index documents of which a question names one, and expects another that only the graph leads to.

    The fusion is the published one, whose best weight is known, whatever the default is.
    """
    documents, cases = [], []
    for number in range(count):
        ship, owner = f"Ship {make_name(number)}", f"Team {make_name(number + 70)}"
        documents += [
            Document(id=f"ship{number}", text=f"{ship} belongs to {owner}."),
            Document(id=f"owner{number}", text=f"{owner} paints doors green."),
            Document(id=f"noise{number}", text=f"A vessel named {ship.split()[1]} was in the news on day {number}."),
        ]
        gold = {"essential_docs": [f"owner{number}"]}
        cases.append(Case(id=f"q{number}", question=f"What does the owner of {ship} do?", gold=gold))
    build_index(documents, folder, IndexSettings(embedding="tfidf"))
    save_search_settings(folder, SearchSettings(fusion="weighted", **settings))
    return cases


def write_questions(path, cases):
    """Write cases as JSON lines."""
    Path(path).write_text("".join(f"{json.dumps(one.model_dump(exclude_none=True))}\n" for one in cases), "utf-8")
