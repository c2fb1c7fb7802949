"""The source cases of a probe, and the pool from which content of other questions is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice

from greval.datasets.case_input import read_case
from greval.datasets.case_records import CaseRecords, read_records
from greval.errors import DataError
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import explain_missing_needs

MIN_POOL = 200
"""The minimum number of cases to read, so that foreign content is found among them."""
NO_ANSWER = "The documents do not say."
NO_RESPONSE = "its method gave no response"


@dataclass
class SourceCases:
    """The cases to probe on, all cases read, the reasons of those left out, and the rows that are not valid cases."""

    cases: list[Case] = field(default_factory=list)
    pool: list[Case] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)


def read_source_cases(given: CaseRecords, metric: JudgedMetric, limit: int) -> SourceCases:
    """Read cases and select the first that the metric is defined for.

    Args:
        given: Cases, mappings of their fields, or rows that could not be read.
        metric: The definition.
        limit: The number of cases to probe on.
    """
    found = SourceCases()
    for row in islice(read_records(given), max(limit, MIN_POOL)):
        try:
            case = read_case(row)
        except DataError as error:
            found.unread.append(str(error))
            continue
        reason = NO_RESPONSE if case.error is not None else explain_missing_needs(metric, case)
        if reason is None:
            found.pool.append(case)
        if len(found.cases) < limit:
            if reason is None:
                found.cases.append(case)
            else:
                found.left_out[reason] += 1
    return found


def iter_demo_cases() -> Iterator[Case]:
    """Yield one shipped case of each question whose answer is correct and supported by its chunks and triples.

    Example:
        >>> next(iter_demo_cases()).question
        'How long does a crew session in identity last?'
    """
    seen: set[str] = set()
    for line in (files("greval") / "demo" / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = Case.model_validate_json(line)
        told = case.tags["human_correct"] == "yes" and case.triples and case.expected_answer != NO_ANSWER
        if told and case.id not in seen:
            seen.add(case.id)
            yield case
