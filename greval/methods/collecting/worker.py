"""The workers of a collection: they take samples, call the methods, and write each response to the file."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from greval.datasets import RowFault
from greval.errors import DataError
from greval.judging.model.client import clock
from greval.methods import Method
from greval.methods.collecting.method_call import ask
from greval.methods.collecting.progress import CollectProgress
from greval.methods.collecting.response_file import Key, ResponseFile, content_of
from greval.records.case import Case, Sample
from greval.runs.worker import MOST_TOLD, read_case, written

SampleLike = Sample | Mapping[str, object]


class _Seen(NamedTuple):
    """Hashes of a sample that was read: of all its fields, and of its fields without the tags."""

    content: str
    asked: str


@dataclass
class Collecting:
    """The state shared by the workers: the file, the methods, and the progress."""

    file: ResponseFile
    methods: Mapping[str, Method]
    progress: CollectProgress
    timeout: float | None = None
    retry_failed: bool = True
    stop: asyncio.Event | None = None
    on_progress: Callable[[CollectProgress], None] | None = None
    debug: bool = False
    stopped: bool = False
    start: float = field(default_factory=clock)
    order: list[Key] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    failures: Counter[Key] = field(default_factory=Counter)
    """The number of failures by (method, first line of the error)."""
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _flying: int = 0

    async def through(self, source: Iterator[tuple[Sample, str]]) -> None:
        """Process pairs of a sample and a method name until there are no more or a stop is requested."""
        for sample, name in source:
            if self.stop and self.stop.is_set():
                self.stopped = True
                return
            if not self._kept(sample, name):
                await self._ask(sample, name)

    def pairs(self, samples: Iterable[Case | RowFault]) -> Iterator[tuple[Sample, str]]:
        """Iterate over each sample with each method name; rows that are not samples are counted and skipped."""
        for given in samples:
            try:
                sample = self._sample(given)
            except DataError as error:
                self._refused(f"{error}")
                continue
            if sample:
                for name in self.methods:
                    self.order.append((sample.id, name))
                    yield sample, name

    def _sample(self, given: Case | RowFault) -> Sample | None:
        """Return the sample in a row, or None if the sample was read before.

        Raises:
            DataError: If the row is not a sample, or its id belongs to a different sample.
        """
        case = read_case(given)
        sample = Sample.model_validate({name: getattr(case, name) for name in Sample.model_fields})
        written(case)
        asked = content_of(sample.model_copy(update={"tags": {}}))
        if sample.id not in self._seen:
            self._seen[sample.id] = _Seen(content_of(sample), asked)
            return sample
        if self._seen[sample.id].asked != asked:
            raise DataError(f"id: {sample.id!r} is that of another question or other gold; give each its own")
        return None  # a row of another method, whose tags may describe its response

    def _refused(self, message: str) -> None:
        if len(self.unread) < MOST_TOLD:
            self.unread.append(message)
        self.progress = self.progress.model_copy(update={"unread": self.progress.unread + 1})

    def _kept(self, sample: Sample, name: str) -> bool:
        """Return whether an earlier run has the response already, and count it if so."""
        entry = self.file.known(sample.id, name)
        if not entry or entry.content != self._seen[sample.id].content or (entry.failed and self.retry_failed):
            return False
        self._tell(self.progress.counted(failed=entry.failed, kept=True))
        return True

    async def _ask(self, sample: Sample, name: str) -> None:
        self._flying += 1
        try:
            case = await ask(self.methods[name], name, sample, timeout=self.timeout, debug=self.debug)
        finally:
            self._flying -= 1
        self.file.append(case)
        if case.error is not None and len(self.failures) < MOST_TOLD:
            self.failures[(name, case.error.partition("\n")[0])] += 1
        self._tell(self.progress.after(case, seconds=clock() - self.start, in_flight=self._flying))

    def _tell(self, progress: CollectProgress) -> None:
        self.progress = progress
        if self.on_progress:
            self.on_progress(progress)
