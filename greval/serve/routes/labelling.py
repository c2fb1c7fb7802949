"""The route for the items that a person labels next."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import describe_errors
from greval.serve.schemas.requests import INTEGRAL, StrictRequest
from greval.serve.service import TheService, TheTenant
from greval.serve.state.label_queue import dump_label_queue
from greval.trust.labelling.api import DEFAULT_SAMPLE, DISAGREEMENTS, LabelQueue

router = APIRouter(prefix="/v1/runs", tags=["people"])

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
SAMPLE = rf"^((random|stratified|uncertain):[1-9][0-9]{{0,8}}|{DISAGREEMENTS})$"


class LabelRequest(StrictRequest):
    """The items that an annotator labels next.

    `metric` is a judged metric of the run. `sample` is `random:N`, `stratified:N` (equally many of each verdict),
    `uncertain:N`, `disagreements` (what others labelled in another way than the judge or each other), or null for all
    items. `blind`: without the judge's verdicts. `seed` is the random seed of the sample, `limit` the most items in the
    response.
    """

    metric: Name
    annotator: Name
    sample: Annotated[str, StringConstraints(pattern=SAMPLE)] | None = DEFAULT_SAMPLE
    blind: bool = True
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), INTEGRAL] = 0
    limit: Annotated[int, Field(ge=1, le=1_000), INTEGRAL] = 100


@router.post("/{id}/labels", responses=describe_errors(404, 409, 422, 503, 504), response_model=LabelQueue)
async def plan_run_labels(
    body: LabelRequest,
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
) -> Response:
    """Plan the items that an annotator labels next; the same request continues the same sample.

    A label is an annotation with the `content`, `weight` and `stratum` of its item: send it to
    `PUT /v1/runs/{id}/annotations`.
    """
    folder = find_judged_folder(tenant, id)
    content = await service.workers.run(tenant.name, partial(dump_label_queue, folder, **body.model_dump()))
    return Response(content, media_type="application/json")
