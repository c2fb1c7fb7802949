"""Filters for the results of a run: SQL conditions, and the comparison of texts that SQLite would truncate."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import NamedTuple

NUL = r"\u0000"
"""A NUL as JSON escapes it. SQLite truncates a text extracted from JSON there, but not one in a JSON array."""
_VALUE = "EXISTS (SELECT 1 FROM json_each(outline, '$[1]') AS one WHERE json_extract(one.value, '$[0]') = ?)"
_TAG = (
    "EXISTS (SELECT 1 FROM json_each(tags) AS tag WHERE tag.key = ? AND tag.value IN (SELECT value FROM json_each(?)))"
)


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

    def group_tags(self) -> dict[str, list[str]]:
        """Return the accepted values of each tag."""
        values_by_tag: dict[str, list[str]] = defaultdict(list)
        for name, value in self.tags:
            values_by_tag[name].append(value)
        return dict(values_by_tag)

    def build_conditions(self) -> tuple[list[str], list[str]]:
        """Return the SQL conditions on a row of `results`, and the values of their parameters."""
        parts: list[tuple[str, tuple[str, ...]]] = []
        if self.sample_id is not None:
            parts.append(("sample_id = ?", (self.sample_id,)))
        if self.method is not None:
            parts.append(("method = ?", (self.method,)))
        if self.metrics:
            parts.append(("metric IN (SELECT value FROM json_each(?))", (json.dumps(self.metrics),)))
        if self.status is not None:
            parts.append(("json_extract(outline, '$[0]') = ?", (self.status,)))
        if self.value is not None:
            parts.append((_VALUE, (_cut_at_nul(self.value),)))
        parts += [
            (_TAG, (_cut_at_nul(name), json.dumps([_cut_at_nul(value) for value in values])))
            for name, values in self.group_tags().items()
        ]
        return [condition for condition, _ in parts], [value for _, values in parts for value in values]

    @property
    def reads_texts(self) -> bool:
        """True if the filter compares texts inside the JSON of a result."""
        return self.value is not None or bool(self.tags)

    def needs_check(self, row: str) -> bool:
        """Return whether SQLite compared only the begin of a text, so that `matches` has to decide."""
        texts = (self.value or "", *(part for tag in self.tags for part in tag))
        return self.reads_texts and (NUL in row or any("\0" in part for part in texts))

    def matches(self, row: str) -> bool:
        """Return whether a result, given as JSON, has the value and the tags of the filter."""
        fields = json.loads(row)
        if any(fields["tags"].get(name) not in values for name, values in self.group_tags().items()):
            return False
        judgements = fields["outcome"].get("judgements", ())
        return self.value is None or any(str(judgement["value"]) == self.value for judgement in judgements)


ANY_RESULT = ResultFilter()


def _cut_at_nul(text: str) -> str:
    """Return the part of a text that SQLite compares."""
    return text.partition("\0")[0]
