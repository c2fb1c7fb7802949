"""Download of single wheels with this interpreter's pip, a few at a time."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from greval.errors import JudgeUnavailableError
from greval.judging.local.cache import hash_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from greval.judging.local.models import Package

MAX_DOWNLOADS = 3
"""Concurrent downloads: while one transfers, the next pip process starts, which takes half a second."""

_POLL_SECONDS = 0.05
_LINES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class WheelPart:
    """One package of a model, and the folder for its wheel."""

    package: Package
    folder: Path

    def find_wheel(self) -> Path | None:
        """Return the wheel if it exists with the right hash, else None. Wheels with another hash are removed."""
        whole = None
        for path in self.folder.glob("*.whl"):
            if hash_file(path) == self.package.sha256:
                whole = path
            else:
                path.unlink()
        return whole


def download_wheels(parts: Iterable[WheelPart], scratch: Path) -> Generator[WheelPart]:
    """Download wheels, and yield each part when its wheel is downloaded and verified.

    Args:
        parts: The parts to download.
        scratch: A folder for pip's temporary files. It is removed at the end, with any files of a killed pip.

    Yields:
        The parts, in the order in which their downloads finish.

    Raises:
        JudgeUnavailableError: If pip failed. The message quotes its output.
    """
    waiting = deque(parts)
    running: dict[WheelPart, subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < MAX_DOWNLOADS:
                part = waiting.popleft()
                running[part] = _start_pip(part, scratch)
            ended = [part for part, pip in running.items() if pip.poll() is not None]
            for part in ended:
                _require_wheel(part, running.pop(part).returncode)
                yield part
            if not ended:
                time.sleep(_POLL_SECONDS)
    finally:
        for pip in running.values():
            pip.kill()
            pip.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def _build_command(part: WheelPart) -> list[str]:
    # -P: a file pip.py in the user's working folder must not run instead of pip.
    # --only-binary: a source package would run its build code.
    # --no-cache-dir: otherwise pip would keep a second copy of every part.
    return [
        *(sys.executable, "-P", "-m", "pip", "download", "--no-deps"),
        *("--require-hashes", "--only-binary=:all:", "--no-cache-dir", "--no-input"),
        *("--progress-bar=off", "--disable-pip-version-check"),
        *("-r", str(part.folder / "requirements.txt"), "-d", str(part.folder)),
    ]


def _start_pip(part: WheelPart, scratch: Path) -> subprocess.Popen[bytes]:
    """Start pip for one part. Its output goes to `pip.log` in the part's folder."""
    part.folder.mkdir(parents=True, exist_ok=True)
    scratch.mkdir(parents=True, exist_ok=True)
    requirement = f"{part.package.requirement}\n"
    (part.folder / "requirements.txt").write_text(requirement, "utf-8")
    with (part.folder / "pip.log").open("wb") as log:
        return subprocess.Popen(
            _build_command(part),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch)},
        )


def _require_wheel(part: WheelPart, code: int) -> None:
    if code == 0 and part.find_wheel() is not None:
        return
    said = (part.folder / "pip.log").read_text("utf-8", errors="replace")
    message = (
        f"{part.package.name} {part.package.version} could not be downloaded"
        f" (pip exit code {code}).\n"
        f"tried: {shlex.join(_build_command(part))}\n"
        f"{_extract_reason(said)}"
    )
    raise JudgeUnavailableError(message)


def _extract_reason(output: str) -> str:
    """Extract the lines of pip's output that explain the failure. Without pip, return how to install it."""
    if "No module named pip" in output:
        return "This Python has no pip: add it with `python -m ensurepip` or `uv pip install pip`, then run this again."
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    shown = (errors or lines)[-_LINES_SHOWN:]
    return "\n".join(f"pip said: {line}" for line in shown) or "pip said nothing"
