"""Download of a file from the Hugging Face hub, or from the server that `HF_ENDPOINT` names."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from http import HTTPStatus
from typing import TYPE_CHECKING

from greval.errors import JudgeUnavailableError, MissingExtraError
from greval.judging.local.cache import hash_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from greval.judging.local.models import HubFile

ASK_SECONDS = 2.0
"""How long the hub may take to answer if the package index has the same file."""
PATIENT_SECONDS = 30.0
"""How long it may take if the file is nowhere else, and between two blocks of a download."""
_BLOCK = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


class HubError(JudgeUnavailableError):
    """The hub cannot be reached, or does not have a file."""


def download_hub_file(
    file: HubFile, folder: Path, *, sha256: str | None = None, report: Callable[[int, int], None]
) -> Path:
    """Download a file of the hub into a folder, verify it, and return its path. A partial download is continued.

    Tokens, proxies and `HF_HUB_OFFLINE` are read from the environment by the library of the hub.

    Args:
        file: The file.
        folder: The folder for the file and for what is needed to continue its download.
        sha256: The hash that the file must have. By default it is the one that the hub states for it.
        report: Called with the bytes that are here and their total.

    Raises:
        HubError: If the hub cannot be reached or does not have the file.
        JudgeUnavailableError: If the file has another hash.
    """
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url
    except ModuleNotFoundError as error:
        extra, package = "local", "huggingface-hub"
        raise MissingExtraError(extra, package) from error
    # The library reads this variable only when it is imported.
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    try:
        url = hf_hub_url(file.repo, file.file, revision=file.revision, endpoint=endpoint)
        stated = get_hf_file_metadata(url, timeout=ASK_SECONDS if sha256 else PATIENT_SECONDS)
    except Exception as error:
        raise _build_error(file, error) from error
    # The tag of a large file is its hash; that of a small one is not.
    tag = stated.etag or ""
    expected = sha256 or (tag if _SHA256.fullmatch(tag) else "")
    if _SHA256.fullmatch(tag):
        _require_hash(file, tag, expected)
    folder.mkdir(parents=True, exist_ok=True)
    # Named by its content, so that another revision of the file is not appended to it.
    path = folder / f"{hashlib.sha256((tag or url).encode()).hexdigest()}.partial"
    path.touch()
    while (here := path.stat().st_size) != stated.size:
        try:
            _append_bytes(path, url, lambda done: report(done, stated.size or done))
        except Exception as error:
            # A full or protected disk is no fault of the hub.
            if isinstance(error, OSError) and error.errno and not isinstance(error, ConnectionError):
                raise
            # A connection that was lost is made again as long as each one brings something.
            if path.stat().st_size == here:
                raise _build_error(file, error) from error
        else:
            break
    digest = hash_file(path)
    if digest != (expected or digest):
        shutil.rmtree(folder)
        _require_hash(file, digest, expected)
    return path


def _append_bytes(path: Path, url: str, report: Callable[[int], None]) -> None:
    """Append to a partial file what is missing. The library itself begins each download anew."""
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined] # a lazy name

    here = path.stat().st_size
    headers = {**build_hf_headers(), "Accept-Encoding": "identity", **({"Range": f"bytes={here}-"} if here else {})}
    with (
        get_session().stream("GET", url, headers=headers, timeout=PATIENT_SECONDS) as response,
        path.open("r+b") as out,
    ):
        hf_raise_for_status(response)
        out.seek(here if response.status_code == HTTPStatus.PARTIAL_CONTENT else 0)
        out.truncate()
        for block in response.iter_bytes(_BLOCK):
            out.write(block)
            out.flush()
            report(out.tell())


def _build_error(file: HubFile, error: Exception) -> HubError:
    """Build the error for one of the library, which may be of any class, with the first line of its message."""
    reason = next(iter(str(error).splitlines()), "") or type(error).__name__
    return HubError(f"the Hugging Face hub did not give {file}: {reason}")


def _require_hash(file: HubFile, digest: str, expected: str) -> None:
    if digest != expected:
        raise JudgeUnavailableError(
            f"the Hugging Face hub has another file as {file}: SHA-256 {digest}, expected {expected}. It was not kept; "
            "check HF_ENDPOINT, if it is set."
        )
