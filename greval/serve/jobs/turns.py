"""Whose run is next, and whose run gives way: the tenants of a server take turns with their runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

MAX_JOBS = 4
"""The most runs of a server process at once; their calls share one limit regardless of their number."""
MAX_TENANT_JOBS = 2
"""The most of them that belong to one tenant."""
TURN_SECONDS = 30.0
"""The seconds after which a tenant's only run gives way to a tenant that has none."""


def choose_next_run(
    waiting: Sequence[Path], local: Collection[Path], elsewhere: Collection[Path], turns: Mapping[Path, float]
) -> Path | None:
    """Return the folder of the run to start, or None if no run waits or no place is free.

    The tenant with the fewest runs at work comes first, then the one whose last turn was longest ago, then the run that
    was requested first.

    Args:
        waiting: The folders of the runs that wait, in the order of their requests.
        local: The folders of the runs that this process works on.
        elsewhere: The folders of the runs that other processes work on.
        turns: When a run of a tenant was last started here, by the tenant's folder.

    Example:
        >>> ana, ben = Path("ana"), Path("ben")
        >>> choose_next_run([ana / "2", ben / "1"], [ana / "1"], [], {}).as_posix()
        'ben/1'
    """
    if len(local) >= MAX_JOBS:
        return None
    local_counts = Counter(folder.parent for folder in local)
    counts = local_counts + Counter(folder.parent for folder in elsewhere)
    ready = [folder for folder in waiting if local_counts[folder.parent] < MAX_TENANT_JOBS]
    return min(ready, key=lambda folder: (counts[folder.parent], turns.get(folder.parent, 0.0)), default=None)


def choose_run_to_stop(
    waiting: Sequence[Path], local: Mapping[Path, float], stopping: Collection[Path], elsewhere: Collection[Path]
) -> Path | None:
    """Return the folder of the run that is to give way to a tenant without a run, or None if none has to.

    It is that of the tenant with the most runs at work, and of these the one that has run longest. A tenant's only run
    gives way after a turn of some time.

    Args:
        waiting: The folders of the runs that wait.
        local: For how many seconds the runs of this process have run, by their folders.
        stopping: Those of them that stop already.
        elsewhere: The folders of the runs that other processes work on.

    Example:
        >>> ana, ben = Path("ana"), Path("ben")
        >>> choose_run_to_stop([ben / "1"], {ana / str(n): 9.0 - n for n in range(4)}, [], []).as_posix()
        'ana/0'
    """
    counts = Counter(folder.parent for folder in (*local, *elsewhere) if folder not in stopping)
    without_run = {folder.parent for folder in waiting if not counts[folder.parent]}
    if len(local) < MAX_JOBS or len(stopping) >= len(without_run):
        return None
    ready = [
        folder
        for folder, seconds in local.items()
        if folder not in stopping and (counts[folder.parent] > 1 or seconds >= TURN_SECONDS)
    ]
    return max(ready, key=lambda folder: (counts[folder.parent], local[folder]), default=None)
