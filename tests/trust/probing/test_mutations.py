"""Changed texts, blanks, planted texts and content of another question."""

from __future__ import annotations

from probed_judges import (
    cases,
)

from greval.trust.probing.mutations import find_foreign_case


def test_a_refusal_is_nobodys_answer():
    """What is taken from another question states something of its sources; of such the most different one."""
    own, near, *_ = cases()
    refusal = near.model_copy(update={"answer": "I could not find that."})
    same = own.model_copy(update={"id": "other", "method": "m"})
    assert find_foreign_case(own, [own, same, refusal, near], "answer") is near
    assert find_foreign_case(own, [own, same], "answer") is None
    far = near.model_copy(update={"id": "far", "answer": "In Brindle it is black."})
    assert find_foreign_case(own, [near, far], "answer") is far
