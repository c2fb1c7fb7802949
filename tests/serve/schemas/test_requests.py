"""Types of request bodies: a value of another type is refused, and 2.0 is the integer 2."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from greval.serve.jobs.queue import AlignRequest, ProbeRequest, ResumeRequest, RunRequest
from greval.serve.routes.argilla import PullRequest, PushRequest

RUN = {"dataset": "d-1", "metrics": ["correctness"]}
PUSH = {"metrics": ["correctness"], "dataset": "people"}
ALIGN = {"run": "r-1", "metric": "correctness"}


@pytest.mark.parametrize(
    ("request_type", "body", "field", "value"),
    [
        (RunRequest, RUN, "repeats", True),
        (RunRequest, RUN, "concurrency", "3"),
        (RunRequest, RUN, "max_calls", 2.5),
        (RunRequest, RUN, "max_cost", True),
        (RunRequest, RUN, "metrics", [7]),
        (RunRequest, RUN, "metrics", "correctness"),
        (ProbeRequest, {"metric": "correctness"}, "mutants", "9"),
        (AlignRequest, ALIGN, "seed", False),
        (AlignRequest, ALIGN, "level", "0.9"),
        (ResumeRequest, {}, "max_cost", "1"),
        (PushRequest, PUSH, "blind", 0),
        (PushRequest, PUSH, "seed", False),
        (PushRequest, PUSH, "metrics", "correctness"),
        (PullRequest, {"dataset": "people"}, "workspace", 1),
    ],
)
def test_another_type_is_refused(request_type, body, field, value):
    """Nothing is coerced, and the fault names the field."""
    request_type.model_validate(body)
    with pytest.raises(ValidationError) as caught:
        request_type.model_validate({**body, field: value})
    assert {fault["loc"][0] for fault in caught.value.errors()} == {field}


def test_json_does_not_distinguish_2_and_2_0():
    """A number without a fraction is an integer, and an integer is a number."""
    request = RunRequest.model_validate({**RUN, "repeats": 2.0, "max_calls": 10.0, "max_cost": 3})
    assert (request.repeats, request.max_calls, request.max_cost) == (2, 10, 3.0)
    assert PushRequest.model_validate({**PUSH, "seed": 4.0}).seed == 4


def test_a_stored_request_is_read_again():
    """What was accepted and stored is read as it was."""
    request = RunRequest.model_validate({**RUN, "repeats": 2})
    assert RunRequest.model_validate_json(request.model_dump_json()) == request
