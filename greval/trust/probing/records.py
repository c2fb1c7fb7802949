"""Results of a probe: frozen records that every renderer reads."""

from __future__ import annotations

from pydantic import Field

from greval._util.notebook_display import NotebookDisplay
from greval.records.record import Record
from greval.records.result import Usage
from greval.records.scale import Value
from greval.stats.interval import Measured, MeasuredValue


class SurvivingMutant(Record):
    """A mutant that was not caught. `before` is the verdict on its reference, `after` the verdict on the mutant."""

    check: str
    variant: str
    sample_id: str
    method: str = ""
    item: str | None = None
    before: Value
    after: Value
    reason: str


class ProbeCheckResult(Record):
    """The result of one check.

    `rate` is the share `killed` of the `mutants` that have a verdict. Its `interval` counts each verdict, and
    `clustered` counts only the `questions` they belong to, if these are fewer. `better` and `worse` count the
    mutants whose verdict rose and fell. `failed` ones have no verdict, `missing` ones are not judged yet.
    Neither counts as caught. `unused` counts the pairs that cannot be used, by reason. Of the `rule_mutants` of which
    the probe's rule of one line has a number, it would catch `rule_killed`: its number falls, or gets no higher.
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
    rule_killed: int = 0
    rule_mutants: int = 0


class JudgeNoise(Record):
    """The variation of verdicts when the same cases are judged `repeats` times.

    `unsteady` is the share of the `things` (judged items) whose verdicts are not all the same. `flip_rate` is
    the mean share of repeats that differ from the most frequent verdict. `sd` is the square root of the mean
    variance within an item, for verdicts that read as numbers. `failed` counts the repeats without a verdict.
    """

    repeats: int
    things: int
    unsteady: Measured
    flip_rate: float | None
    sd: float | None
    failed: int = 0


class SkippedCheck(Record):
    """A check that does not apply to a metric, and the reason."""

    check: str
    reason: str


class Probe(NotebookDisplay, Record):
    """The planted faults that a judge caught, on one metric.

    `cases` counts the unchanged cases, and `left_out` those that the metric is not defined for, by reason.
    `failures` counts the failed verdicts by kind. `usage` and `cost` (US dollars) are those of this command,
    without the results of earlier ones. `rule` is the rule of one line that is tried on the same mutants. `why` is the
    reason if the probe was stopped early. The figures then cover what was judged.
    """

    folder: str
    metric: str
    judge: str
    cases: int
    checks: tuple[ProbeCheckResult, ...]
    noise: JudgeNoise | None = None
    rule: str | None = None
    skipped: tuple[SkippedCheck, ...] = ()
    survivors: tuple[SurvivingMutant, ...] = ()
    left_out: dict[str, int] = Field(default_factory=dict)
    unread: tuple[str, ...] = ()
    failures: dict[str, int] = Field(default_factory=dict)
    usage: Usage = Usage()
    cost: float | None = None
    why: str | None = None

    def below(self, limit: float) -> tuple[str, ...]:
        """Return the names of the checks with a kill rate below a limit.

        Example:
            >>> Probe(folder="runs/p", metric="m", judge="j", cases=0, checks=()).below(0.8)
            ()
        """
        return tuple(
            check.name for check in self.checks if isinstance(check.rate, MeasuredValue) and check.rate.value < limit
        )

    @property
    def measured(self) -> bool:
        """Return whether any check has a kill rate."""
        return any(isinstance(check.rate, MeasuredValue) for check in self.checks)
