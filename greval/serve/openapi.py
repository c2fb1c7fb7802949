"""The OpenAPI document: the routes' own descriptions, and the errors that can occur before a route is reached."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from greval.serve.middleware.access import classify_request
from greval.serve.problems import MEDIA_TYPE, Problem

METHODS = ("get", "put", "post", "delete", "patch")
FIRST_ERROR_STATUS = 400
COMMON_ERRORS = {
    "401": "No valid key was sent.",
    "403": "Without keys this machine alone is served, and no pages of other sites.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "415": "The body is of a type that is not taken.",
    "422": "Something of the request is not as described; `faults` lists each place.",
    "429": "Too many requests of this key, or the server is busy; `Retry-After` is the time until the next attempt.",
    "431": "The address and the headers are too long.",
    "500": "The server failed; its log has more under the request's id.",
    "503": "No judge or no memory is free; ask again later.",
    "504": "The request took longer than it may.",
}
PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}
KEY_SCHEME = {"type": "http", "scheme": "bearer", "description": "A key that the operator made with greval keys add."}


class GrevalApi(FastAPI):
    """FastAPI with a document that lists every possible status, each with its schema."""

    def __init__(self, *, requires_keys: bool, **settings: Any) -> None:  # noqa: ANN401 - FastAPI's
        """Store whether keys are required."""
        super().__init__(**settings)
        self._keyed = requires_keys

    def openapi(self) -> dict[str, Any]:
        """Return the document, built once."""
        if self.openapi_schema is None:
            self.openapi_schema = self._complete_document(super().openapi())
        return self.openapi_schema

    def _complete_document(self, document: dict[str, Any]) -> dict[str, Any]:
        parts = document.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        for path, operations in document.get("paths", {}).items():
            for method in METHODS:
                if method in operations:
                    self._complete_operation(path, operations[method])
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        if self._keyed:
            parts["securitySchemes"] = {"key": KEY_SCHEME}
        return document

    def _complete_operation(self, path: str, operation: dict[str, Any]) -> None:
        """Add the responses that the routes do not declare, and give each problem its media type."""
        responses = operation.setdefault("responses", {})
        for status, text in COMMON_ERRORS.items():
            if status == "422" or status not in responses:
                responses[status] = {"description": text, "content": {MEDIA_TYPE: {"schema": PROBLEM_REF}}}
        for status, response in responses.items():
            content = response.get("content", {})
            if int(status) >= FIRST_ERROR_STATUS and content.get("application/json", {}).get("schema") == PROBLEM_REF:
                response["content"] = {MEDIA_TYPE: {"schema": PROBLEM_REF}}
        if self._keyed and not classify_request("GET", path).public:
            operation["security"] = [{"key": []}]
