"""Plans: they decide which results of a run folder are counted.

A command plans a judgement for each of its cases by each of its metrics. For each metric and method, the plan of the
last command that had cases of this method is counted. The results of earlier commands stay in the log and are not
counted. Parts of one command, such as shards, count together
(docs/design/decisions/0012-a-run-counts-its-last-plan.md).
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from greval.datasets.file_identity import CaseSource
from greval.runs.store.disk import translate_errors

RESULT_PLAN = "coalesce((SELECT kept.plan FROM kept_results AS kept WHERE kept.result = results.rowid), results.plan)"
COUNTED = f"{RESULT_PLAN} IN (SELECT id FROM plans WHERE current)"  # noqa: S608 - constant
"""SQL condition that is true for a row of `results` which belongs to a counted plan."""
CASE_SOURCE = (
    "coalesce((SELECT kept.source FROM kept_cases AS kept WHERE kept.judged_case = cases.rowid), cases.source)"
)
COUNTED_CASE = f"""
coalesce((SELECT max(plans.current) FROM plans WHERE plans.source = {CASE_SOURCE} AND plans.method = cases.method), 1)
"""  # noqa: S608 - constant
"""SQL condition that is true for a row of `cases` which belongs to a counted plan, or to no plan at all."""
NO_PLAN = 0
"""The plan id of stored results that belong to no plan."""
UNFINISHED = "it is still running, or it was killed"
"""The stop reason of a command that has not recorded how it ended."""
APPENDED = CaseSource(digest="appended")
"""The source of results that are appended without a plan."""


class PlannedVersion(NamedTuple):
    """The version of a metric that a plan counts; the label of the judge is empty for a computed metric."""

    fingerprint: str
    judge: str = ""


class PlanTable:
    """The plans of a log that is open for writing."""

    def __init__(self, database: sqlite3.Connection, folder: Path) -> None:
        self._db = database
        self._folder = folder
        self._ids: dict[tuple[str, str], int] = {}
        self._versions: Mapping[str, PlannedVersion] = {}
        self._source = CaseSource()
        self._part = ""
        self.source_id = 0
        self.continued = False

    def begin(
        self, source: CaseSource, part: str, versions: Mapping[str, PlannedVersion], total: int | None = None
    ) -> None:
        """Begin the plan of a command.

        Plans of the same metrics with the same source label are no longer counted, unless they are other parts of
        this plan. `part` is that of the whole, such as "2/3" for a shard, and empty for the whole. `total` is the
        number of cases, if it is known before they are read.
        """
        self._ids, self._versions, self._source, self._part = {}, versions, source, part
        with translate_errors(self._folder):
            self.source_id, self.continued = self._find_source(source, part)
            self._db.execute(
                "UPDATE sources SET label = ?, total = coalesce(?, total), stopped = ? WHERE id = ?",
                (source.label, total, UNFINISHED, self.source_id),
            )
            for metric in versions:
                self._db.execute("DELETE FROM plans WHERE method IS NULL AND metric = ?", (metric,))
                if source.label:
                    self._retire_others(metric, label=source.label)

    def expect_methods(self) -> None:
        """Count the number of cases as planned while their methods are not known yet."""
        with translate_errors(self._folder):
            for metric, version in self._versions.items():
                self._db.execute(
                    "INSERT INTO plans (source, metric, fingerprint, judge, current) VALUES (?, ?, ?, ?, 1)",
                    (self.source_id, metric, *version),
                )

    def claim_method(self, method: str) -> None:
        """Make the plan of the command the counted one for a method, instead of earlier plans."""
        for metric in self._versions:
            self.claim_plan(metric, method)

    def claim_plan(self, metric: str, method: str) -> int:
        """Return the plan id for a metric and a method; other plans for them are no longer counted."""
        plan_id = self._ids.get((metric, method))
        if plan_id is None:
            if not self.source_id:
                self.begin(APPENDED, "", {})
                self.end(None, None)
            with translate_errors(self._folder):
                self._retire_others(metric, method=method)
                version = self._versions.get(metric, PlannedVersion(""))
                plan_id = self._ids[metric, method] = self._find_or_insert(metric, method, version)
        return plan_id

    def replace_versions(self, versions: Mapping[str, PlannedVersion]) -> None:
        """Count other versions of metrics for the same cases, in place of those of the counted plans."""
        for metric, version in versions.items():
            plans = self._db.execute(
                "SELECT id, source, method, planned FROM plans WHERE current AND metric = ? ORDER BY id", (metric,)
            ).fetchall()
            self._retire(plan for plan, *_ in plans)
            for _, source, method, planned in plans:
                self.source_id = source
                at = self._find_or_insert(metric, method, version)
                self.set_planned(at, planned)
                self._ids.setdefault((metric, method), at)

    def end(self, planned: Mapping[str, int] | None, why: str | None, *, unread: int = 0) -> None:
        """Record how a command ended, and why if it was stopped.

        `planned` is the number of cases of each method, None if not all cases were read.
        """
        with translate_errors(self._folder):
            self._db.execute("UPDATE sources SET stopped = ?, unread = ? WHERE id = ?", (why, unread, self.source_id))
            if planned is None:
                return
            self._db.execute("DELETE FROM plans WHERE method IS NULL AND source = ?", (self.source_id,))
            self._db.execute("UPDATE sources SET total = ? WHERE id = ?", (sum(planned.values()), self.source_id))
            for metric in self._versions:
                for method, count in planned.items():
                    self.set_planned(self.claim_plan(metric, method), count)

    def is_complete(self) -> bool:
        """Return whether everything in the current plan is judged.

        This is true if its source was once read to the end, every row is a case, and no judgement failed.
        """
        query = """
            SELECT count(*), coalesce(sum(planned), 0), count(*) FILTER (WHERE planned IS NULL OR NOT current)
            FROM plans WHERE source = ? AND metric = ? AND fingerprint = ?
        """
        (total,) = self._db.execute(
            "SELECT CASE WHEN unread = 0 THEN total END FROM sources WHERE id = ?", (self.source_id,)
        ).fetchone()
        planned_total = 0
        for metric, version in self._versions.items():
            plans, planned, open_plans = self._db.execute(
                query, (self.source_id, metric, version.fingerprint)
            ).fetchone()
            if not plans or open_plans or planned != total:
                return False
            planned_total += planned
        finished = sum(count for _, count in self.count_statuses(finished=True))
        return finished == planned_total

    def count_statuses(self, *, finished: bool) -> list[tuple[str, int]]:
        """Count the results of the current plan by status, all of them or only the finished ones."""
        names = ", ".join("?" for _ in self._versions)
        query = f"""
            SELECT json_extract(outline, '$[0]'), count(*) FROM results
            WHERE rowid NOT IN (SELECT replaces FROM results WHERE replaces IS NOT NULL) AND finished >= ?
            AND {RESULT_PLAN} IN (SELECT id FROM plans WHERE current AND source = ? AND metric IN ({names})) GROUP BY 1
        """  # noqa: S608 - constants
        return self._db.execute(query, (finished, self.source_id, *self._versions)).fetchall()

    def copy_plans(self, folder: Path, plans: Iterable[CountedPlan]) -> dict[int, int]:
        """Copy the counted plans of another run, and return the plan id here for each plan id there.

        They replace those that were copied from its folder before.
        """
        part = str(folder.resolve())
        self.source_id, _ = self._find_source(CaseSource(digest=f"run {part}"), part)
        self._db.execute("UPDATE plans SET current = 0 WHERE source = ?", (self.source_id,))
        copied = [*plans]
        stops = [plan.stopped for plan in copied if plan.stopped]
        self._db.execute("UPDATE sources SET stopped = ? WHERE id = ?", (stops[0] if stops else None, self.source_id))
        return {
            plan.id: self._insert(plan.metric, plan.method, PlannedVersion(plan.fingerprint, plan.judge))
            for plan in copied
        }

    def set_planned(self, plan: int, planned: int | None) -> None:
        """Store the number of cases of a plan; None if it is unknown."""
        self._db.execute("UPDATE plans SET planned = ? WHERE id = ?", (planned, plan))

    def retire_metrics(self, metrics: Iterable[str]) -> None:
        """Stop counting all existing plans of these metrics."""
        self._db.executemany("UPDATE plans SET current = 0 WHERE metric = ?", [(metric,) for metric in metrics])

    def _find_or_insert(self, metric: str, method: str | None, version: PlannedVersion) -> int:
        """Return the plan id of the source for a metric and a method; create the plan if necessary and count it."""
        row = self._db.execute(
            "SELECT id FROM plans WHERE source = ? AND metric = ? AND method IS ? AND fingerprint = ?",
            (self.source_id, metric, method, version.fingerprint),
        ).fetchone()
        if row:
            self._db.execute("UPDATE plans SET current = 1 WHERE id = ?", row)
            return int(row[0])
        return self._insert(metric, method, version)

    def _insert(self, metric: str, method: str | None, version: PlannedVersion) -> int:
        cursor = self._db.execute(
            "INSERT INTO plans (source, metric, method, fingerprint, judge, current) VALUES (?, ?, ?, ?, ?, 1)",
            (self.source_id, metric, method, *version),
        )
        return cursor.lastrowid or 0

    def _find_source(self, source: CaseSource, part: str) -> tuple[int, bool]:
        """Return the id of a source, and whether it existed already. A source without a digest is always new."""
        query = "SELECT id FROM sources WHERE digest = ? AND part = ?"
        row = source.digest and self._db.execute(query, (source.digest, part)).fetchone()
        if row:
            return int(row[0]), True
        values = source.label, source.digest, part
        cursor = self._db.execute("INSERT INTO sources (label, digest, part) VALUES (?, ?, ?)", values)
        return cursor.lastrowid or 0, False

    def _retire(self, plans: Iterable[int]) -> None:
        self._db.executemany("UPDATE plans SET current = 0 WHERE id = ?", [(plan,) for plan in plans])

    def _retire_others(self, metric: str, *, label: str | None = None, method: str | None = None) -> None:
        """Stop counting the plans of a metric, of one label or method, that are no parts of the current whole."""
        query = """
            SELECT plans.id, plans.source, fingerprint, label, digest, part FROM plans
            JOIN sources ON sources.id = plans.source
            WHERE current AND metric = ? AND label = coalesce(?, label) AND coalesce(?, method) = method
        """
        plans = self._db.execute(query, (metric, label, method)).fetchall()
        self._retire(plan for plan, *version in plans if not self._is_same_whole(metric, *version))

    def _is_same_whole(self, metric: str, source: int, fingerprint: str, label: str, digest: str, part: str) -> bool:
        """Return whether a stored plan is the current one, or another part of the same whole."""
        if fingerprint != self._versions.get(metric, PlannedVersion("")).fingerprint:
            return False
        if source == self.source_id:
            return True
        # Parts of one whole differ.
        is_part = bool(self._part and part) and part != self._part
        return is_part and (label, digest, _parse_whole(part)) == (*self._source, _parse_whole(self._part))


class CountedPlan(NamedTuple):
    """A counted plan, with what is known of the command that made it.

    `method` is None while the methods of the cases are not known yet. `label` and `digest` are of the source of the
    cases, `total` is their number, and `stopped` the reason why the command was stopped.
    """

    id: int
    metric: str
    method: str | None
    fingerprint: str
    judge: str
    planned: int | None
    source: int
    label: str
    digest: str
    total: int | None
    stopped: str | None

    @property
    def case_source(self) -> CaseSource:
        """The source of the cases."""
        return CaseSource(self.label, self.digest)


def list_judges(plans: Iterable[CountedPlan]) -> tuple[str, ...]:
    """List the labels of the judges of counted plans."""
    return tuple(dict.fromkeys(plan.judge for plan in plans if plan.judge))


def list_judges_by_metric(plans: Iterable[CountedPlan]) -> dict[str, tuple[str, ...]]:
    """List the labels of the judges of counted plans by the names of the metrics."""
    judges: dict[str, dict[str, None]] = {}
    for plan in plans:
        if plan.judge:
            judges.setdefault(plan.metric, {})[plan.judge] = None
    return {metric: tuple(labels) for metric, labels in judges.items()}


def list_stop_reasons(plans: Iterable[CountedPlan]) -> tuple[str, ...]:
    """List the reasons why commands with counted plans were stopped; without any plan, none got as far as that."""
    plans = [*plans]
    if not plans:
        return (UNFINISHED,)
    reasons = {plan.source: plan.stopped for plan in plans if plan.stopped is not None}
    return tuple(dict.fromkeys(reason for _, reason in sorted(reasons.items())))


def count_planned(plans: Iterable[CountedPlan]) -> dict[str, int]:
    """Count the planned judgements of each metric, stored and missing ones, as far as the number is known."""
    counts: Counter[str] = Counter()
    parts: dict[tuple[str, int], list[CountedPlan]] = {}
    for plan in plans:
        parts.setdefault((plan.metric, plan.source), []).append(plan)
    for (metric, _), of_source in parts.items():
        planned = [plan.planned for plan in of_source if plan.planned is not None]
        # Until the methods are known, the cases of the source count.
        count = sum(planned) if len(planned) == len(of_source) else of_source[0].total
        if count is not None:
            counts[metric] += count
    return dict(counts)


def _parse_whole(part: str) -> str:
    """Return the whole that a part belongs to: 1/3 and 2/3 belong to the same whole, and so do all named parts."""
    shard = re.fullmatch(r"\d+/(\d+)", part)
    return shard[1] if shard else ""
