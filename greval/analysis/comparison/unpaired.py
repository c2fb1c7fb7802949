"""The questions of two sides of a comparison that do not pair: how many met, and which column would pair them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from greval._util.joins import IdJoin, join_ids
from greval._util.wording import format_names
from greval.analysis.comparison.plan import ComparisonPlan, SidePair
from greval.errors import DataError
from greval.runs.score_columns import FAILED, MISSING, SKIPPED, ComparisonSide
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.stats.bootstrap import Flags

MAX_REASONS = 3
QUESTION = "question"
REMEDY = "give the same question the same id on both sides (--column id=NAME names the column that holds it)"


def check_pairs(plan: ComparisonPlan) -> None:
    """Raise `DataError` if no question has a figure of both sides of any contrast; the message says why."""
    if not plan.metrics or any(bool(pairs.has_both.any()) for _, pairs in plan.iterate_pairs()):
        return
    lines = [_explain_pair(plan, match, join) for match, join in join_questions(plan)]
    raise DataError("\n".join(dict.fromkeys(lines)))


def find_pair_remarks(plan: ComparisonPlan) -> Iterator[str]:
    """Yield a remark for each pair of sides of which less than half of the questions pair."""
    for _, join in join_questions(plan, only_few=True):
        if remark := join.find_remark("a question counts only if it has one id on both sides"):
            yield remark


def join_questions(plan: ComparisonPlan, *, only_few: bool = False) -> Iterator[tuple[SidePair, IdJoin]]:
    """Yield the join of the questions of each pair of sides; those of the side with fewer are looked up.

    With `only_few`, pairs of which at least half meet are left out.
    """
    masks = {side: _mask_questions(plan, side) for match in plan.matches for side in match}
    questions = plan.scores.questions if plan.matches else ()
    for match in plan.matches:
        first, second = sorted(match, key=lambda side: int(masks[side].sum()))
        # Decided by the masks: ids are read only of sides that hardly meet.
        if only_few and 2 * int((masks[first] & masks[second]).sum()) >= int(masks[first].sum()):
            continue
        few, many = ([questions[n] for n in masks[side].nonzero()[0].tolist()] for side in (first, second))
        names = f"questions of {plan.format_side(first)}", f"questions of {plan.format_side(second)}"
        yield match, join_ids(few, many, names)


def _mask_questions(plan: ComparisonPlan, side: ComparisonSide) -> Flags:
    """Return a mask of the questions of which a side has a row."""
    import numpy as np

    has_row = np.zeros(len(plan.scores), np.bool_)
    for columns in plan.scores.columns.values():
        if side in columns:
            has_row |= columns[side].get_states(len(plan.scores)) != MISSING
    return has_row


def _explain_pair(plan: ComparisonPlan, match: SidePair, join: IdJoin) -> str:
    """Explain why no question has a figure of both sides, and say what to do."""
    if join.left.met:
        sides = " and ".join(plan.format_side(side) for side in match)
        missing = "; ".join(filter(None, (_describe_missing(plan, side) for side in match)))
        return (
            f"{plan.wanted.run}: no question has a figure of both {sides}: {missing}; "
            "record or judge what is missing, or compare by another metric"
        )
    message = f"{plan.wanted.run}: nothing to compare: {join.describe()}"
    shared = find_shared_columns(plan, match)
    if not shared:
        return f"{message}; {REMEDY}"
    columns = [column for column in shared if column != QUESTION]
    if not columns:
        return f"{message}; their questions are the same texts: {REMEDY}"
    options = " or ".join(f"--column id={column}" for column in columns)
    return f"{message}; {format_names(columns)} has the same values on both sides: judge the cases again with {options}"


def _describe_missing(plan: ComparisonPlan, side: ComparisonSide) -> str:
    """Describe how many questions of a side were skipped or failed, with the first reasons of skips."""
    counts = {"skipped": 0, "failed": 0}
    for metric in plan.metrics:
        if side in plan.scores.columns[metric]:
            states = plan.scores.columns[metric][side].get_states(len(plan.scores))
            counts["skipped"] += int((states == SKIPPED).sum())
            counts["failed"] += int((states == FAILED).sum())
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    reasons = _list_skip_reasons(plan, side) if counts["skipped"] else []
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{plan.format_side(side)}: {' and '.join(parts)}{why}" if parts else ""


def _list_skip_reasons(plan: ComparisonPlan, side: ComparisonSide) -> list[str]:
    """List the first reasons why cases of a side were skipped."""
    from greval.runs.run_summary import summarise_run

    folder = plan.wanted.against if side.before and plan.wanted.against else plan.wanted.run
    with Store.open(folder) as store, store.snapshot():
        summaries = summarise_run(store, "method").summaries
    side_summaries = (
        summary for summary in summaries if summary.metric in plan.metrics and summary.group == (side.method or "")
    )
    return [*dict.fromkeys(reason for summary in side_summaries for reason in summary.skips)][:MAX_REASONS]


def find_shared_columns(plan: ComparisonPlan, match: SidePair) -> list[str]:
    """Find the columns (tags, or the question) that are different in each row of a side and mostly equal on both sides.

    These pair the rows if ids do not.
    """
    (first, first_size), (second, second_size) = (_read_columns(plan, side) for side in match)
    least = min(first_size, second_size)
    columns = []
    for name in first.keys() & second.keys():
        first_values, second_values = ({*side[name].values()} for side in (first, second))
        # Only a column that differs in each row can stand for an id.
        is_unique = len(first_values) == first_size and len(second_values) == second_size
        if is_unique and least and 2 * len(first_values & second_values) >= least:
            columns.append(name)
    return sorted(columns)


def _read_columns(plan: ComparisonPlan, side: ComparisonSide) -> tuple[dict[str, dict[str, str]], int]:
    """Read the tags and the question of each row of a side, by column and question, and count its questions."""
    folder = plan.wanted.against if side.before and plan.wanted.against else plan.wanted.run
    values: dict[str, dict[str, str]] = {}
    ids: set[str] = set()
    with Store.open(folder) as store, store.snapshot():
        for sample_id, tags in store.select(("sample_id", "tags"), ResultFilter(method=side.method)):
            if sample_id not in ids:
                ids.add(sample_id)
                for name, value in json.loads(tags).items():
                    values.setdefault(name, {})[sample_id] = value
        for case in store.cases():
            if case.method == side.method and case.question:
                values.setdefault(QUESTION, {})[case.id] = case.question
    return values, len(ids)
