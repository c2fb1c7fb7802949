"""Push: turn judged items of a run into records to annotate. A repeated push adds only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from greval.errors import ArgillaError, DataError
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.runs.run_reader import read_judged_metric
from greval.runs.store import Store
from greval.trust.annotations.judged_items import read_judged_items
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import ArgillaDataset, DatasetSettings, ensure_dataset
from greval.trust.argilla.form import hash_form
from greval.trust.argilla.ledger import lock_run, read_ledger, write_ledger
from greval.trust.argilla.records import build_record
from greval.trust.argilla.sampling import SamplingPlan
from greval.trust.argilla.sampling_plan import DrawableItem, count_changed, plan_records

MAX_BATCH = 500
"""The maximum number of records per request. The server accepts or rejects a batch as a whole."""


class PushResult(Record):
    """The result of a push.

    `judged` counts the items of the run, and `drawn` those in the sample. `added` records were sent now,
    `known` ones were on the server already. `changed` counts the added records whose item had other content
    in an earlier push.
    """

    dataset: str
    workspace: str
    page: str
    metric: str
    suggested: bool
    sample: str | None
    judged: int
    drawn: int
    added: int
    known: int
    changed: int


def push_to_argilla(  # noqa: PLR0913 - the options of a push
    run: Path | str,
    metric: str,
    *,
    dataset: str,
    workspace: str | None = None,
    sample: SamplingPlan | str | None = None,
    suggestions: bool = False,
    min_submitted: int = 2,
    seed: int = 0,
    url: str | None = None,
    key: str | None = None,
) -> PushResult:
    """Push the judged items of a run to Argilla, to be judged by people on the same scale.

    Args:
        run: A run folder.
        metric: The name of a judged metric of the run.
        dataset: The name of the dataset. It is created if it does not exist.
        workspace: Its workspace. None selects the only one.
        sample: The sample size and method, such as `random:200`. None takes all items.
        suggestions: Whether annotators see the judge's verdicts, with reasons, findings and notes. The page is
            prefilled with the verdicts, which biases answers towards them. Leave it off to measure agreement.
        min_submitted: The number of annotators per item.
        seed: The random seed of the sample.
        url: The URL of the server. Defaults to the environment variable ARGILLA_API_URL.
        key: The API key of an owner or admin. Defaults to the environment variable ARGILLA_API_KEY.

    Returns:
        The counts of added and existing records.

    Raises:
        ArgillaError: If the server is not available or refuses, or the name is taken. Completed steps are
            kept, and the same call resumes.
        DataError: If nothing in the run was judged by the metric.
        StoreError: If the run folder cannot be used.
    """
    if min_submitted < 1:
        raise ArgillaError(f"--min-submitted: 1 or more, got {min_submitted}")
    drawing = SamplingPlan.parse(sample) if isinstance(sample, str) else sample
    folder = Path(run)
    with Store.open(folder) as store, lock_run(folder), ArgillaClient(url, key) as server:
        definition = read_judged_metric(store, metric)
        about = DatasetSettings(
            metric=metric,
            scale=definition.scale,
            suggested=suggestions,
            sample=str(drawing) if drawing else None,
            seed=seed,
            min_submitted=min_submitted,
            settings=hash_form(definition, suggested=suggestions),
        )
        candidates = [DrawableItem.from_judged_item(one) for one in read_judged_items(store, definition)]
        if not candidates:
            raise DataError(f"{folder}: nothing was judged by {metric!r} there, so there is nothing to push")
        if drawing:
            drawing.check([one.candidate for one in candidates])
        found = ensure_dataset(server, dataset, workspace, metric=definition, about=about)
        return _send_records(server, found, store, definition, _PushPlan(candidates, drawing))


class _PushPlan(NamedTuple):
    """The judged items of a run, and how they are sampled."""

    things: Sequence[DrawableItem]
    sample: SamplingPlan | None


def _send_records(
    server: ArgillaClient, dataset: ArgillaDataset, store: Store, metric: JudgedMetric, planned: _PushPlan
) -> PushResult:
    """Draw a sample, record it in the ledger, and send the records that the server does not have."""
    old = read_ledger(store.folder, dataset.id)
    there = {one["external_id"] for one in server.iter_records(dataset.id)}
    new, wanted = plan_records(old, planned.things, planned.sample, seed=dataset.about.seed)
    if planned.sample and not old.draws and not there <= new.planned.keys():
        raise ArgillaError(
            f"{dataset.name}: holds a sample that was drawn elsewhere, perhaps from a copy of this run; "
            "push from there, or choose another --dataset"
        )
    if new != old:
        write_ledger(store.folder, dataset.id, new)
    missing = wanted - there
    every = read_judged_items(store, metric, written=dataset.about.suggested) if missing else iter(())
    fresh = (one for one in every if one.id in missing)
    records = (build_record(one, new.planned[one.id], dataset, run=store.folder.resolve().name) for one in fresh)
    while batch := [*islice(records, MAX_BATCH)]:  # upsert by id, so a repeated record is harmless
        server.call("PUT", f"/datasets/{dataset.id}/records/bulk", {"items": batch})
    return PushResult(
        dataset=dataset.name,
        workspace=dataset.workspace,
        page=f"{server.url}/dataset/{dataset.id}/annotation-mode",
        metric=metric.name,
        suggested=dataset.about.suggested,
        sample=dataset.about.sample,
        judged=len(planned.things),
        drawn=len(wanted),
        added=len(missing),
        known=len(wanted) - len(missing),
        changed=count_changed(new, missing),
    )
