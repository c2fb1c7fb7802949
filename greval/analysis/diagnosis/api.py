"""Diagnosis of wrong answers: the earliest cause from the index to the answer, with the reason for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.arguments import build_unknown_name_error, resolve_run_folder
from greval.analysis.diagnosis.correctness import (
    AnswerVerdict,
    AnswerVerdicts,
    describe_correct_answer,
    find_chunk_with_answer,
)
from greval.analysis.diagnosis.evidence_path import EntryNodes, EvidencePath, find_needs
from greval.analysis.diagnosis.records import LOSSES, Cause, Diagnosis, DiagnosisTable, Evidence, tabulate
from greval.analysis.gold.index_lookup import IndexLookup
from greval.records.case import Case, Gold
from greval.records.inventory import IndexInventory
from greval.runs.store import Store
from greval.stats.summary import METHOD

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

QUERY_TYPE = "query_type"
"""The tag of the type of a question, by which diagnoses are grouped if cases have it."""
MAX_NAMED = 3
"""The number of names that a reason lists; the rest are counted."""

Decision = tuple[Cause, str, tuple[Evidence, ...]]


def diagnose(
    case: Case, *, verdict: AnswerVerdict | bool | None = None, inventory: IndexInventory | IndexLookup | None = None
) -> Diagnosis:
    """Diagnose an answer: find one cause, the earliest of the steps from the index to the answer.

    Args:
        case: The case, with its gold.
        verdict: Whether the answer was judged correct; None if it was not judged.
        inventory: The contents of the index. For many cases pass `IndexLookup(inventory)`, so that it is built once.

    Returns:
        The cause, the reason for it, and every document, edge and node that the gold names as needed.

    Example:
        >>> case = Case(
        ...     question="Who owns it?", expected_answer="Team Petrel", answer="Nobody.",
        ...     chunks=[{"id": "c1", "text": "It runs at night.", "doc_id": "d1"}],
        ...     gold={"essential_docs": ["d2"]},
        ... )
        >>> diagnose(case, verdict=False, inventory=IndexInventory(documents=frozenset({"d1"}))).cause
        'not in the index'
    """
    judged = verdict if isinstance(verdict, AnswerVerdict) else AnswerVerdict(right=verdict)
    holdings = IndexLookup(inventory) if isinstance(inventory, IndexInventory) else inventory
    cause, reason, evidence = _decide(case, judged, holdings)
    who = {"sample_id": case.id, "method": case.method, "metric": judged.metric, "tags": case.tags}
    return Diagnosis(**who, cause=cause, reason=reason, evidence=evidence)


def diagnose_run(
    run: Store | str | Path | Run, *, metric: str | None = None, inventory: IndexInventory | None = None
) -> Iterator[Diagnosis]:
    """Diagnose every case of a run.

    Args:
        run: The run, its folder, or a store that is open for reading.
        metric: The metric that decides whether an answer is correct: below the middle of its scale is wrong. None
            selects `correctness`, then `answer_alignment`, then `fuzzy_containment@0.80`, which is computed if the
            run does not contain it.
        inventory: The contents of the index.

    Returns:
        A diagnosis of each sample and method, of the newest case if one was judged again.

    Raises:
        DataError: If the run does not contain the metric and it cannot be computed, or several runs are given.
        DefinitionError: If the metric cannot decide whether an answer is correct.
        StoreError: If the folder is not a run.
    """
    with ExitStack() as opened:
        if isinstance(run, Store):
            store = run
        else:
            store = opened.enter_context(Store.open(resolve_run_folder(run)))
            opened.enter_context(store.snapshot())
        verdicts = AnswerVerdicts(store, metric)
        # The generator closes the store at its end, so that it must outlive this block.
        return _iterate_diagnoses(store, verdicts, IndexLookup(inventory) if inventory else None, opened.pop_all())


def tabulate_run(rows: Sequence[Diagnosis], by: Sequence[str], folder: Path) -> DiagnosisTable:
    """Count the diagnoses of a run by method and tags; by the type of question if no tag is given."""
    tags = {METHOD, *(tag for row in rows for tag in row.tags)}
    for name in by:
        if name not in tags:
            raise build_unknown_name_error("tag", name, tags, folder)
    return tabulate(rows, by=by or ((QUERY_TYPE,) if QUERY_TYPE in tags else ()))


def _iterate_diagnoses(
    store: Store, verdicts: AnswerVerdicts, holdings: IndexLookup | None, opened: ExitStack
) -> Iterator[Diagnosis]:
    """Yield the diagnoses, and close what was opened for them at the end."""
    with opened:
        for case in read_newest_cases(store):
            yield diagnose(case, verdict=verdicts.find_verdict(case), inventory=holdings)


def read_newest_cases(store: Store) -> Iterator[Case]:
    """Yield the newest case of each sample and method, in the order in which they were judged."""
    # The first pass keeps a number for each case, so that no case is held in memory.
    last = {(case.id, case.method): position for position, case in enumerate(store.cases())}
    return (case for position, case in enumerate(store.cases()) if last[case.id, case.method] == position)


def _decide(case: Case, verdict: AnswerVerdict, holdings: IndexLookup | None) -> Decision:
    """Decide by the response and the verdict; if the answer is wrong, by the evidence."""
    judge = f"{verdict.metric or 'the judge'}: {verdict.reason}" if verdict.reason else "no reason was given"
    if case.error is not None or verdict.failed:
        return "failed", f"the method gave no response: {case.error or verdict.reason}", ()
    if verdict.right is None:
        return "not judged", verdict.reason or "there is no verdict on the answer", ()
    if verdict.right:
        return "answered rightly", judge, ()
    if how := describe_correct_answer(case):
        return "judged wrong", f"{how}, and was judged wrong ({judge})", ()
    return _decide_by_evidence(case, case.gold or Gold(), holdings)


def _decide_by_evidence(case: Case, gold: Gold, holdings: IndexLookup | None) -> Decision:
    """Decide by the evidence that the gold names as needed; the answer is known to be wrong."""
    trail = EvidencePath(case, gold, holdings)
    entry = EntryNodes(trail)
    needed, starts = tuple(find_needs(trail)), tuple(entry.iterate_evidence())
    evidence = (*starts, *needed)
    # Start nodes are where a walk begins, not what the answer needs: they decide only if nothing else can.
    deciding = needed or (starts if entry.is_missed_by_all else ())
    # Empty lists record that nothing is needed, as for a question without an answer; None records nothing.
    if not deciding and () in (gold.essential, gold.expected_edges, gold.expected_nodes):
        return "not used", "The gold says that the answer needs no document, edge or node: its lists are empty.", ()
    if not deciding:
        return "unknown", "the gold names no document, edge or node that the answer needs, so nothing decides it", ()
    lost = [part for part in deciding if part.lost]
    if not lost:
        return "not used", _describe_unused_context(case, needed), evidence
    if case.chunks is None and case.triples is None and case.traversal is None:
        # Of a response that records no context, only the index can tell what was lost.
        lost = [part for part in lost if part.lost == "not in the index"]
        if not lost:
            return "unknown", "neither chunks nor triples nor a walk are recorded, so nothing decides it", evidence
    cause = min((part.lost for part in lost if part.lost), key=LOSSES.index)
    return cause, " ".join((_describe_loss(cause, lost, starts), *_describe_unknowns(cause, trail, entry))), evidence


def _describe_loss(cause: Cause, lost: Sequence[Evidence], starts: Sequence[Evidence]) -> str:
    """Describe what was lost at the step of the cause, and what was lost later."""
    first = [part for part in lost if part.lost == cause]
    missed = [part for part in starts if part.lost == cause]
    sentence = f"{cause.capitalize()}: {_format_evidence((*missed, *(part for part in first if part not in missed)))}."
    later = [part for part in lost if part.lost != cause]
    parts = (
        f"{name} {_format_evidence(of)}" for name in LOSSES if (of := [part for part in later if part.lost == name])
    )
    return sentence + (f" Lost later: {'; '.join(parts)}." if later else "")


def _format_evidence(parts: Iterable[Evidence]) -> str:
    """Format the first few parts of the evidence, with what was observed."""
    texts = [f"{part.kind} {part.name} ({part.told})" for part in parts]
    more = [f"and {len(texts) - MAX_NAMED} more"] if len(texts) > MAX_NAMED else []
    return ", ".join((*texts[:MAX_NAMED], *more))


def _describe_unused_context(case: Case, needed: Sequence[Evidence]) -> str:
    """Describe that all evidence was in the context, and which chunk contains the expected answer."""
    sentence = f"All that is needed was in the context: {_format_evidence(needed)}."
    where = find_chunk_with_answer(case)
    if where:
        return f"{sentence} Chunk {where[0]} contains the expected {where[1]!r}."
    return f"{sentence} No chunk contains the expected answer word for word: look whether the right passage is there."


def _describe_unknowns(cause: Cause, trail: EvidencePath, entry: EntryNodes) -> Iterable[str]:
    """Yield which other causes cannot be excluded because something was not recorded."""
    if cause == "not in the index":
        return
    if trail.holdings is None:
        yield "No index was given, so it is not known whether it holds what is missing."
    if cause == "not reached" and trail.walk is None:
        yield "No walk is recorded, so it is not known whether it was found and dropped by a cut-off."
    if cause == "not reached" and entry.is_unknown:
        yield "The gold names no start nodes, so it is not known whether the walk began at the right ones."
