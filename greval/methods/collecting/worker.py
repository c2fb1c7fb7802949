"""The workers of a collection: they take samples, call the methods, and write each response to the file."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from greval.datasets import RowFault
from greval.datasets.case_input import MAX_LISTED_ROWS, dump_case, read_case
from greval.errors import DataError
from greval.judging.model.client import read_clock
from greval.methods import Method
from greval.methods.collecting.method_call import call_method
from greval.methods.collecting.progress import CollectProgress
from greval.methods.collecting.response_file import Key, ResponseFile, hash_sample
from greval.records.case import Case, Sample

SampleLike = Sample | Mapping[str, object]


class _SampleHashes(NamedTuple):
    """Hashes of a sample that was read: of all its fields, and of its fields without the tags."""

    content: str
    asked: str


@dataclass
class ResponseCollector:
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
    start: float = field(default_factory=read_clock)
    order: list[Key] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    failures: Counter[Key] = field(default_factory=Counter)
    """The number of failures by (method, first line of the error)."""
    _seen: dict[str, _SampleHashes] = field(default_factory=dict)
    _in_flight: int = 0

    async def run_worker(self, source: Iterator[tuple[Sample, str]]) -> None:
        """Process pairs of a sample and a method name until there are no more or a stop is requested."""
        for sample, name in source:
            if self.stop and self.stop.is_set():
                self.stopped = True
                return
            if not self._reuse_response(sample, name):
                await self._call_method(sample, name)

    def iterate_pairs(self, samples: Iterable[Case | RowFault]) -> Iterator[tuple[Sample, str]]:
        """Iterate over each sample with each method name; rows that are not samples are counted and skipped."""
        for given in samples:
            try:
                sample = self._read_sample(given)
            except DataError as error:
                self._count_unread(f"{error}")
                continue
            if sample:
                for name in self.methods:
                    self.order.append((sample.id, name))
                    yield sample, name

    def _read_sample(self, given: Case | RowFault) -> Sample | None:
        """Return the sample in a row, or None if the sample was read before.

        Raises:
            DataError: If the row is not a sample, or its id belongs to a different sample.
        """
        case = read_case(given)
        sample = Sample.model_validate({name: getattr(case, name) for name in Sample.model_fields})
        dump_case(case)
        asked = hash_sample(sample.model_copy(update={"tags": {}}))
        if sample.id not in self._seen:
            self._seen[sample.id] = _SampleHashes(hash_sample(sample), asked)
            return sample
        if self._seen[sample.id].asked != asked:
            raise DataError(f"id: {sample.id!r} is that of another question or other gold; give each its own")
        return None  # a row of another method, whose tags may describe its response

    def _count_unread(self, message: str) -> None:
        if len(self.unread) < MAX_LISTED_ROWS:
            self.unread.append(message)
        self.progress = self.progress.model_copy(update={"unread": self.progress.unread + 1})

    def _reuse_response(self, sample: Sample, name: str) -> bool:
        """Return whether an earlier run has the response already, and count it if so."""
        entry = self.file.find(sample.id, name)
        if not entry or entry.content != self._seen[sample.id].content or (entry.failed and self.retry_failed):
            return False
        self._report_progress(self.progress.counted(failed=entry.failed, kept=True))
        return True

    async def _call_method(self, sample: Sample, name: str) -> None:
        self._in_flight += 1
        try:
            case = await call_method(self.methods[name], name, sample, timeout=self.timeout, debug=self.debug)
        finally:
            self._in_flight -= 1
        self.file.append(case)
        if case.error is not None and len(self.failures) < MAX_LISTED_ROWS:
            self.failures[(name, case.error.partition("\n")[0])] += 1
        self._report_progress(self.progress.after(case, seconds=read_clock() - self.start, in_flight=self._in_flight))

    def _report_progress(self, progress: CollectProgress) -> None:
        self.progress = progress
        if self.on_progress:
            self.on_progress(progress)
