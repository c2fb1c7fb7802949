"""API keys: made once, kept as hashes in a file, compared in constant time.

A key is 256 random bits. Nobody can guess or count through them, so that a plain SHA-256 keeps them as well as a
slow password hash would, and costs no request any time.
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

from greval._util.whole_file import write_whole
from greval.errors import GrevalError
from greval.records.record import Record
from greval.serve.service import PLAIN_NAME

PREFIX = "greval_"
BYTES = 32


class Key(Record):
    """A key as the file keeps it: its name, its SHA-256 and when it was made; the key itself is nowhere."""

    name: Annotated[str, Field(pattern=rf"^{PLAIN_NAME.pattern}$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    created: str = ""


class Keys(Record):
    """The keys of a file."""

    keys: tuple[Key, ...] = ()

    def name_of(self, presented: str) -> str | None:
        """Give the name of a key, None where there is none; the time tells nothing of the keys.

        Every key is compared, in constant time, also after one fitted.

        Example:
            >>> Keys(keys=[Key(name="ana", sha256=hash_of("greval_x"))]).name_of("greval_x")
            'ana'
        """
        given = hash_of(presented)
        found = None
        for key in self.keys:
            if hmac.compare_digest(key.sha256, given):
                found = key.name
        return found


class KeyFile:
    """A file of keys, read again where it changed: a key that is taken away is refused at once.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        """Know the file; nothing is read yet."""
        self.path = path
        self._mark: tuple[int, ...] = ()
        self._keys = Keys()

    def read(self) -> Keys:
        """Give the keys as they are now.

        Raises:
            GrevalError: Where the file cannot be read: then no key counts.
        """
        try:
            found = self.path.stat()
            mark = found.st_mtime_ns, found.st_size, found.st_ino
            if mark != self._mark:
                self._keys = read_keys(self.path)
                self._mark = mark
        except OSError as error:
            message = f"{self.path}: the keys cannot be read: {error.strerror}"
            raise GrevalError(message) from error
        return self._keys


def read_keys(path: Path) -> Keys:
    """Read a file of keys.

    Raises:
        OSError: Where it cannot be read.
        GrevalError: Where it is no file of keys.
    """
    try:
        return Keys.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        message = f"{path}: {where}: {first['msg']}; make a file of keys with: greval keys add NAME --file {path}"
        raise GrevalError(message) from error


def add_key(path: Path, name: str) -> str:
    """Make a key, keep its hash in the file, and give it: it is told this once.

    Args:
        path: The file, made where it is not there.
        name: Who has the key; it names the folder of its runs too.

    Raises:
        GrevalError: Where the name is taken or cannot be one, or the file cannot be used.
    """
    if not PLAIN_NAME.fullmatch(name):
        message = (
            f"key {name!r}: a name has 1 to 64 letters a-z, A-Z, digits, - and _, and begins with none of the marks"
        )
        raise GrevalError(message)
    known = _known(path)
    if any(key.name.casefold() == name.casefold() for key in known.keys):
        message = f"{path}: there is a key {name} already; remove it first with: greval keys remove {name}"
        raise GrevalError(message)
    secret = PREFIX + secrets.token_urlsafe(BYTES)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    _write(path, Keys(keys=(*known.keys, Key(name=name, sha256=hash_of(secret), created=made))))
    return secret


def remove_key(path: Path, name: str) -> None:
    """Take a key away; a running server refuses it from then on.

    Raises:
        GrevalError: Where there is no such key.
    """
    known = _known(path)
    kept = tuple(key for key in known.keys if key.name != name)
    if len(kept) == len(known.keys):
        names = ", ".join(key.name for key in known.keys) or "none"
        message = f"{path}: there is no key {name}; there is {names}"
        raise GrevalError(message)
    _write(path, Keys(keys=kept))


def hash_of(key: str) -> str:
    """Give the SHA-256 of a key."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _known(path: Path) -> Keys:
    try:
        return read_keys(path) if path.exists() else Keys()
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise GrevalError(message) from error


def _write(path: Path, keys: Keys) -> None:
    try:
        write_whole(path, json.dumps(keys.model_dump(mode="json"), indent=2) + "\n")
        path.chmod(0o600)
    except OSError as error:
        message = f"{path}: cannot be written: {error.strerror}"
        raise GrevalError(message) from error
