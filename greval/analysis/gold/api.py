"""Check gold: report all its faults at once, each with its place and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from greval._util.joins import join_ids
from greval.analysis.gold.index_lookup import IndexLookup
from greval.analysis.gold.rules import FindingLevel, GoldFinding, RuleMessage, check_consistency, check_index
from greval.metrics.computed.graph_walk import normalise_name
from greval.records.case import Gold, Sample
from greval.records.inventory import IndexInventory

COMPARED_FIELDS = ("question", "expected_answer", "gold")
"""The fields in which all rows of one sample must agree, whatever their method is."""
INDEX = "gold and index"
"""The place of remarks on all samples."""


def check_gold(
    samples: Iterable[Sample], inventory: IndexInventory | None = None, *, places: Iterable[str] | None = None
) -> tuple[GoldFinding, ...]:
    """Check the gold of samples or cases.

    Args:
        samples: Samples, or cases of one or several methods; a sample is checked once.
        inventory: The contents of the index; None skips the check whether the gold is in the index.
        places: The place of each sample, such as a file and a line; by default its id.

    Returns:
        All findings, in the order of the samples. Remarks on names that nearly meet those of the index come first.

    Example:
        >>> sample = Sample(id="q1", question="Who?", gold={"essential_docs": ["d1"], "helpful_docs": ["d1"]})
        >>> print(check_gold([sample])[0])
        q1: gold.helpful_docs: d1 is essential too; keep it in one of the two
    """
    check = _GoldChecker(IndexLookup(inventory) if inventory else None)
    findings = [
        finding
        for sample, location in zip(samples, places or repeat(""), strict=places is not None)
        for finding in check.check(sample, location or sample.id)
    ]
    return (*check.find_join_remarks(), *findings)


class _GoldChecker:
    """The checks of one pass over samples, with the samples seen so far."""

    def __init__(self, holdings: IndexLookup | None) -> None:
        self._holdings = holdings
        self._first: dict[str, tuple[Sample, str]] = {}
        self._asked: dict[str, str] = {}
        self._documents: dict[str, None] = {}
        self._nodes: dict[str, None] = {}

    def check(self, sample: Sample, location: str) -> Iterator[GoldFinding]:
        """Yield all findings on a sample."""
        for level, message in self._check_sample(sample, location):
            yield GoldFinding(place=location, sample_id=sample.id, level=level, message=message)

    def _check_sample(self, sample: Sample, location: str) -> Iterator[RuleMessage]:
        first_row = self._first.setdefault(sample.id, (sample, location))
        if first_row[0] is not sample:
            yield from _find_contradictions(sample, *first_row)
            return
        yield from self._check_repeated_question(sample)
        if sample.gold is None:
            what = "no gold" if sample.expected_answer else "no gold and no expected answer"
            yield "fault", f"there is {what}; metrics of retrieval and walk are skipped for it: add its gold"
        elif not any(getattr(sample.gold, name) for name in Gold.model_fields if name != "aliases"):
            level: FindingLevel = "remark" if sample.expected_answer else "fault"
            yield level, "gold: names nothing; fill it in, or leave it out if it is not known"
        else:
            self._documents.update(dict.fromkeys(sample.gold.gains or ()))
            self._nodes.update(dict.fromkeys(map(normalise_name, sample.gold.expected_nodes or ())))
            yield from check_consistency(sample.gold)
            yield from check_index(sample.gold, self._holdings) if self._holdings else ()

    def find_join_remarks(self) -> Iterator[GoldFinding]:
        """Yield a remark if none of the gold's names is in the index, or some nearly are."""
        if self._holdings is None:
            return
        nodes = dict.fromkeys(map(self._holdings.canonical, self._nodes))
        for kind, gold_names, index_names in (
            ("documents", self._documents, self._holdings.documents),
            ("nodes", nodes, self._holdings.nodes),
        ):
            if not gold_names or not index_names:
                continue
            join = join_ids(gold_names, index_names, (f"{kind} of the gold", f"{kind} of the index"))
            # A few names that are absent are findings of their samples; only a difference of form concerns all.
            if join.met_nothing or (join.near and join.near.is_certain):
                message = join.find_remark() or join.describe()
                yield GoldFinding(place=INDEX, sample_id="", level="remark", message=message)

    def _check_repeated_question(self, sample: Sample) -> Iterator[RuleMessage]:
        """Report a question that another sample asks too."""
        question = normalise_name(sample.question)
        if not question:
            return
        first_id = self._asked.setdefault(question, sample.id)
        if first_id != sample.id:
            yield "remark", f"question: {first_id} asks the same; a duplicate question makes intervals too narrow"


def _find_contradictions(sample: Sample, first: Sample, location: str) -> Iterator[RuleMessage]:
    """Report the fields in which two rows of one sample differ; a missing field differs from a given one."""
    differ = [name for name in COMPARED_FIELDS if getattr(sample, name) != getattr(first, name)]
    where = "above" if location == first.id else f"at {location}"
    if differ:
        yield "fault", f"{', '.join(differ)}: not as {where} under this id; make them equal, or give each its own id"
