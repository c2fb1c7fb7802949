"""Authentication: the tenant that a request's `Authorization` header proves, and the scope that its path needs."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from pathlib import Path

from greval.errors import GrevalError
from greval.serve.logs import ERRORS
from greval.serve.middleware.api_keys import ApiKeys, LastUseFolder, hash_api_key, read_keys
from greval.serve.problems import ServeError
from greval.serve.settings import KeyScope

PROMETHEUS_PATH = "/metrics-exposition"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def find_required_scope(method: str, path: str) -> KeyScope:
    """Return the scope that a request needs, by its method and path."""
    if path == PROMETHEUS_PATH:
        return "scrape"
    return "read" if method in SAFE_METHODS else "judge"


class KeyAuthentication:
    """Authentication by a file of API keys.

    FastAPI's `HTTPBearer` and `SecurityScopes` are dependencies of routes, which run after the body has been read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._uses = LastUseFolder(path)
        self._mark: tuple[int, ...] = ()
        self._keys = ApiKeys()

    def _read_keys(self) -> ApiKeys:
        """Return the current keys; the file is read again when it changes, so that a removed key is refused at once."""
        try:
            status = self._path.stat()
            # The inode too, because a replaced file may have the same time and size.
            mark = status.st_mtime_ns, status.st_size, status.st_ino
            if mark != self._mark:
                self._keys, self._mark = read_keys(self._path), mark
        except (OSError, GrevalError) as error:
            ERRORS.error("the keys cannot be read: %s", error)
            raise ServeError("keys_unreadable", "the server cannot read its keys; ask its operator") from error
        return self._keys

    def identify_tenant(self, authorization: str, scope: KeyScope) -> str:
        """Return the name of the key in a header, or raise `ServeError`: 401 without a key, 403 without the scope.

        Only the holder of a key learns that it has expired.
        """
        api_keys = self._read_keys()
        presented = read_bearer(authorization)
        key = api_keys.find_key(presented) if presented is not None else None
        if key is None:
            message = "Authorization: no valid key; send the word Bearer, a space, and a key of this server"
            raise build_refusal("invalid_key", message)
        if key.has_expired(datetime.now(UTC)):
            message = (
                f"Authorization: this key expired on {key.expires:%Y-%m-%d %H:%M} UTC; ask the operator for another"
            )
            raise build_refusal("expired_key", message, 'error="invalid_token"')
        self._uses.record_use(key)
        if scope not in key.scopes:
            message = (
                f"Authorization: this request needs the scope {scope}, and the key has {', '.join(key.scopes)}; ask "
                f"the operator for a key made with: greval keys add {key.name} --scope {scope}"
            )
            raise build_refusal("scope_missing", message, f'error="insufficient_scope", scope="{scope}"')
        return key.name


def check_token(authorization: str, token_hash: str) -> None:
    """Raise `ServeError` (401) if a header does not have the one token of a server without keys."""
    presented = read_bearer(authorization)
    # Compared in constant time. Hashes have one length; the time of a comparison could reveal that of a token.
    if presented is None or not hmac.compare_digest(token_hash, hash_api_key(presented)):
        message = (
            "Authorization: no valid token; open the address that greval serve printed, or send the word Bearer, a "
            "space, and the token of this address. Start the server with --no-token to serve requests without one"
        )
        raise build_refusal("invalid_key", message)


def read_bearer(authorization: str) -> str | None:
    """Return the key or token of an `Authorization` header, or None if the header has another form."""
    scheme, _, value = authorization.partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def build_refusal(code: str, message: str, fault: str = "") -> ServeError:
    """Build the refusal of a request with the header `WWW-Authenticate` (RFC 6750)."""
    return ServeError(code, message, headers={"WWW-Authenticate": f"Bearer {fault}".strip()})
