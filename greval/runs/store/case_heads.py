"""The begin of each stored case, read in SQL without parsing the whole case: its id, its method and its question."""

from __future__ import annotations

import json
from typing import NamedTuple

from greval.runs.store.filters import NUL

MAX_QUESTION_CHARACTERS = 1000
"""The number of characters of a question that are read."""
CASE_HEAD = f"""
json_extract(row, '$.id', '$.method'),
CASE WHEN instr(row, '{NUL}') THEN json_extract(row, '$.question', '$.id')
ELSE json_array(substr(json_extract(row, '$.question'), 1, {MAX_QUESTION_CHARACTERS})) END
"""
"""Two columns of `cases` that `parse_case_head` reads."""


class CaseHead(NamedTuple):
    """The id, the method and the begin of the question of a case."""

    sample_id: str
    method: str
    question: str


def parse_case_head(names: str, question: str) -> CaseHead:
    """Parse the columns that `CASE_HEAD` selects.

    Example:
        >>> parse_case_head('["q1",null]', '["Who?"]')
        CaseHead(sample_id='q1', method='', question='Who?')
    """
    sample_id, method = (text or "" for text in json.loads(names))
    return CaseHead(sample_id, method, (json.loads(question)[0] or "")[:MAX_QUESTION_CHARACTERS])
