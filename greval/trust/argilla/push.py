"""Push: turn judged items of a run into records to annotate. A repeated push adds only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from greval.errors import ArgillaError, DataError
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.runs.store import Store
from greval.trust.annotations.judged_items import shown
from greval.trust.argilla.client import Server
from greval.trust.argilla.dataset import About, Dataset, make
from greval.trust.argilla.form import mark
from greval.trust.argilla.ledger import hold, keep, load
from greval.trust.argilla.metric_lookup import metric_of
from greval.trust.argilla.records import record
from greval.trust.argilla.sampling import Sample
from greval.trust.argilla.sampling_plan import Light, changed, plan

BATCH = 500
"""The maximum number of records per request. The server accepts or rejects a batch as a whole."""


class Pushed(Record):
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


def push(  # noqa: PLR0913 - the options of a push
    run: Path | str,
    metric: str,
    *,
    dataset: str,
    workspace: str | None = None,
    sample: Sample | str | None = None,
    suggestions: bool = False,
    min_submitted: int = 2,
    seed: int = 0,
    url: str | None = None,
    key: str | None = None,
) -> Pushed:
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
    drawing = Sample.parse(sample) if isinstance(sample, str) else sample
    folder = Path(run)
    with Store.open(folder) as store, hold(folder), Server(url, key) as server:
        definition = metric_of(store, metric)
        about = About(
            metric=metric,
            scale=definition.scale,
            suggested=suggestions,
            sample=str(drawing) if drawing else None,
            seed=seed,
            min_submitted=min_submitted,
            settings=mark(definition, suggested=suggestions),
        )
        candidates = [Light.of(one) for one in shown(store, definition)]
        if not candidates:
            raise DataError(f"{folder}: nothing was judged by {metric!r} there, so there is nothing to push")
        if drawing:
            drawing.check([one.candidate for one in candidates])
        found = make(server, dataset, workspace, metric=definition, about=about)
        return _send(server, found, store, definition, _Plan(candidates, drawing))


class _Plan(NamedTuple):
    """The judged items of a run, and how they are sampled."""

    things: Sequence[Light]
    sample: Sample | None


def _send(server: Server, dataset: Dataset, store: Store, metric: JudgedMetric, planned: _Plan) -> Pushed:
    """Draw a sample, record it in the ledger, and send the records that the server does not have."""
    old = load(store.folder, dataset.id)
    there = {one["external_id"] for one in server.records(dataset.id)}
    new, wanted = plan(old, planned.things, planned.sample, seed=dataset.about.seed)
    if planned.sample and not old.draws and not there <= new.planned.keys():
        raise ArgillaError(
            f"{dataset.name}: holds a sample that was drawn elsewhere, perhaps from a copy of this run; "
            "push from there, or choose another --dataset"
        )
    if new != old:
        keep(store.folder, dataset.id, new)
    missing = wanted - there
    every = shown(store, metric, written=dataset.about.suggested) if missing else iter(())
    fresh = (one for one in every if one.id in missing)
    records = (record(one, new.planned[one.id], dataset, run=store.folder.resolve().name) for one in fresh)
    while batch := [*islice(records, BATCH)]:  # upsert by id, so a repeated record is harmless
        server.call("PUT", f"/datasets/{dataset.id}/records/bulk", {"items": batch})
    return Pushed(
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
        changed=changed(new, missing),
    )
