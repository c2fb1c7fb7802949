"""Conditional requests: an entity tag, 304 for a client that has the content, and changes of known content only."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import sha256

from fastapi import Request, Response

NOT_MODIFIED = "The client has the content already, as `If-None-Match` says."
CACHE_CONTROL = "private, no-cache"
"""Let a client keep the content, and ask each time whether it is still the same."""


def build_etag(content: Hashable) -> str:
    """Return a weak entity tag, which is the same for a compressed response, of content or of what it depends on."""
    data = content if isinstance(content, bytes) else repr(content).encode()
    return f'W/"{sha256(data).hexdigest()[:32]}"'


def is_not_modified(request: Request, etag: str) -> bool:
    """Return whether the client has the content of this entity tag (RFC 9110, section 13.1.2)."""
    return _has_tag(request.headers.get("if-none-match", ""), etag)


def is_unchanged(if_match: str, content: Hashable | None) -> bool:
    """Return whether content still is what the client knows, by the header `If-Match`; None is no content.

    Tags are compared weakly, unlike RFC 9110 wants it (section 13.1.1), because the tags of responses that may be
    compressed are weak. The same tag stands for the same content here.
    """
    return content is not None and _has_tag(if_match, build_etag(content))


def _has_tag(header: str, etag: str) -> bool:
    """Return whether a header lists an entity tag, or any tag by `*`."""
    # Compared weakly, because responses that may be compressed have weak tags.
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


def build_headers(etag: str) -> dict[str, str]:
    """Return the headers of a response that has an entity tag."""
    return {"ETag": etag, "Cache-Control": CACHE_CONTROL}


def build_conditional_response(request: Request, content: bytes) -> Response:
    """Return JSON with its entity tag, or 304 if the client has it."""
    etag = build_etag(content)
    if is_not_modified(request, etag):
        return Response(status_code=304, headers=build_headers(etag))
    return Response(content, media_type="application/json", headers=build_headers(etag))
