"""Annotations of a metric, read from any source and joined with the verdicts of a run, as values to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from greval._util.joins import show_id
from greval.errors import DataError
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_reader import read_metric
from greval.runs.store import Store
from greval.trust.agreement.records import CombineAnnotators, TreatAs
from greval.trust.agreement.value_pairs import convert_items
from greval.trust.annotations.files import MAX_LISTED, AnnotationSource, LoadedAnnotations, load_annotations
from greval.trust.annotations.matching import MatchedAnnotations, match_annotations


class MatchedItems(NamedTuple):
    """The annotated items of a metric in the form in which they are compared.

    `between` counts the items that are left out because the judge's value is between two levels. `loaded` says how the
    annotations were read, and `unread` has the rows that could not be read with the values that are not on the scale.
    """

    matched: MatchedAnnotations
    scale: Scale
    combine: CombineAnnotators
    between: int
    unread: tuple[str, ...]
    loaded: LoadedAnnotations


def match_items(  # noqa: PLR0913 - the options of an agreement
    store: Store,
    metric: str,
    annotations: AnnotationSource,
    *,
    scale: Scale | None = None,
    treat_as: TreatAs | None = None,
    combine: CombineAnnotators | None = None,
    label_columns: str | Sequence[str] = (),
) -> MatchedItems:
    """Match annotations with the verdicts of a metric; there may be none that match."""
    stored_scale = scale or read_metric(store, metric).scale
    scales = {metric: stored_scale}
    loaded = load_annotations(store.folder, annotations, scales, metric=metric, label_columns=label_columns)
    matched = match_annotations(store, metric, loaded.annotations, stored_scale)
    # Many annotations take more memory than all that follows.
    loaded = loaded._replace(annotations=())
    scale, things = convert_items(metric, stored_scale, matched.things, treat_as)
    between = len(matched.things) - len(things)
    is_categorical = isinstance(scale, CategoricalScale)
    combine = combine or ("majority" if is_categorical else "mean")
    if combine == "mean" and is_categorical:
        raise DataError(f"{metric}: categories have no mean; choose the majority, or each")
    unread = (*loaded.unread, *matched.faults)
    return MatchedItems(matched._replace(things=things), scale, combine, between, unread, loaded)


def build_no_match_error(items: MatchedItems, folder: Path, metric: str) -> DataError:
    """Build the error for annotations of which none can be compared, with a count of what they are."""
    matched = items.matched
    counts = [f"{count} {status}" for status, count in matched.statuses.items()]
    for count, what, examples in (
        (matched.others, "of other metrics", ()),
        (len(matched.strange), "items that are not in the run", matched.strange),
        (len(matched.unjudged), "items without a verdict", ()),
        (matched.outdated, "of another text", matched.changed),
    ):
        if count:
            counts.append(f"{count} {what}" + (f", such as {show_id(examples[0])}" if examples else ""))
    counts += [f"not on the scale: {fault}" for fault in matched.faults[:1]]
    counts += [str(matched.join.near)] if matched.join and matched.join.near else []
    reason = (
        f"{folder}: no submitted annotation of {metric} matches a verdict; "
        f"the annotations: {', '.join(counts) or 'none'} (they are matched by sample_id, method, metric and item, "
        "and by the content that people were shown if it is known)"
    )
    return DataError("\n".join([reason, *items.loaded.unread[:MAX_LISTED]]))
