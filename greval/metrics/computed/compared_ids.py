"""The ids that a computed metric compares: why those of a case cannot meet, if that is how they are written."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from greval._util.joins import UNMET, are_of_other_kinds, find_near_ids, format_id
from greval.records.result import Skipped


def explain_unmet_ids(
    expected: Collection[str], retrieved: Collection[str], noun: str, spellings: Mapping[str, str] | None = None
) -> Skipped | None:
    """Return why ids that did not meet are no miss, None if they met or are one.

    An expected id that nearly equals a retrieved one may have been retrieved. If nothing met, a miss is one only if the
    ids are of one kind.

    Args:
        expected: The ids that the gold names.
        retrieved: The ids that the method returned.
        noun: What the ids are of, as a plural.
        spellings: How the ids are written, if they are normalised.

    Example:
        >>> explain_unmet_ids(["d1"], ["D1"], "documents").reason
        "ids do not meet: documents of gold and response differ only in case; write them alike, such as 'd1' and 'D1'"
        >>> explain_unmet_ids(["d1"], ["d2"], "documents")
    """
    missed = [name for name in expected if name not in retrieved]
    others = [name for name in retrieved if name not in expected]
    if not missed or not others:
        return None
    if near := find_near_ids(missed, others):
        what, pair = f"differ only in {' and '.join(near.differences)}; write them alike", (near.left, near.right)
    elif len(missed) == len(expected) and are_of_other_kinds(missed, others):
        what, pair = "are of two kinds, so that none can meet", (missed[0], others[0])
    else:
        return None
    example = " and ".join(format_id((spellings or {}).get(name, name)) for name in pair)
    return Skipped(reason=f"{UNMET}: {noun} of gold and response {what}, such as {example}")
