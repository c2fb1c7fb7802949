"""Gold and an index for tests of gold checks."""

from __future__ import annotations

from greval import Gold, Sample
from greval.analysis.gold.api import check_gold
from greval.records.inventory import IndexInventory

EDGE = ("Ada", "wrote", "Notes")

INDEX = IndexInventory(
    documents=frozenset({"d1"}),
    nodes={"Ada": ("d1",), "Notes": ("d1",), "Charles": ("d1",)},
    edges={EDGE: ("d1",)},
    aliases={"Ada": ("Countess",)},
)


def told(inventory=None, **gold):
    """Give the levels and messages of the findings on one sample, without those on all samples."""
    found = check_gold([Sample(id="q1", question="Who?", gold=Gold(**gold))], inventory)
    return [(one.level, one.message) for one in found if one.sample_id]


def only(findings, level="fault"):
    """Give the message of the only finding."""
    [(found, message)] = findings
    assert found == level
    return message
