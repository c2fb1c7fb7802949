"""The position of a value on its scale, and the relations between the verdicts on a case and its mutant."""

from __future__ import annotations

from enum import StrEnum

from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale

MIDDLE = 0.5


class VerdictRelation(StrEnum):
    """The relation that a mutant's verdict must satisfy. The text is printed with the figures."""

    same = "the verdict stays"
    not_better = "the verdict gets no better"
    bad = "the verdict falls into the worse half of the scale"
    worst = "the verdict falls to the worst of the scale"


def compute_position(scale: JudgedScale, value: Value) -> float | None:
    """Return the position of a value on its scale, from 0 (worst) to 1 (best).

    Categories without an order are placed by their scores, if all have one. Otherwise
    the position is undefined (None).

    Example:
        >>> scale = CategoricalScale.model_validate({"categories": {"Good": "", "Fair": "", "Poor": ""}})
        >>> [compute_position(scale, name) for name in scale.names]
        [1.0, 0.5, 0.0]
    """
    match scale:
        case ValueScale(range=(low, high), better=better):
            share = (float(value) - low) / (high - low)
            return share if better == "higher" else 1 - share
        case CategoricalScale(ordered=True, names=names):
            return 1 - names.index(str(value)) / (len(names) - 1)
        case CategoricalScale(categories=categories):
            scores = {one.name: one.score for one in categories if one.score is not None}
            least, most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
            known = len(scores) == len(categories) and least < most
            return (scores[str(value)] - least) / (most - least) if known else None


def find_best_value(scale: JudgedScale) -> Value | None:
    """Return the best value of a scale, or None if it has no order.

    Example:
        >>> find_best_value(ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."}))
        1
    """
    values: tuple[Value, ...] = scale.names if isinstance(scale, CategoricalScale) else scale.range
    places = {value: place for value in values if (place := compute_position(scale, value)) is not None}
    return max(places, key=lambda value: places[value], default=None)


def explain_unusable(relation: VerdictRelation, scale: JudgedScale, before: Value) -> str | None:
    """Return why the verdict on the reference cannot show a failure of the relation, or None if it can."""
    place = compute_position(scale, before)
    match relation:
        case VerdictRelation.same:
            return None
        case VerdictRelation.not_better:
            return "already the best verdict: none is better" if place is None or place >= 1 else None
        case VerdictRelation.bad | VerdictRelation.worst:
            return "not judged good before: no fall can be seen" if place is None or place <= MIDDLE else None


def is_satisfied(relation: VerdictRelation, scale: JudgedScale, before: Value, after: Value) -> bool:
    """Return whether a relation holds between the verdicts on a reference and its mutant.

    Example:
        >>> is_satisfied(VerdictRelation.not_better, ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."}), 0, 1)
        False
    """
    if relation is VerdictRelation.same:
        return before == after
    old, new = (compute_position(scale, value) for value in (before, after))
    if old is None or new is None:
        return False
    match relation:
        case VerdictRelation.not_better:
            return new <= old
        case VerdictRelation.bad:
            return new < MIDDLE
        case VerdictRelation.worst:
            return new <= 0
