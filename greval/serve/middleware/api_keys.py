"""API keys: shown once, stored in a file as hashes, compared in constant time.

A key is 256 random bits, so it cannot be guessed or enumerated. A plain SHA-256 is therefore as safe as a slow
password hash, and adds no delay to requests.
"""

from __future__ import annotations

import hmac
import json
import secrets
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from greval._util.files import write_atomically
from greval.errors import GrevalError
from greval.records.record import Record
from greval.serve.service import PLAIN_NAME

KEY_PREFIX = "greval_"
KEY_BYTES = 32


class ApiKey(Record):
    """A key as the file stores it: its name, its SHA-256 and when it was created; the key itself is stored nowhere."""

    name: Annotated[str, Field(pattern=rf"^{PLAIN_NAME.pattern}$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    created: str = ""


class ApiKeys(Record):
    """The keys of a file."""

    keys: tuple[ApiKey, ...] = ()

    def find_name(self, presented: str) -> str | None:
        """Return the name of a key, or None if it is unknown; the response time reveals nothing about the keys.

        Every key is compared in constant time, even after a match.

        Example:
            >>> ApiKeys(keys=[ApiKey(name="ana", sha256=hash_key("greval_x"))]).find_name("greval_x")
            'ana'
        """
        given = hash_key(presented)
        found = None
        for key in self.keys:
            if hmac.compare_digest(key.sha256, given):
                found = key.name
        return found


class ApiKeyFile:
    """A file of keys that is read again when it changes, so that a removed key is refused at once."""

    def __init__(self, path: Path) -> None:
        """Store the path; nothing is read yet."""
        self.path = path
        self._mark: tuple[int, ...] = ()
        self._keys = ApiKeys()

    def read(self) -> ApiKeys:
        """Return the current keys, or raise `GrevalError` if the file cannot be read; no key is valid then."""
        try:
            found = self.path.stat()
            mark = found.st_mtime_ns, found.st_size, found.st_ino
            if mark != self._mark:
                self._keys = read_keys(self.path)
                self._mark = mark
        except OSError as error:
            raise GrevalError(f"{self.path}: the keys cannot be read: {error.strerror}") from error
        return self._keys


def read_keys(path: Path) -> ApiKeys:
    """Read a file of keys, or raise `OSError` or, if it is not a valid file of keys, `GrevalError`."""
    try:
        return ApiKeys.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        message = f"{path}: {where}: {first['msg']}; make a file of keys with: greval keys add NAME --file {path}"
        raise GrevalError(message) from error


def add_key(path: Path, name: str) -> str:
    """Create a key, store its hash in the file and return the key, which cannot be read again later.

    `name` is the key's owner and also names the folder of its runs. Raise `GrevalError` if the name is taken or
    invalid, or the file cannot be used.
    """
    if not PLAIN_NAME.fullmatch(name):
        message = f"key {name!r}: a name has 1 to 64 of a-z, A-Z, 0-9, - and _, and begins with a letter or a digit"
        raise GrevalError(message)
    known = _read_existing_keys(path)
    if any(key.name.casefold() == name.casefold() for key in known.keys):
        raise GrevalError(f"{path}: there is a key {name} already; remove it first with: greval keys remove {name}")
    secret = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    _write_keys(path, ApiKeys(keys=(*known.keys, ApiKey(name=name, sha256=hash_key(secret), created=made))))
    return secret


def remove_key(path: Path, name: str) -> None:
    """Remove a key, or raise `GrevalError` if no key has the name; a running server refuses it from then on."""
    known = _read_existing_keys(path)
    kept = tuple(key for key in known.keys if key.name != name)
    if len(kept) == len(known.keys):
        names = ", ".join(key.name for key in known.keys) or "none"
        raise GrevalError(f"{path}: no key {name}; existing keys: {names}")
    _write_keys(path, ApiKeys(keys=kept))


def hash_key(key: str) -> str:
    """Return the SHA-256 of a key as hexadecimal text."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _read_existing_keys(path: Path) -> ApiKeys:
    try:
        return read_keys(path) if path.exists() else ApiKeys()
    except OSError as error:
        raise GrevalError(f"{path}: cannot be read: {error.strerror}") from error


def _write_keys(path: Path, keys: ApiKeys) -> None:
    try:
        write_atomically(path, json.dumps(keys.model_dump(mode="json"), indent=2) + "\n")
        path.chmod(0o600)
    except OSError as error:
        raise GrevalError(f"{path}: cannot be written: {error.strerror}") from error
