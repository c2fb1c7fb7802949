"""Indexes whose graph is planned, and models that steer a walk over it by what they are shown.

The extraction is scripted, so that the graph is that of `FACTS`; all else is the pipeline's own.
"""

from __future__ import annotations

import re

from prompt_fences import opened

from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex
from greval.reference.records import Document
from greval.reference.settings import IndexSettings
from greval.testing import ScriptedJudge

FACTS = {
    "billing": [
        ("Billing", "depends on", "Ledger"),
        ("Billing", "stores invoices in", "Postgres"),
        ("Billing", "sends mail with", "Mailer"),
        ("Billing", "was written by", "Tom Weber"),
        ("Billing", "calls", "Exchange"),
    ],
    "ledger": [("Ledger", "records", "payments"), ("Ledger", "is owned by", "Petrel"), ("Ledger", "calls", "Identity")],
    "petrel": [("Petrel", "is led by", "Grace Hopper"), ("Petrel", "sits in", "Hamburg")],
    "mailer": [("Mailer", "is owned by", "Eider"), ("Eider", "is led by", "Ann Lee")],
}
"""The facts that each document states, one a sentence."""
LINE = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def build_documents(facts=FACTS):
    return [Document(id=name, text=" ".join(f"{' '.join(fact)}." for fact in stated)) for name, stated in facts.items()]


def open_planned(folder, facts=FACTS, documents=None, **settings):
    """Index documents with a graph of exactly these facts, and open the index."""
    stated = [fact for listed in facts.values() for fact in listed]

    def extract(messages):
        text = opened(messages[-1].text)
        found = [fact for fact in stated if opened(" ".join(fact)) in text]
        return {"entities": [], "relations": [[*fact] for fact in found]}

    chosen = IndexSettings(embedding="tfidf", **settings)
    build_index(documents or build_documents(facts), folder, chosen, model=ScriptedJudge(extract))
    return ReferenceIndex.open(folder)


def list_shown(messages):
    """Return the lines between the fences of items, by number."""
    text = messages[-1].text
    listed = text[text.index("<items>") : text.index("</items>")]
    return {int(number): line for number, line in LINE.findall(listed)}


def steer(*wanted, answer="", enough=lambda facts: False):
    """Make a model that chooses the lines with any of the wanted words, and stops when the facts are enough."""

    def reply(messages):
        system = messages[0].text
        if "sufficient" in system:
            done = enough([*list_shown(messages).values()])
            return {"sufficient": done, "answer": answer if done else ""}
        if "Choose" in system:
            return {"items": [n for n, line in list_shown(messages).items() if any(word in line for word in wanted)]}
        return answer or "From the context."

    return ScriptedJudge(reply)
