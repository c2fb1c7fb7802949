"""Names of runs by their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from greval._util.wording import did_you_mean
from greval.errors import DataError

PACKED = ".gz"


def name_runs(paths: Iterable[str | Path]) -> dict[str, Path]:
    """Name runs by their files, without the ending; if several files have one name, by their paths.

    Example:
        >>> [*name_runs(["runs/bm25.run.gz", "runs/dense.run", "old/dense.run", "old/dense.run"])]
        ['bm25', 'runs/dense.run', 'old/dense.run']
    """
    files = [*dict.fromkeys(map(Path, paths))]
    stems = [_find_stem(path) for path in files]
    times = Counter(stems)
    return {stem if times[stem] == 1 else str(path): path for stem, path in zip(stems, files, strict=True)}


def find_run(baseline: str, runs: Mapping[str, Path]) -> str:
    """Return the name of the run that is named by its name or its path; raise `DataError` if no run has it."""
    names = [name for name, path in runs.items() if baseline == name or Path(baseline) == path]
    if not names:
        hint = did_you_mean(baseline, runs)
        raise DataError(f"baseline {baseline}: must be a file or the name of a run, is neither{hint}")
    return names[0]


def _find_stem(path: Path) -> str:
    unpacked = path.with_suffix("") if path.suffix.lower() == PACKED else path
    return unpacked.stem
