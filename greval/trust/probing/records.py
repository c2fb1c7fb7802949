"""What probing a judge gives: frozen values that every renderer reads."""

from __future__ import annotations

from pydantic import Field

from greval.records.record import Record
from greval.records.result import Usage
from greval.records.scale import Value
from greval.stats.measured import Figure, Measured


class Survivor(Record):
    """A changed case whose verdict is not what it had to be; `before` is that of the case it was made from."""

    check: str
    variant: str
    sample_id: str
    method: str = ""
    item: str | None = None
    before: Value
    after: Value
    reason: str


class Checked(Record):
    """One check: how many changed cases the judge caught.

    `rate` is the share `killed` of all `mutants` that have a verdict; its `interval` takes each verdict
    by itself, `clustered` counts only the `questions` they are of, where these are fewer. Of the mutants that
    count, `better` and `worse` are how many verdicts rose and fell. `failed` have no verdict, `missing`
    were not judged yet: neither counts as caught. `unused` counts by its reason what could tell nothing.
    """

    name: str
    holds: str
    rate: Measured
    killed: int
    mutants: int
    questions: int
    better: int = 0
    worse: int = 0
    failed: int = 0
    missing: int = 0
    unused: dict[str, int] = Field(default_factory=dict)


class Noise(Record):
    """The same cases judged `repeats` times: what moves without any cause.

    `unsteady` is the share of the `things` whose verdicts are not all the same, `flip_rate` the mean
    share of repeats that differ from the most frequent verdict, `sd` the standard deviation within a
    thing, of verdicts that read as numbers. `failed` repeats have no verdict.
    """

    repeats: int
    things: int
    unsteady: Measured
    flip_rate: float | None
    sd: float | None
    failed: int = 0


class Skip(Record):
    """A check that says nothing of a metric, and why."""

    check: str
    reason: str


class Probe(Record):
    """What a judge caught of what was planted for it, on one metric.

    `cases` are the unchanged cases it was tried on, `left_out` those that the metric is not defined
    for, by reason. `failures` counts the verdicts that could not be had, by kind. `usage` and `cost`
    (US dollars) are of this command, without what was kept of an earlier one. `why` tells why it was
    stopped before all was judged; then the figures are of what is there.
    """

    folder: str
    metric: str
    judge: str
    cases: int
    checks: tuple[Checked, ...]
    noise: Noise | None = None
    skipped: tuple[Skip, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    left_out: dict[str, int] = Field(default_factory=dict)
    unread: tuple[str, ...] = ()
    failures: dict[str, int] = Field(default_factory=dict)
    usage: Usage = Usage()
    cost: float | None = None
    why: str | None = None

    def below(self, limit: float) -> tuple[str, ...]:
        """Name the checks with a kill rate below a limit.

        Example:
            >>> Probe(folder="runs/p", metric="m", judge="j", cases=0, checks=()).below(0.8)
            ()
        """
        return tuple(one.name for one in self.checks if isinstance(one.rate, Figure) and one.rate.value < limit)

    @property
    def measured(self) -> bool:
        """Whether there is a kill rate at all."""
        return any(isinstance(one.rate, Figure) for one in self.checks)
