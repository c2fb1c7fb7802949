"""The OpenAPI document: the routes' own descriptions, completed by errors, examples and words on tags."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query

from greval._util.wording import did_you_mean
from greval.serve.conditional import build_conditional_response
from greval.serve.middleware.access import classify_request
from greval.serve.middleware.authentication import find_required_scope
from greval.serve.middleware.request_body import BODY_METHODS
from greval.serve.problems import MEDIA_TYPE, build_fault, build_invalid_request_error

METHODS = ("get", "put", "post", "delete", "patch")
FIRST_ERROR_STATUS = 400
MAX_PLACE_LENGTH = 60
"""The most characters of the place of an unknown parameter, whose name a client makes up."""
EXAMPLES_FILE = "openapi_examples.json"
"""Requests and their responses by the id of the operation, as a test recorded them."""
COMMON_ERRORS = {
    "400": "The headers state two lengths of the body.",
    "401": "No valid key was sent.",
    "403": "The key lacks a scope. Without keys: not from this machine, by a proxy, or from another site's page.",
    "422": "Something of the request is not as described; `faults` lists each place.",
    "429": "Too many requests of this key, or the server is busy; `Retry-After` is the time until the next attempt.",
    "431": "The address and the headers are too long.",
    "500": "The server failed; its log has more under the request's id.",
    "503": "No judge, memory or process is free, or the answer is too large; ask again later.",
    "504": "The request took longer than it may.",
}
BODY_ERRORS = {
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "415": "The body is of a type that is not taken, or compressed.",
}
"""Errors of the methods that have a body."""
PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}
KEY_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key that the operator made with greval keys add, or the token of a server without keys. Each "
    "operation names the scope that the key must have: `read`, `judge` for what costs or changes something, or "
    "`scrape` for the counters of all tenants.",
}
SERVERS = [{"url": "/", "description": "The server that this document is from."}]
TAGS = {
    "metrics": "The judges and the metrics, and metrics of your own: check, edit, draft, save, versions, delete.",
    "evaluate": "Judge cases within one request.",
    "langserve": "Each metric as a LangServe runnable, for `RemoteRunnable`.",
    "datasets": "Files of cases that runs judge.",
    "runs": "Judge a data set in the background: start, follow, read, cancel, resume, delete.",
    "figures": "What a run found: report, comparison, agreement with people, estimates; and the history of many runs.",
    "downloads": "Results, reports, comparisons and data sets as files.",
    "people": "People's judgements of a run: as files, or by Argilla.",
    "usage": "What you used, and what the operator allows.",
    "operating": "Health, readiness and counters, for operators.",
}
"""What the tags mean, in the order in which tools show them."""


async def refuse_unknown_parameters(request: Request) -> None:
    """Raise `ServeError` (422) if the query has parameters that the route does not take.

    A parameter that is ignored, such as a misspelt filter, gives an answer that looks right.
    """
    if not request.query_params:
        return
    # Not taken from the document, which takes half a second to build.
    parameters = get_flat_params(request.scope["route"].dependant)
    names = [parameter.alias for parameter in parameters if isinstance(parameter.field_info, Query)]
    faults = [
        build_fault(f"query.{name}"[:MAX_PLACE_LENGTH], f"is no parameter here{did_you_mean(name, names)}", "unknown")
        for name in dict.fromkeys(request.query_params)
        if name not in names
    ]
    if faults:
        raise build_invalid_request_error(faults)


@cache
def load_examples() -> dict[str, Any]:
    """Load the examples of requests and responses."""
    return cast("dict[str, Any]", json.loads((files("greval.serve") / EXAMPLES_FILE).read_text(encoding="utf-8")))


class GrevalApi(FastAPI):
    """FastAPI with a document that lists every possible status, each with its schema."""

    def __init__(self, *, requires_keys: bool, **settings: Any) -> None:  # noqa: ANN401 - FastAPI's
        tags = [{"name": name, "description": text} for name, text in TAGS.items()]
        super().__init__(servers=SERVERS, openapi_tags=tags, openapi_url=None, **settings)
        self._keyed = requires_keys
        self._content = b""
        self.add_route("/openapi.json", self._show_document, include_in_schema=False)

    def openapi(self) -> dict[str, Any]:
        """Return the document, built once."""
        if self.openapi_schema is None:
            self.openapi_schema = self._complete_document(super().openapi())
        return self.openapi_schema

    async def _show_document(self, request: Request) -> Response:
        """Return the document, or 304 if the client has it."""
        if not self._content:
            self._content = json.dumps(self.openapi(), ensure_ascii=False, separators=(",", ":")).encode()
        return build_conditional_response(request, self._content)

    def _complete_document(self, document: dict[str, Any]) -> dict[str, Any]:
        parts = document.setdefault("components", {})
        for path, operations in document.get("paths", {}).items():
            for method in METHODS:
                if method in operations:
                    self._complete_operation(method, path, operations[method])
        operations = (operation for methods in document.get("paths", {}).values() for operation in methods.values())
        tags = {tag for operation in operations for tag in operation.get("tags", ())}
        # Without its extra, LangServe has no operation.
        document["tags"] = [tag for tag in document["tags"] if tag["name"] in tags]
        schemas = parts.setdefault("schemas", {})
        # All errors are problem documents.
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        if self._keyed:
            parts["securitySchemes"] = {"key": KEY_SCHEME}
        return document

    def _complete_operation(self, method: str, path: str, operation: dict[str, Any]) -> None:
        """Add the responses that the routes do not declare, examples, and the media type of problems."""
        responses = operation.setdefault("responses", {})
        common = {**COMMON_ERRORS, **(BODY_ERRORS if method.upper() in BODY_METHODS else {})}
        for status, text in common.items():
            if status == "422" or status not in responses:
                responses[status] = {"description": text, "content": {MEDIA_TYPE: {"schema": PROBLEM_REF}}}
        for status, response in responses.items():
            content = response.get("content", {})
            if int(status) >= FIRST_ERROR_STATUS and content.get("application/json", {}).get("schema") == PROBLEM_REF:
                response["content"] = {MEDIA_TYPE: {"schema": PROBLEM_REF}}
            for kind in content.values():
                # FastAPI's, of OpenAPI 3.2; the document is of 3.1.
                if "itemSchema" in kind:
                    kind["schema"] = kind.pop("itemSchema")
        if self._keyed and not classify_request("GET", path).public:
            operation["security"] = [{"key": [find_required_scope(method.upper(), path)]}]
        _add_examples(operation)


def _add_examples(operation: dict[str, Any]) -> None:
    """Add the example of the request and that of the response."""
    example = load_examples().get(operation.get("operationId", ""), {})
    for media_type, content in example.get("request", {}).items():
        operation["requestBody"]["content"][media_type]["example"] = content
    for media_type, content in example.get("response", {}).items():
        operation["responses"][example["status"]]["content"][media_type]["example"] = content
