"""The problem types of the server: a stable code for each cause of an error response, with its status and title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from greval.errors import (
    ArgillaError,
    DataError,
    DefinitionError,
    GrevalError,
    JudgeError,
    JudgeUnavailableError,
    MalformedVerdictError,
    MissingExtraError,
    StoreError,
)


class ProblemType(NamedTuple):
    """The status of a problem and its title, which is the same each time."""

    status: int
    title: str


PROBLEM_TYPES: Mapping[str, ProblemType] = {
    "two_lengths": ProblemType(400, "Two lengths of the body"),
    "invalid_key": ProblemType(401, "No valid key"),
    "expired_key": ProblemType(401, "The key has expired"),
    "scope_missing": ProblemType(403, "The key lacks a scope"),
    "foreign_host": ProblemType(403, "Not from this machine"),
    "forwarded": ProblemType(403, "Forwarded by a proxy"),
    "foreign_origin": ProblemType(403, "A page of another origin"),
    "workspace_not_own": ProblemType(403, "Not the workspace of the tenant"),
    "metric_not_own": ProblemType(403, "Not a metric of your own"),
    "path_not_found": ProblemType(404, "Nothing at this path"),
    "metric_not_found": ProblemType(404, "No such metric"),
    "version_not_found": ProblemType(404, "No such version of the metric"),
    "judge_not_found": ProblemType(404, "No such judge"),
    "dataset_not_found": ProblemType(404, "No such data set"),
    "run_not_found": ProblemType(404, "No such run"),
    "probe_not_found": ProblemType(404, "Not a probe"),
    "alignment_not_found": ProblemType(404, "Not an alignment"),
    "case_not_found": ProblemType(404, "No such case"),
    "walk_not_found": ProblemType(404, "The case has no walk"),
    "argilla_workspace_not_found": ProblemType(404, "No such workspace in Argilla"),
    "argilla_dataset_not_found": ProblemType(404, "No such dataset in Argilla"),
    "method_not_allowed": ProblemType(405, "Not a method of this path"),
    "body_too_slow": ProblemType(408, "The body came too slowly"),
    "metric_exists": ProblemType(409, "A metric of your own has this name"),
    "metric_name_taken": ProblemType(409, "The name of the metric is taken"),
    "metric_in_use": ProblemType(409, "Another metric builds on this one"),
    "too_many_metrics": ProblemType(409, "Too many metrics of your own"),
    "judge_not_offered": ProblemType(409, "The judge of a metric is not offered"),
    "price_unknown": ProblemType(409, "The price of the judge is unknown"),
    "metrics_unservable": ProblemType(409, "No case has what the metrics need"),
    "dataset_in_use": ProblemType(409, "A run needs the data set"),
    "run_without_results": ProblemType(409, "The run has no results yet"),
    "run_active": ProblemType(409, "The run has not ended"),
    "run_ended": ProblemType(409, "The run has ended"),
    "run_of_command_line": ProblemType(409, "The run belongs to the command line"),
    "run_unusable": ProblemType(409, "The run cannot be read"),
    "quota_full": ProblemType(409, "A quota of what is kept is used up"),
    "argilla_dataset_taken": ProblemType(409, "The name of the dataset is taken in Argilla"),
    "annotations_locked": ProblemType(409, "The annotations are being written"),
    "idempotency_key_in_use": ProblemType(409, "A request with this key is in progress"),
    "metric_changed": ProblemType(412, "The metric has changed"),
    "body_too_large": ProblemType(413, "The body is too large"),
    "line_too_long": ProblemType(413, "A line of the file is too long"),
    "unsupported_type": ProblemType(415, "Not an accepted content type"),
    "unsupported_encoding": ProblemType(415, "Not an accepted content encoding"),
    "invalid_request": ProblemType(422, "The request is invalid"),
    "idempotency_key_reused": ProblemType(422, "The key belongs to another request"),
    "invalid_json": ProblemType(422, "The body is not acceptable JSON"),
    "invalid_cursor": ProblemType(422, "Not a cursor of this server"),
    "invalid_case": ProblemType(422, "Not a valid case"),
    "case_too_large": ProblemType(422, "A case exceeds a limit"),
    "too_many_cases": ProblemType(422, "Too many cases"),
    "invalid_metric": ProblemType(422, "Not a valid metric"),
    "invalid_data": ProblemType(422, "The data cannot be used"),
    "file_too_costly": ProblemType(422, "The file takes too much to read"),
    "invalid_annotations": ProblemType(422, "Not valid annotations"),
    "argilla_refused": ProblemType(422, "Argilla refuses the content"),
    "quota_reached": ProblemType(429, "A quota of the period is used up"),
    "rate_limit": ProblemType(429, "Too many requests of the key"),
    "server_busy": ProblemType(429, "The server is busy"),
    "share_in_use": ProblemType(429, "The key has its share in use"),
    "too_many_runs": ProblemType(429, "Too many runs in the queue"),
    "head_too_large": ProblemType(431, "The address and the headers are too long"),
    "internal_error": ProblemType(500, "The server failed"),
    "metric_file_faulty": ProblemType(500, "A metric file of the server is faulty"),
    "extra_missing": ProblemType(501, "A component is not installed"),
    "argilla_not_configured": ProblemType(501, "No Argilla server"),
    "judge_error": ProblemType(502, "The judge cannot be used"),
    "judge_malformed": ProblemType(502, "The judge wrote nothing usable"),
    "argilla_error": ProblemType(502, "Argilla cannot be used"),
    "no_judge": ProblemType(503, "No judge"),
    "judge_unavailable": ProblemType(503, "The judge cannot be reached"),
    "keys_unreadable": ProblemType(503, "The keys cannot be read"),
    "memory_in_use": ProblemType(503, "The memory for bodies is in use"),
    "answer_too_large": ProblemType(503, "The answer takes too much memory"),
    "worker_lost": ProblemType(503, "A child process ended early"),
    "server_stopping": ProblemType(503, "The server is stopping"),
    "timeout": ProblemType(504, "The request took too long"),
    "disk_full": ProblemType(507, "The disk is full"),
}
"""The problem types by their codes; docs/rest.md lists them. A code never changes its meaning."""
CODES_OF_ERRORS: tuple[tuple[type[GrevalError], str], ...] = (
    (DefinitionError, "invalid_metric"),
    (DataError, "invalid_data"),
    (StoreError, "run_unusable"),
    (JudgeUnavailableError, "judge_unavailable"),
    (MalformedVerdictError, "judge_malformed"),
    (JudgeError, "judge_error"),
    (ArgillaError, "argilla_error"),
    (MissingExtraError, "extra_missing"),
    (GrevalError, "internal_error"),
)
"""The codes of the errors that the rest of greval raises, a class before its base."""
CODES_OF_STATUSES: Mapping[int, str] = {
    # A file of the page that cannot be read.
    401: "path_not_found",
    404: "path_not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    422: "invalid_request",
}
"""The codes of the errors that FastAPI, Starlette and LangServe raise."""

FaultCode = Literal["missing", "unknown", "wrong_type", "out_of_range", "not_allowed", "wrong_format", "invalid"]
"""What is wrong at one place: `out_of_range` is also said of lengths, `invalid` of what only the message explains."""
_FAULT_CODES: Mapping[str, FaultCode] = {
    "missing": "missing",
    "extra_forbidden": "unknown",
    "literal_error": "not_allowed",
    "enum": "not_allowed",
    "string_pattern_mismatch": "wrong_format",
    "finite_number": "out_of_range",
    "multiple_of": "out_of_range",
}
_FAULT_CODE_PARTS: Mapping[str, FaultCode] = {
    "too_short": "out_of_range",
    "too_long": "out_of_range",
    "greater_than": "out_of_range",
    "less_than": "out_of_range",
    "_type": "wrong_type",
    "_parsing": "wrong_type",
    "_from_float": "wrong_type",
}


def find_fault_code(error_type: str) -> FaultCode:
    """Return the code of a fault by the type of pydantic's error, whose names are many and not ours.

    Example:
        >>> find_fault_code("extra_forbidden"), find_fault_code("string_too_long"), find_fault_code("int_parsing")
        ('unknown', 'out_of_range', 'wrong_type')
    """
    if error_type in _FAULT_CODES:
        return _FAULT_CODES[error_type]
    return next((code for part, code in _FAULT_CODE_PARTS.items() if part in error_type), "invalid")
