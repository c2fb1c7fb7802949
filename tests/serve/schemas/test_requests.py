"""Types of request bodies: 2.0 is the integer 2. What is refused is in the golden file of refusals."""

from __future__ import annotations

from greval.serve.jobs.queue import RunRequest
from greval.serve.routes.argilla import PushRequest

RUN = {"dataset": "d-1", "metrics": ["correctness"]}
PUSH = {"metrics": ["correctness"], "dataset": "people"}


def test_json_does_not_distinguish_2_and_2_0():
    """A number without a fraction is an integer, an integer is a number, and what was stored is read as it was."""
    request = RunRequest.model_validate({**RUN, "repeats": 2.0, "max_calls": 10.0, "max_cost": 3})
    assert (request.repeats, request.max_calls, request.max_cost) == (2, 10, 3.0)
    assert PushRequest.model_validate({**PUSH, "seed": 4.0}).seed == 4
    assert RunRequest.model_validate_json(request.model_dump_json()) == request
