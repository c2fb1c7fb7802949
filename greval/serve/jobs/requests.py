"""From a request to a queued job: everything that can be wrong is reported before the job starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from greval.judging.model.client import JudgeClient
from greval.judging.model.prices import Prices
from greval.records.metric import JudgedMetric, Metric
from greval.serve.ids import made_id, now
from greval.serve.jobs.queue import CANCEL, Claim, Queue, make, order_of, put_order, put_state, state_of
from greval.serve.jobs.records import ACTIVE, Order, ResumeRequest, RunRequest, State
from greval.serve.problems import ServeError
from greval.serve.service import Service, Tenant
from greval.serve.state.uploads import Dataset, Uploads

MOST_QUEUED = 100
"""The most waiting and running jobs of a tenant."""
TRIES = 100
TRY_SECONDS = 0.02


def ordered(service: Service, tenant: Tenant, asked: RunRequest, metrics: Sequence[Metric]) -> Order:
    """Build the specification of a job.

    Args:
        service: The shared state of the server.
        tenant: The client that calls.
        asked: The request.
        metrics: Its metrics with those that they build on, in order.

    Raises:
        ServeError: If the data set (404) or the judge (404, 503) does not exist, the data set holds no case, or the
            price that a cost cap needs is unknown (409).
    """
    dataset = Uploads(tenant.datasets).find(asked.dataset)
    _check_cases(dataset)
    judge = _judge(service, asked, metrics)
    name = asked.name or dataset.name
    return Order(
        id=made_id(name),
        tenant=tenant.name,
        name=name,
        created=now(),
        judge=judge,
        metrics=tuple(metric.name for metric in metrics),
        definitions=tuple(_kept(metric) for metric in metrics),
        asked=asked,
    )


def begin(queue: Queue, tenant: Tenant, order: Order) -> Path:
    """Create the folder of a run and add the run to the queue.

    Raises:
        ServeError: If the tenant has as many queued runs as it may (429).
    """
    _check_room(queue, tenant)
    folder = tenant.runs / order.id
    queue.add(folder)  # first: if the process is killed in between, no run waits for ever
    make(folder, order)
    return folder


def resume(service: Service, queue: Queue, tenant: Tenant, folder: Path, *, asked: ResumeRequest | None = None) -> None:
    """Add an ended run to the queue again; only missing and failed results are judged.

    Args:
        service: The shared state of the server.
        queue: The waiting runs.
        tenant: The client that calls.
        folder: The run's folder.
        asked: New caps for it.

    Raises:
        ServeError: If it has not ended or cannot be resumed here (409), its data set or judge is gone (404), or the
            tenant has as many queued runs as it may (429).
    """
    order = order_of(folder)
    if order is None:
        raise ServeError(409, f"run {folder.name!r}: was made on the command line; go on there with greval evaluate")
    _check_room(queue, tenant)
    Uploads(tenant.datasets).find(order.asked.dataset)
    caps = asked.model_dump(exclude_none=True) if asked else {}
    if order.judge is not None:
        _check_price(JudgeClient(service.model(order.judge)).label, caps.get("max_cost"))
    with claimed(folder, "it is worked on already"):
        state = state_of(folder) or State(status="queued")
        if state.status in ACTIVE:
            raise ServeError(409, f"run {folder.name!r}: is {state.status} already")
        if caps:
            put_order(folder, order.model_copy(update={"asked": order.asked.model_copy(update=caps)}))
        (folder / CANCEL).unlink(missing_ok=True)
        queue.add(folder)  # first: if the process is killed in between, no run waits for ever
        put_state(folder, State(status="queued", progress=state.progress, methods=state.methods))


def claimed(folder: Path, why: str) -> Claim:
    """Lock a run that has ended, waiting for its worker to release it; call this in a thread.

    Raises:
        ServeError: If another process holds the lock (409); `why` says what that prevents.
    """
    for _ in range(TRIES):
        if claim := Claim.take(folder):
            return claim
        state = state_of(folder)
        if state is None or state.status in ACTIVE:
            break
        time.sleep(TRY_SECONDS)  # it has ended, and its worker is about to release the lock
    raise ServeError(409, f"run {folder.name!r}: {why}")


def _check_room(queue: Queue, tenant: Tenant) -> None:
    if queue.length(tenant.runs) >= MOST_QUEUED:
        told = f"runs: {MOST_QUEUED} of yours wait or are worked on, which is the most; wait for one, or cancel one"
        raise ServeError(429, told, headers={"Retry-After": "60"})


def _check_cases(dataset: Dataset) -> None:
    if not dataset.cases:
        first = f"; {dataset.unread[0].place}: {dataset.unread[0].message}" if dataset.unread else ""
        raise ServeError(409, f"data set {dataset.id!r}: holds no case to judge{first}")


def _judge(service: Service, asked: RunRequest, metrics: Sequence[Metric]) -> str | None:
    """Return the name of the judge, or None if no metric needs one."""
    if asked.judge is None and not any(isinstance(metric, JudgedMetric) for metric in metrics):
        return None
    model = service.model(asked.judge)
    _check_price(JudgeClient(model).label, asked.max_cost)
    return asked.judge if asked.judge is not None else next(iter(service.models))


def _check_price(label: str, max_cost: float | None) -> None:
    if max_cost is not None and Prices.load().of(label) is None:
        raise ServeError(409, f"max_cost: no price is known for the judge {label}; cap the calls with max_calls")


def _kept(metric: Metric) -> JsonValue:
    return metric.model_dump(mode="json") if isinstance(metric, JudgedMetric) else metric.name
