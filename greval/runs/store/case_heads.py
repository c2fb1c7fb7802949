"""The begin of each stored case, read in SQL without parsing the whole case: its id, methods and question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from greval.runs.store.filters import NUL
from greval.runs.store.reader import Store

MAX_QUESTION_CHARACTERS = 1000
"""The number of characters of a question that are read."""
# Two paths are extracted at once, because SQLite cuts a single text at a NUL, but not one in a JSON array.
CASE_HEAD = f"""
json_extract(row, '$.id', '$.method', '$.other_response.method'), json_type(row, '$.other_response'),
CASE WHEN instr(row, '{NUL}') THEN json_extract(row, '$.question', '$.id')
ELSE json_array(substr(json_extract(row, '$.question'), 1, {MAX_QUESTION_CHARACTERS})) END
"""
"""Three columns of `cases` that `parse_case_head` reads."""
IS_PAIR = "instr(row, '\"other_response\":') AND json_type(row, '$.other_response') = 'object'"
"""SQL condition that is true for a row of `cases` which is a pair; the first part quickly excludes most others."""


class CaseHead(NamedTuple):
    """The id, the method and the begin of the question of a case.

    `other` is the method of the other response of a pair, None if the case is no pair.
    """

    sample_id: str
    method: str
    question: str
    other: str | None = None


def parse_case_head(names: str, other_type: str | None, question: str) -> CaseHead:
    """Parse the columns that `CASE_HEAD` selects.

    Example:
        >>> parse_case_head('["q1","walk vs local","local"]', "object", '["Who?"]')
        CaseHead(sample_id='q1', method='walk vs local', question='Who?', other='local')
    """
    sample_id, method, second = (text or "" for text in json.loads(names))
    start = (json.loads(question)[0] or "")[:MAX_QUESTION_CHARACTERS]
    return CaseHead(sample_id, method, start, second if other_type == "object" else None)


def read_case_heads(store: Store) -> Iterator[CaseHead]:
    """Yield the head of each version of each judged case, oldest first."""
    for texts in store.select_cases((CASE_HEAD,)):
        yield parse_case_head(*texts)
