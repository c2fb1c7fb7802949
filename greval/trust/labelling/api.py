"""The queue of items that a person labels: drawn once with known weights, and worked off in a fixed order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.records.result import Judgement
from greval.records.scale import Value
from greval.runs.run_reader import ItemKey, read_judged_metric
from greval.runs.store import Store
from greval.trust.annotations.files import ANNOTATIONS_FILE, read_valid_annotations
from greval.trust.annotations.matching import get_item_key, is_of_other_text
from greval.trust.annotations.rendering import list_titles, unescape_text
from greval.trust.argilla.ledger import LedgerEntry, lock_run, read_ledger, write_ledger
from greval.trust.argilla.record_items import RecordItem, read_record_items
from greval.trust.argilla.sampling import SamplingPlan, plan_records

DISAGREEMENTS: Final = "disagreements"
"""The queue of items on which annotators differ from the judge or from each other."""
DEFAULT_SAMPLE: Final = "random:100"
DONE = frozenset({"submitted", "discarded"})
"""The states of an annotation whose item is not asked for again."""


class LabelItem(Record):
    """An item to label: what it is, the texts that its judge saw, and what an annotation of it must carry.

    `content` is the hash of the texts, `weight` the inverse of the probability with which the item was drawn, `stratum`
    what it was drawn from. `judgement` is the judge's, None if the queue is blind. `labels` are those of other
    annotators by name, empty unless the queue is of disagreements and not blind.
    """

    sample_id: str
    method: str
    item: str | None
    fields: dict[str, str]
    content: str
    weight: float
    stratum: str | None
    judgement: Judgement | None
    labels: dict[str, JsonValue]


class LabelQueue(Record):
    """The items that an annotator has not labelled yet, in the order of their ids' hashes.

    `titles` are the titles of the fields, `judged` counts the judged items of the run, `drawn` those of the queue,
    `labelled` those of them that the annotator has labelled, and `discarded` those of the labelled ones that the
    annotator could not judge.
    """

    metric: str
    annotator: str
    scale: dict[str, JsonValue]
    titles: dict[str, str]
    sample: str | None
    suggested: bool
    judged: int
    drawn: int
    labelled: int
    discarded: int
    items: tuple[LabelItem, ...]


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

    `sample` is `random:N`, `stratified:N` (equally many of each verdict) or `uncertain:N`; `disagreements` for the
    items that other annotators labelled in another way than the judge or each other, with the weights that these labels
    have; None for all items. `suggestions` is whether the annotator sees the judge's verdicts, which bias labels
    towards them, and `limit` the most items in the answer. Raise `ArgillaArgumentError` if the sample has another form,
    and `DataError` if nothing in the run was judged by the metric.
    """
    plan = SamplingPlan.parse(sample) if sample not in {None, DISAGREEMENTS} else None
    folder = Path(run)
    with Store.open(folder) as store, lock_run(folder):
        definition = read_judged_metric(store, metric)
        things = read_record_items(store, [definition], written=suggestions)
        if not things:
            raise DataError(f"{folder}: nothing was judged by {metric!r} there, so there is nothing to label")
        labels = [row for row in read_valid_annotations(folder / ANNOTATIONS_FILE) if row.metric == metric]
        labels_of_others = _group_labels(row for row in labels if row.annotator != annotator)
        drawn = (
            _find_disagreements(things, labels_of_others)
            if sample == DISAGREEMENTS
            else _draw_items(folder, metric, things, plan, seed)
        )
        mine = {get_item_key(row): row for row in labels if row.annotator == annotator and row.status in DONE}
        queue = [thing for thing in things if thing.id in drawn]
        # By a hash, so that neighbours in the data are not neighbours in the queue.
        queue.sort(key=lambda thing: thing.place.hash_key())
        unlabelled = [thing for thing in queue if not _is_labelled(thing, mine)]
    # A blind annotator must not see how others voted.
    visible_labels = labels_of_others if sample == DISAGREEMENTS and suggestions else {}
    return LabelQueue(
        metric=metric,
        annotator=annotator,
        scale=definition.scale.model_dump(mode="json"),
        titles=list_titles(definition),
        sample=sample,
        suggested=suggestions,
        judged=len(things),
        drawn=len(queue),
        labelled=len(queue) - len(unlabelled),
        discarded=sum(
            _is_labelled(thing, mine) and mine[thing.place.item_key].status == "discarded" for thing in queue
        ),
        items=tuple(
            _build_item(item, drawn[item.id], visible_labels.get(item.place.item_key, {}), suggestions=suggestions)
            for item in unlabelled[:limit]
        ),
    )


def _group_labels(annotations: Iterable[Annotation]) -> dict[ItemKey, dict[str, Annotation]]:
    """Group submitted annotations by item and annotator."""
    labels: dict[ItemKey, dict[str, Annotation]] = {}
    for annotation in annotations:
        if annotation.status == "submitted" and annotation.value is not None:
            labels.setdefault(get_item_key(annotation), {})[annotation.annotator] = annotation
    return labels


def _is_labelled(thing: RecordItem, mine: Mapping[ItemKey, Annotation]) -> bool:
    """Return whether the annotator has labelled the item with its present texts."""
    label = mine.get(thing.place.item_key)
    return label is not None and not is_of_other_text(label.content, thing.content)


def _find_disagreements(
    things: Collection[RecordItem], labels: Mapping[ItemKey, Mapping[str, Annotation]]
) -> dict[str, LedgerEntry]:
    """Return the items whose labels differ from the verdict or from each other, with the weight of the labels."""
    entries = {}
    for thing in things:
        item_labels = labels.get(thing.place.item_key, {})
        values: set[Value | None] = {annotation.value for annotation in item_labels.values()}
        if values and values != {thing.judgement.value}:
            first = next(iter(item_labels.values()))
            entries[thing.id] = LedgerEntry(
                place=thing.place, content=thing.content, weight=first.weight, stratum=first.stratum
            )
    return entries


def _draw_items(
    folder: Path, metric: str, things: list[RecordItem], plan: SamplingPlan | None, seed: int
) -> dict[str, LedgerEntry]:
    """Draw a sample, or continue the one that was drawn before, and store it before anybody labels."""
    name = f"labels-{hash_json([metric, str(plan), seed])}"
    old = read_ledger(folder, name)
    new, drawn_ids = plan_records(old, things, plan, seed=seed)
    # Before anybody labels, so that all annotators get the same sample.
    if new != old:
        write_ledger(folder, name, new)
    return {record_id: new.planned[record_id] for record_id in drawn_ids}


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
        labels={name: label.value for name, label in labels.items()},
    )
