"""The queue of items that a person labels: drawn once with known weights, and worked off in a fixed order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.scale import Value
from greval.runs.run_reader import read_judged_metric
from greval.runs.store import Store
from greval.trust.annotations.files import ANNOTATIONS_FILE, read_valid_annotations
from greval.trust.annotations.judged_items import ItemRef, read_judged_items
from greval.trust.annotations.matching import is_of_other_text
from greval.trust.annotations.rendering import list_titles, unescape_text
from greval.trust.argilla.ledger import LedgerEntry, lock_run, read_ledger, write_ledger
from greval.trust.argilla.record_items import RecordItem, read_record_items
from greval.trust.argilla.sampling import SamplingPlan, plan_records
from greval.trust.labelling.records import LabelItem, LabelQueue

DISAGREEMENTS: Final = "disagreements"
"""The queue of items on which annotators differ from the judge or from each other."""
DEFAULT_SAMPLE: Final = "random:100"
DONE = frozenset({"submitted", "discarded"})
"""The states of an annotation whose item is not asked for again."""


def plan_labels(  # noqa: PLR0913 - the options of a queue
    run: Path | str,
    metric: str,
    *,
    annotator: str,
    sample: str | None = DEFAULT_SAMPLE,
    suggestions: bool = False,
    seed: int = 0,
    limit: int = 100,
) -> LabelQueue:
    """Plan which judged items of a run an annotator labels next.

    The sample is drawn once and stored in the run's folder, so that all annotators label the same items and an
    interrupted one goes on with the same queue. Items that were judged later are a stratum of their own.

    Args:
        run: A run folder.
        metric: The name of a judged metric of the run.
        annotator: Who labels.
        sample: `random:N`, `stratified:N` (equally many of each verdict) or `uncertain:N`; `disagreements` for the
            items that other annotators labelled in another way than the judge or each other, with the weights that
            these labels have; None for all items.
        suggestions: Whether the annotator sees the judge's verdicts. They bias labels towards them.
        seed: The random seed of the sample.
        limit: The most items in the answer.

    Returns:
        The next items that the annotator has not labelled yet, and the counts of the queue.

    Raises:
        ArgillaArgumentError: If the sample has another form.
        DataError: If nothing in the run was judged by the metric.
        StoreError: If the run folder cannot be used, or somebody else uses it.
    """
    plan = SamplingPlan.parse(sample) if sample not in {None, DISAGREEMENTS} else None
    folder = Path(run)
    with Store.open(folder) as store, lock_run(folder):
        definition = read_judged_metric(store, metric)
        things = read_record_items(store, [definition])
        if not things:
            raise DataError(f"{folder}: nothing was judged by {metric!r} there, so there is nothing to label")
        known = [one for one in read_valid_annotations(folder / ANNOTATIONS_FILE) if one.metric == metric]
        others = _group_labels(one for one in known if one.annotator != annotator)
        drawn = (
            _find_disagreements(things, others)
            if sample == DISAGREEMENTS
            else _draw_items(folder, metric, things, plan, seed)
        )
        mine = {_build_ref(one): one for one in known if one.annotator == annotator and one.status in DONE}
        queue = [one for one in things if one.id in drawn]
        left = sorted((one for one in queue if not _is_labelled(one, mine)), key=_get_position)
        wanted = {one.id for one in islice(left, limit)}
        found = _read_items(store, definition, wanted, written=suggestions)
    shown = others if sample == DISAGREEMENTS and suggestions else {}
    return LabelQueue(
        metric=metric,
        annotator=annotator,
        scale=definition.scale.model_dump(mode="json"),
        titles=list_titles(definition),
        sample=sample,
        suggested=suggestions,
        judged=len(things),
        drawn=len(queue),
        labelled=len(queue) - len(left),
        discarded=sum(_is_labelled(one, mine) and mine[one.place].status == "discarded" for one in queue),
        items=tuple(
            _build_item(one, drawn[one.id], shown.get(one.place, {}), suggestions=suggestions) for one in found
        ),
    )


def _build_ref(annotation: Annotation) -> ItemRef:
    """Return which item an annotation is of."""
    return ItemRef(sample_id=annotation.sample_id, method=annotation.method, item=annotation.item)


def _group_labels(annotations: Iterable[Annotation]) -> dict[ItemRef, dict[str, Annotation]]:
    """Group submitted annotations by item and annotator."""
    found: dict[ItemRef, dict[str, Annotation]] = {}
    for one in annotations:
        if one.status == "submitted" and one.value is not None:
            found.setdefault(_build_ref(one), {})[one.annotator] = one
    return found


def _is_labelled(thing: RecordItem, mine: Mapping[ItemRef, Annotation]) -> bool:
    """Return whether the annotator has labelled the item with its present texts."""
    label = mine.get(thing.place)
    return label is not None and not is_of_other_text(label.content, thing.content)


def _find_disagreements(
    things: Collection[RecordItem], labels: Mapping[ItemRef, Mapping[str, Annotation]]
) -> dict[str, LedgerEntry]:
    """Return the items whose labels differ from the verdict or from each other, with the weight of the labels."""
    found = {}
    for thing in things:
        given = labels.get(thing.place, {})
        values: set[Value | None] = {one.value for one in given.values()}
        if values and values != {thing.judgement.value}:
            first = next(iter(given.values()))
            found[thing.id] = LedgerEntry(
                place=thing.place, content=thing.content, weight=first.weight, stratum=first.stratum
            )
    return found


def _draw_items(
    folder: Path, metric: str, things: list[RecordItem], plan: SamplingPlan | None, seed: int
) -> dict[str, LedgerEntry]:
    """Draw a sample, or continue the one that was drawn before, and store it before anybody labels."""
    name = f"labels-{hash_json([metric, str(plan), seed])}"
    old = read_ledger(folder, name)
    new, wanted = plan_records(old, things, plan, seed=seed)
    if new != old:
        write_ledger(folder, name, new)
    return {one: new.planned[one] for one in wanted}


def _read_items(store: Store, metric: JudgedMetric, wanted: Collection[str], *, written: bool) -> list[RecordItem]:
    """Return the items of these ids in the order of the queue, with what the judge wrote if `written`."""
    # all items with the texts of the judge take more memory than the queue
    items = (RecordItem(judged=(item,)) for item in read_judged_items(store, metric, written=written))
    return sorted((item for item in items if item.id in wanted), key=_get_position)


def _get_position(thing: RecordItem) -> str:
    """Return what orders a queue: a hash, so that neighbours in the data are not neighbours in the queue."""
    return thing.place.hash_key()


def _build_item(
    thing: RecordItem, drawn: LedgerEntry, labels: Mapping[str, Annotation], *, suggestions: bool
) -> LabelItem:
    """Build the item that the annotator sees."""
    return LabelItem(
        **thing.place.model_dump(),
        fields={name: unescape_text(text) for name, text in thing.fields.items()},
        content=thing.content,
        weight=drawn.weight,
        stratum=drawn.stratum,
        judgement=thing.judgement if suggestions else None,
        labels={name: one.value for name, one in labels.items()},
    )
