"""Ask methods for the responses that a run judges: what `greval evaluate --ask` does before it judges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from greval._util.files import write_atomically
from greval.cli import STOPPED
from greval.cli.collect import collect_responses, print_method_errors
from greval.cli.input import CaseInput, Rows
from greval.cli.progress_bar import ProgressBar
from greval.datasets import RowFault
from greval.datasets.chunk_sources import fill_sources
from greval.datasets.file_identity import CaseSource, identify_file
from greval.errors import StoreError
from greval.judging.model.judge import Judge, check_judge
from greval.methods.collecting.response_file import select_responses
from greval.methods.loading import load_methods, resolve_spec, split_name
from greval.records.case import Case

if TYPE_CHECKING:
    from greval.methods import Method
    from greval.methods.collecting.api import CollectOptions

RESPONSES_FILE = "responses.jsonl"
"""The file of the responses, in the run folder."""
METHODS_FILE = "methods.json"
"""The file with the specs of the methods that gave the responses, in the run folder."""


class AskedMethods(NamedTuple):
    """The methods that are asked, by name, and what each was loaded from."""

    methods: Mapping[str, Method]
    specs: Mapping[str, str]

    @classmethod
    def load(cls, given: Sequence[str]) -> AskedMethods:
        """Load methods, each written as `[NAME=]METHOD`.

        Raises:
            MethodError: If one cannot be loaded, or two have the same name.
        """
        specs = {name: resolve_spec(spec, Path.cwd()) for name, spec in map(split_name, given)}
        return cls(load_methods(given), specs)


class AskedCases(NamedTuple):
    """The cases that are judged: each sample with the response of each method.

    `unread` are the rows of the data that are no samples. `missing` counts, by method, the responses that are not
    there; a case without them stands in their place.
    """

    unread: Sequence[RowFault]
    cases: Sequence[Case]
    missing: Mapping[str, int]

    def open_rows(self, pattern: str | None) -> Rows:
        """Return the rows to judge; if there is a pattern, it gives the sources of chunks and nodes."""
        rows: Rows = iter([*self.unread, *self.cases])
        return rows if pattern is None else fill_sources(rows, pattern)

    def identify_source(self, folder: Path, data: CaseSource) -> CaseSource:
        """Return what identifies the cases: the data and the responses."""
        methods = sorted({case.method for case in self.cases})
        return CaseSource(data.label, identify_file(folder / RESPONSES_FILE, data=data.digest, methods=methods).digest)


def ask_methods(
    given: CaseInput, asked: AskedMethods, judge: Judge | None, folder: Path, options: CollectOptions, *, quiet: bool
) -> AskedCases:
    """Ask the methods for the responses that the run folder does not hold yet, and return the cases.

    Raises:
        JudgeError: If the judge could not judge the responses.
        StoreError: If the folder holds responses of another method of the same name, or cannot be written.
        typer.Exit: If it was stopped by Ctrl-C.
    """
    if judge:
        check_judge(judge)
    specs = _merge_specs(folder, asked.specs)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / METHODS_FILE, f"{json.dumps(specs, indent=2, ensure_ascii=False)}\n")
    rows = [*given.rows]
    bar = ProgressBar(quiet=quiet)
    done = asyncio.run(collect_responses(rows, asked.methods, folder / RESPONSES_FILE, bar, options))
    if not quiet:
        print_method_errors(done)
    if done.why:
        typer.echo(f"stopped: {done.why}; run the same command again to go on", err=True)
        raise typer.Exit(STOPPED)
    return _select_cases(rows, asked, folder)


def forecast_asking(given: CaseInput, asked: AskedMethods, folder: Path, *, retry_failed: bool) -> AskedCases:
    """Return the cases that would be judged, without asking: with placeholders for responses that are not there yet.

    Responses that failed count as not there if they would be asked for again.

    Raises:
        StoreError: If the folder holds responses of another method of the same name.
    """
    from greval.runs.forecast import fill_missing_responses

    _merge_specs(folder, asked.specs)
    rows = [*given.rows]
    found = _select_cases(rows, asked, folder)
    kept = [case for case in found.cases if case.error is None or not retry_failed]
    cases, missing = fill_missing_responses(_list_samples(rows), asked.methods, kept)
    return AskedCases(found.unread, cases, missing)


def describe_missing(missing: Mapping[str, int]) -> str:
    """Describe how many responses would be asked for.

    Example:
        >>> describe_missing({"old": 0, "new": 20})
        'responses to ask for: old 0, new 20; their context is not in the input tokens'
    """
    counts = ", ".join(f"{name} {count:,}" for name, count in missing.items())
    return f"responses to ask for: {counts}; their context is not in the input tokens"


def _merge_specs(folder: Path, specs: Mapping[str, str]) -> dict[str, str]:
    """Return the specs of the methods whose responses the folder has or is to have.

    Raises:
        StoreError: If it holds responses of another method of the same name.
    """
    file = folder / METHODS_FILE
    try:
        before = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = {}
    for name, spec in specs.items():
        if (old := before.get(name, spec)) != spec:
            raise StoreError(
                f"{file}: the responses of {name} there are those of {old}, not of {spec}; give the method another "
                "name, or the run another folder (-o)"
            )
    return {**before, **specs}


def _select_cases(rows: Sequence[Case | RowFault], asked: AskedMethods, folder: Path) -> AskedCases:
    """Select the responses of the methods to the samples among the rows."""
    found = select_responses(folder / RESPONSES_FILE, _list_samples(rows), asked.methods)
    return AskedCases([row for row in rows if isinstance(row, RowFault)], [*found.values()], {})


def _list_samples(rows: Sequence[Case | RowFault]) -> list[Case]:
    """List the samples among rows; the rows of several methods with the same question are one sample."""
    samples: dict[str, Case] = {}
    for row in rows:
        if isinstance(row, Case):
            samples.setdefault(row.id, row)
    return [*samples.values()]
