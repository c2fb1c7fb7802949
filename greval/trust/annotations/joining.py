"""How annotations meet the verdicts of a run: their items, their annotators and their scale."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from greval._util.joins import OFF_SCALE, IdJoin, JoinSide, build_join, format_id, remove_invisible
from greval._util.wording import format_count
from greval.records.annotation import Annotation
from greval.runs.run_reader import ItemKey

NAMES = ("annotated items", "judged items")
ON_VALUE = ": value: "
"""What the fault of a row has whose value is not on the scale."""


def unite_annotators(annotations: Sequence[Annotation]) -> tuple[Sequence[Annotation], tuple[str, ...]]:
    """Return annotations in which a person has one name, and remarks about the names that were united."""
    counts = Counter(row.annotator for row in annotations)
    spellings: dict[str, list[str]] = {}
    for name, _ in counts.most_common():
        spellings.setdefault(_fold_name(name), []).append(name)
    # The most frequent spelling comes first and is kept.
    names = {variant: first for first, *variants in spellings.values() for variant in variants}
    if not names:
        return annotations, ()
    rows = [
        row.model_copy(update={"annotator": names[row.annotator]}) if row.annotator in names else row
        for row in annotations
    ]
    remarks = (
        f"{format_id(variant)} is taken as the annotator {format_id(first)}; rename one of them if they are two people"
        for variant, first in names.items()
    )
    return rows, tuple(remarks)


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFKC", remove_invisible(name)).casefold()


def join_items(unmet: Iterable[ItemKey], met: Collection[ItemKey], judged: Iterable[ItemKey]) -> IdJoin:
    """Join annotated items with the judged ones."""
    missing = [format_item_key(key) for key in unmet]
    unlabelled = dict.fromkeys(format_item_key(key) for key in judged if key not in met)
    return build_join(
        JoinSide(NAMES[0], len(met) + len(missing), len(met), tuple(dict.fromkeys(missing))),
        JoinSide(NAMES[1], len(met) + len(unlabelled), len(met), tuple(unlabelled)),
    )


def format_item_key(key: ItemKey) -> str:
    """Format the key of an item.

    Example:
        >>> format_item_key(("q1", "local", "c2"))
        'q1 (local, c2)'
    """
    qualifiers = ", ".join(part for part in key[1:] if part)
    return f"{key[0]} ({qualifiers})" if qualifiers else key[0]


def find_off_scale_remark(off_scale: Sequence[str], labels: int) -> Iterator[str]:
    """Yield a remark if most labels are not on the scale of the verdicts."""
    if len(off_scale) * 2 > labels:
        yield (
            f"{OFF_SCALE}: {len(off_scale):,} of {format_count(labels, 'label')} {'is' if labels == 1 else 'are'} not "
            f"on the scale of the verdicts ({off_scale[0]}); the figures are of the others: give labels on the judge's "
            "scale"
        )
