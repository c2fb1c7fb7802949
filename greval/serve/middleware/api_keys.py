"""API keys: shown once, stored in a file as hashes, compared in constant time.

A key is 256 random bits, so it cannot be guessed or enumerated. A plain SHA-256 is therefore as safe as a slow
password hash, and adds no delay to requests.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from filelock import FileLock
from pydantic import AwareDatetime, Field, ValidationError

from greval._util.files import write_atomically
from greval.errors import GrevalError
from greval.records.record import Label, Record
from greval.serve.logs import ERRORS
from greval.serve.service import PLAIN_NAME
from greval.serve.settings import DEFAULT_SCOPES, KeyScope

KEY_PREFIX = "greval_"
KEY_BYTES = 32
ID_DIGITS = 8
LAST_USE_SECONDS = 60.0
"""The last use of a key is written at most once in this time."""
_DURATION = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class ApiKey(Record):
    """A key as the file stores it; the key itself is stored nowhere.

    `name` is the tenant that uses the key. `label` says what the key is for. `expires` is None if the key does not
    expire.
    """

    name: Annotated[str, Field(pattern=rf"^{PLAIN_NAME.pattern}$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    created: str = ""
    label: Label | None = None
    scopes: Annotated[tuple[KeyScope, ...], Field(min_length=1)] = DEFAULT_SCOPES
    expires: AwareDatetime | None = None

    @property
    def id(self) -> str:
        """The beginning of the hash, which distinguishes the keys of a tenant."""
        return self.sha256[:ID_DIGITS]

    def has_expired(self, now: datetime) -> bool:
        """Return whether the key is refused at this time."""
        return self.expires is not None and self.expires <= now


class ApiKeys(Record):
    """The keys of a file."""

    keys: tuple[ApiKey, ...] = ()

    def find_key(self, presented: str) -> ApiKey | None:
        """Return the stored key of a presented one, or None; the response time reveals nothing about the keys.

        Every key is compared in constant time. The key may have expired.
        """
        digest = hash_api_key(presented)
        match = None
        # Not ended by a match, so that the response time reveals nothing about the keys.
        for key in self.keys:
            if hmac.compare_digest(key.sha256, digest):
                match = key
        return match


class LastUseFolder:
    """The times at which keys were last used: the modification times of empty files in a folder beside the keys.

    A file is written at most once a minute. Several processes of a server need no lock for it, and the file of keys
    itself may be read-only. `clock` returns the time in seconds.
    """

    def __init__(self, keys: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = keys.with_name(f"{keys.name}.used")
        self._clock = clock
        self._written: dict[str, float] = {}
        self._failed = False

    def record_use(self, key: ApiKey) -> None:
        """Record that a key is used now. If it cannot be written, the log says so once, and the request is served."""
        now = self._clock()
        if now - self._written.get(key.id, -LAST_USE_SECONDS) < LAST_USE_SECONDS:
            return
        self._written[key.id] = now
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path = self._folder / key.id
            path.touch(mode=0o600)
            os.utime(path)
        except OSError as error:
            if not self._failed:
                ERRORS.warning("%s: the last use of keys cannot be recorded: %s", self._folder, error.strerror)
            self._failed = True

    def read_last_use(self, key: ApiKey) -> datetime | None:
        """Return when a key was last used, to the minute, or None if it never was."""
        with suppress(OSError):
            return datetime.fromtimestamp((self._folder / key.id).stat().st_mtime, UTC)
        return None

    def remove(self, key: ApiKey) -> None:
        """Remove what is recorded of a key."""
        with suppress(OSError):
            (self._folder / key.id).unlink()


def read_keys(path: Path) -> ApiKeys:
    """Read a file of keys, or raise `GrevalError` if it cannot be read as one."""
    try:
        return ApiKeys.model_validate_json(path.read_bytes())
    except OSError as error:
        hint = f"make a key with: greval keys add NAME --file {path}"
        raise GrevalError(f"{path}: cannot be read: {error.strerror}; {hint}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        message = f"{path}: {where}: {first['msg']}; make a file of keys with: greval keys add NAME --file {path}"
        raise GrevalError(message) from error


def add_key(
    path: Path,
    name: str,
    *,
    label: str | None = None,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    expires: datetime | None = None,
) -> str:
    """Create a key, store its hash in the file and return the key, which cannot be read again later.

    `name` is the tenant and also names the folder of its runs. A tenant may have several keys. Raise `GrevalError` if
    the name, the label or a scope is invalid, the name differs from another one in upper and lower case only, or the
    file cannot be used.
    """
    if not PLAIN_NAME.fullmatch(name):
        message = f"key {name!r}: a name has 1 to 64 of a-z, A-Z, 0-9, - and _, and begins with a letter or a digit"
        raise GrevalError(message)
    secret = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    fields = {"label": label, "scopes": [*dict.fromkeys(scopes)], "expires": expires}
    try:
        key = ApiKey.model_validate({"name": name, "sha256": hash_api_key(secret), "created": created, **fields})
    except ValidationError as error:
        first = error.errors()[0]
        option, message = str(first["loc"][0]).removesuffix("s"), first["msg"].removeprefix("Value error, ")
        raise GrevalError(f"--{option} {first['input']!r}: {message}") from error
    with _lock_keys(path) as api_keys:
        _check_spelling(path, api_keys, name)
        _write_keys(path, ApiKeys(keys=(*api_keys.keys, key)))
    return secret


def _check_spelling(path: Path, api_keys: ApiKeys, name: str) -> None:
    """Raise `GrevalError` if a known name differs in upper and lower case only."""
    if similar_name := next(
        (key.name for key in api_keys.keys if key.name != name and key.name.lower() == name.lower()), None
    ):
        message = (
            f"{path}: the name {name} differs from {similar_name} in upper and lower case only; take {similar_name}, "
            "or another"
        )
        raise GrevalError(message)


def remove_keys(path: Path, name: str, *, key_id: str | None = None, every: bool = False) -> tuple[ApiKey, ...]:
    """Remove a key of a tenant and return what was removed; a running server refuses it from then on.

    The key is the tenant's only one, the one with the id, or, with `every`, each one. Raise `GrevalError` if there is
    no such key, or the tenant has several and nothing says which.
    """
    # Refuse before anything is written, even a lock file.
    _select_keys(path, read_keys(path), name, key_id=key_id, every=every)
    with _lock_keys(path) as api_keys:
        removed = _select_keys(path, api_keys, name, key_id=key_id, every=every)
        _write_keys(path, ApiKeys(keys=tuple(key for key in api_keys.keys if key not in removed)))
    uses = LastUseFolder(path)
    for key in removed:
        uses.remove(key)
    return removed


def _select_keys(path: Path, api_keys: ApiKeys, name: str, *, key_id: str | None, every: bool) -> tuple[ApiKey, ...]:
    """Return the keys of a tenant that are to be removed."""
    tenant_keys = [key for key in api_keys.keys if key.name == name]
    if not tenant_keys:
        names = ", ".join(dict.fromkeys(key.name for key in api_keys.keys)) or "none"
        raise GrevalError(f"{path}: no key {name}; existing keys: {names}")
    ids = ", ".join(key.id for key in tenant_keys)
    if key_id is None and not every and len(tenant_keys) > 1:
        raise GrevalError(
            f"{path}: {name} has {len(tenant_keys)} keys; name one with --id ({ids}), or remove them with --all"
        )
    removed = tuple(key for key in tenant_keys if key_id in {None, key.id})
    if not removed:
        raise GrevalError(f"{path}: {name} has no key with the id {key_id}; its keys: {ids}")
    return removed


def parse_expiry(text: str, now: datetime) -> datetime:
    """Return the time at which a key expires: a duration from now, or the end (UTC) of the last day of its validity.

    Example:
        >>> now = datetime(2026, 11, 23, 12, tzinfo=UTC)
        >>> parse_expiry("90d", now).isoformat(), parse_expiry("2027-01-31", now).isoformat()
        ('2027-02-21T12:00:00+00:00', '2027-02-01T00:00:00+00:00')
    """
    try:
        if duration := _DURATION.fullmatch(text):
            return now + timedelta(**{_UNITS[duration[2]]: int(duration[1])})
        end = datetime.combine(date.fromisoformat(text) + timedelta(days=1), datetime.min.time(), UTC)
    except (ValueError, OverflowError) as error:
        message = f"--expires {text}: expected a duration such as 90d, 12h or 8w, or the last day, such as 2027-01-31"
        raise GrevalError(message) from error
    if end <= now:
        raise GrevalError(f"--expires {text}: this day is over; name a later one")
    return end


def hash_api_key(key: str) -> str:
    """Return the SHA-256 of a key as hexadecimal text."""
    # What a client presents may hold lone surrogates.
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def _lock_keys(path: Path) -> Iterator[ApiKeys]:
    """Read the keys of a file, none if there is no file yet, which no other process changes meanwhile."""
    try:
        with FileLock(path.with_name(f"{path.name}.lock")):
            yield read_keys(path) if path.exists() else ApiKeys()
    except OSError as error:
        raise GrevalError(f"{path}: cannot be written: {error.strerror}") from error


def _write_keys(path: Path, keys: ApiKeys) -> None:
    write_atomically(path, json.dumps(keys.model_dump(mode="json", exclude_defaults=True), indent=2) + "\n")
    path.chmod(0o600)
