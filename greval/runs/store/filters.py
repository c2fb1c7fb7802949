"""Filters for the results of a run, as conditions in SQL."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from greval.records.result import read_outline

MAX_CACHED_TAGS = 1_024


class ResultFilter(NamedTuple):
    """A filter for results; a result must meet every part.

    None and an empty tuple match any. `metrics` are names, one of which must be that of the result. `status` is that
    of the outcome. `value` is a judgement value as text. `tags` are names with values: of each name, one of the values
    given must be that of the case.
    """

    sample_id: str | None = None
    method: str | None = None
    metrics: tuple[str, ...] = ()
    status: str | None = None
    value: str | None = None
    tags: tuple[tuple[str, str], ...] = ()

    def build_conditions(self) -> tuple[list[str], list[str]]:
        """Return the SQL conditions on a row of `results`, and the values of their parameters."""
        values_by_tag = self.group_tags()
        parameters = {
            "sample_id = ?": self.sample_id,
            "method = ?": self.method,
            "metric IN (SELECT value FROM json_each(?))": json.dumps(self.metrics) if self.metrics else None,
            "json_extract(outline, '$[0]') = ?": self.status,
            "has_value(outline, ?)": self.value,
            "has_tags(tags, ?)": json.dumps(values_by_tag) if values_by_tag else None,
        }
        conditions = {condition: value for condition, value in parameters.items() if value is not None}
        return [*conditions], [*conditions.values()]

    def group_tags(self) -> dict[str, list[str]]:
        """Group the values by the names of their tags."""
        values_by_tag: dict[str, list[str]] = defaultdict(list)
        for name, value in self.tags:
            values_by_tag[name].append(value)
        return values_by_tag


ANY_RESULT = ResultFilter()


def add_sql_functions(database: sqlite3.Connection) -> None:
    """Add the functions that conditions call. SQLite's own would cut a text that they extract from JSON at a NUL."""
    database.create_function("has_value", 2, lambda outline, value: value in read_outline(outline).values)
    database.create_function("has_tags", 2, _has_tags)


# Few distinct tags occur, many times.
@lru_cache(MAX_CACHED_TAGS)
def _has_tags(tags: str, values_by_tag: str) -> bool:
    """Return whether each of these tags has one of its values."""
    tag_values = json.loads(tags)
    return all(tag_values.get(name) in values for name, values in json.loads(values_by_tag).items())
