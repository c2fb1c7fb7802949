"""The measures of trec_eval (`-m all_trec`), with its definitions and names.

Use them if results must be comparable with published ones. Unlike greval's own measures, they leave out a question
without a ranking, and count one without a relevant document as 0. Sources: the help texts of trec_eval 10
(`trec_eval -h -m all_trec`), which name the papers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, floor, log

import numpy as np
import numpy.typing as npt

from greval._util.wording import did_you_mean
from greval.errors import DefinitionError
from greval.metrics.columns.chunked_array import Flags
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import Rankings

Floats = npt.NDArray[np.float64]
Values = dict[str, float]
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALL_LEVELS = tuple(n / 10 for n in range(11))
MULTIPLES = tuple(n / 5 for n in range(1, 11))
SUCCESS_CUTS = (1, 5, 10)
UNJUDGED_CUTS = (5, 10, 20)
SUMS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
GEOMETRIC = {"gm_map": "map", "gm_bpref": "bpref"}
PERSISTENCE = 0.9
MIN_GEOMETRIC = 1e-5
INFAP_EPSILON = 1e-5
"""Smoothing constant of inferred average precision, which keeps the counts above 0."""
NOT_IN_POOL, NOT_JUDGED = -1, -2
ALL_MEASURES = "all_trec"
"""The name that stands for all measures."""
_CUT = re.compile(r"_[0-9.]+$")


@dataclass(frozen=True)
class TrecEval:
    """The output of trec_eval.

    Args:
        by_question: The measures of each question that is judged and has a ranking.
        overall: Their means. Counts of documents are summed; `gm_map` and `gm_bpref` are geometric means.
    """

    by_question: dict[str, Values]
    overall: Values


def trec_eval(qrels: Qrels, rankings: Rankings) -> TrecEval:
    """Compute the measures of trec_eval.

    Args:
        qrels: The judged documents; `relevant` is trec_eval's `-l`.
        rankings: A run; read it with `ties="trec_eval"` for trec_eval's order.

    Example:
        >>> qrels = Qrels.from_dicts({"q1": {"d1": 1, "d2": 0}})
        >>> found = trec_eval(qrels, Rankings.from_dicts({"q1": {"d2": 2.0, "d1": 1.0}}, ties="trec_eval"))
        >>> found.overall["recip_rank"], found.by_question["q1"]["P_5"]
        (0.5, 0.2)
    """
    by_question = {ranked.name: ranked.compute_measures() for ranked in _iterate_questions(qrels, rankings)}
    return TrecEval(by_question, _average_questions(list(by_question.values())))


@cache
def list_trec_measures() -> tuple[str, ...]:
    """List the names of all measures, in the order of `TrecEval.overall`."""
    one = {"q": {"d": 1}}
    return tuple(trec_eval(Qrels.from_dicts(one), Rankings.from_dicts(one)).overall)


def expand_trec_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Return the measures that names stand for, as those after trec_eval's `-m`.

    A name is that of a measure as it is printed (`ndcg_cut_10`) or requested (`ndcg_cut.10`), of all measures with
    cut-offs of one kind (`P`), or `all_trec`.

    Raises:
        DefinitionError: If a name is none of these.

    Example:
        >>> expand_trec_measures(["map", "ndcg_cut.10", "success"])
        ('map', 'ndcg_cut_10', 'success_1', 'success_5', 'success_10')
    """
    return tuple(dict.fromkeys(measure for name in names for measure in _expand_name(name)))


def _expand_name(name: str) -> list[str]:
    known = list_trec_measures()
    if name == ALL_MEASURES:
        return [*known]
    exact = [one for one in known if one in {name, name.replace(".", "_", 1)}]
    found = exact or [one for one in known if _CUT.sub("", one) == name]
    if not found:
        hint = did_you_mean(name, known)
        raise DefinitionError(f"no measure of trec_eval is called {name!r}{hint} ({ALL_MEASURES} stands for all)")
    return found


def format_relevance_strings(qrels: Qrels, rankings: Rankings, length: int = 10) -> dict[str, str]:
    """Return the grades of each question's first documents as a string with one character each (`relstring`).

    A character is a digit for a grade, > for a grade above 9, - for a document that is not in the qrels and . for a
    grade below 0.
    """
    signs = {NOT_IN_POOL: "-", NOT_JUDGED: "."}
    return {
        ranked.name: "".join(signs.get(grade, ">" if grade > 9 else str(grade)) for grade in ranked.grades[:length])  # noqa: PLR2004 - a digit
        for ranked in _iterate_questions(qrels, rankings)
    }


def _iterate_questions(qrels: Qrels, rankings: Rankings) -> Iterator[_RankedQuestion]:
    hits = rankings.find_hits(qrels)
    edges = np.searchsorted(hits.questions, np.arange(len(qrels.grouped.names) + 1))
    for n in np.flatnonzero(hits.depths >= 0).tolist():
        found = slice(int(edges[n]), int(edges[n + 1]))
        grades = np.full(hits.depths[n], NOT_IN_POOL)
        given = qrels.grades[hits.gold[found]]
        grades[hits.ranks[found] - 1] = np.where(given < 0, NOT_JUDGED, given)
        judged = qrels.grades[qrels.grouped.starts[n] : qrels.grouped.starts[n + 1]]
        yield _RankedQuestion(qrels.grouped.names[n], grades, judged.astype(np.int64), qrels.relevant)


def _average_questions(rows: list[Values]) -> Values:
    if not rows:
        return {"num_q": 0}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    means = {name: sum(column) / (1 if name in SUMS else len(rows)) for name, column in columns.items()}
    logs = {name: [log(max(value, MIN_GEOMETRIC)) for value in columns[of]] for name, of in GEOMETRIC.items()}
    return {"num_q": len(rows), **means, **{name: exp(sum(some) / len(rows)) for name, some in logs.items()}}


@dataclass(frozen=True)
class _RankedQuestion:
    """A question's ranking: the grade at each rank, all judged grades, and the lowest relevant grade."""

    name: str
    grades: npt.NDArray[np.int64]
    judged: npt.NDArray[np.int64]
    relevant: int

    @cached_property
    def hits(self) -> Flags:
        return self.grades >= self.relevant

    @cached_property
    def ranks(self) -> npt.NDArray[np.int64]:
        """The ranks of the relevant documents."""
        return np.flatnonzero(self.hits) + 1

    @cached_property
    def relevant_count(self) -> int:
        return int((self.judged >= self.relevant).sum())

    def count_within(self, cut: int) -> int:
        """Count the relevant documents among the first `cut`."""
        return int((self.ranks <= cut).sum())

    def compute_measures(self) -> Values:
        """Compute every measure."""
        cuts, sets = self._compute_cutoff_measures(), self._compute_set_measures()
        return {
            **self._compute_counts(),
            **cuts,
            **self._compute_precision_measures(),
            **self._compute_incomplete_measures(),
            **sets,
            **self._compute_gain_measures(),
        }

    def _compute_counts(self) -> Values:
        not_relevant = (self.grades >= 0) & ~self.hits
        return {
            "num_ret": len(self.grades),
            "num_rel": self.relevant_count,
            "num_rel_ret": len(self.ranks),
            "num_nonrel_judged_ret": int(not_relevant.sum()),
            "utility": 2 * len(self.ranks) - len(self.grades),
        }

    def _compute_cutoff_measures(self) -> Values:
        found: Values = {}
        for cut in CUTS:
            hits = self.count_within(cut)
            found |= {f"P_{cut}": hits / cut, f"recall_{cut}": _divide(hits, self.relevant_count)}
            found |= {
                f"relative_P_{cut}": _divide(hits, min(cut, self.relevant_count)),
                f"map_cut_{cut}": self._compute_average_precision(cut),
            }
            found |= {f"ndcg_cut_{cut}": self._compute_ndcg(cut)}
        found |= {f"success_{cut}": float(self.count_within(cut) > 0) for cut in SUCCESS_CUTS}
        return found | {f"unj_{cut}": int((self.grades[:cut] < 0).sum()) / cut for cut in UNJUDGED_CUTS}

    def _compute_precision_measures(self) -> Values:
        inner = {f"iprec_at_recall_{share:.2f}": self._interpolate_precision(share) for share in RECALL_LEVELS}
        cuts = {multiple: floor(multiple * self.relevant_count + 0.9) for multiple in MULTIPLES}
        return {
            **inner,
            **{f"Rprec_mult_{multiple:.2f}": _divide(self.count_within(cut), cut) for multiple, cut in cuts.items()},
            "11pt_avg": sum(inner.values()) / len(inner),
            "Rprec": _divide(self.count_within(self.relevant_count), self.relevant_count),
            "map": self._compute_average_precision(len(self.grades)),
            "recip_rank": float(1 / self.ranks[0]) if len(self.ranks) else 0.0,
        }

    def _compute_average_precision(self, cut: int) -> float:
        first = self.ranks[: self.count_within(cut)]
        return _divide(float((np.arange(1, len(first) + 1) / first).sum()), self.relevant_count)

    def _interpolate_precision(self, share: float) -> float:
        """Return the highest precision at or after the rank at which recall reaches a level."""
        wanted = floor(share * self.relevant_count + 0.5)
        precisions = np.arange(1, len(self.ranks) + 1) / self.ranks
        return float(precisions[max(wanted, 1) - 1 :].max(initial=0))

    def _compute_incomplete_measures(self) -> Values:
        """Compute the measures for incomplete judgements."""
        at = self.ranks - 1
        before = np.arange(len(at))
        wrong = np.cumsum((self.grades >= 0) & ~self.hits)[at]
        unjudged = np.cumsum(self.grades == NOT_JUDGED)[at]
        known = min(int(((self.judged >= 0) & (self.judged < self.relevant)).sum()), self.relevant_count)
        preferred = 1 - np.minimum(wrong, self.relevant_count) / max(known, 1)
        pooled = (before + wrong + unjudged) * (before + INFAP_EPSILON) / (before + wrong + 2 * INFAP_EPSILON)
        binary = 1 / np.log2(2 + at - before)
        return {
            "bpref": _divide(float(preferred.sum()), self.relevant_count),
            "infAP": _divide(float(((1 + pooled) / self.ranks).sum()), self.relevant_count),
            "binG": _divide(float(binary.sum()), self.relevant_count),
        }

    def _compute_set_measures(self) -> Values:
        precision, recall = _divide(len(self.ranks), len(self.grades)), _divide(len(self.ranks), self.relevant_count)
        return {
            "set_P": precision,
            "set_recall": recall,
            "set_relative_P": _divide(len(self.ranks), min(len(self.grades), self.relevant_count)),
            "set_map": precision * recall,
            "set_F": _divide(2 * precision * recall, precision + recall),
        }

    @cached_property
    def gains(self) -> Floats:
        """The gain at each rank."""
        return np.maximum(self.grades, 0).astype(np.float64)

    @cached_property
    def best(self) -> Floats:
        """The gains above 0 in the ideal order."""
        return np.sort(self.judged[self.judged > 0])[::-1].astype(np.float64)

    def _compute_ndcg(self, cut: int) -> float:
        return _divide(_compute_dcg(self.gains[:cut]), _compute_dcg(self.best[:cut]))

    def _compute_gain_measures(self) -> Values:
        """Compute the measures of graded gains."""
        gains, best = self.gains, self.best
        ideal = np.zeros(len(gains))
        ideal[: len(best)] = best[: len(gains)]
        lead = np.cumsum(np.maximum(ideal, 1)) - np.cumsum(gains)
        weights = PERSISTENCE ** np.arange(len(gains))
        top = max(int(self.judged.max(initial=0)), 1)
        unjudged = self.grades < 0
        residual = PERSISTENCE ** len(gains) + (1 - PERSISTENCE) * float(weights[unjudged].sum())
        return {
            "ndcg": self._compute_ndcg(max(len(gains), len(best))),
            "ndcg_rel": self._average_ndcg_at_hits(),
            "Rndcg": self._average_ndcg_at_levels(),
            "G": _divide(float((gains / np.log2(2 + lead)).sum()), float(best.sum())),
            "rbp": (1 - PERSISTENCE) * float((gains / top * weights).sum()),
            "rbp_resid": residual if unjudged.any() else 0.0,
        }

    def _average_ndcg_at_hits(self) -> float:
        """Average nDCG over the ranks of documents with a gain; those not retrieved count at the end."""
        ranks = (np.flatnonzero(self.gains > 0) + 1).tolist()
        ends = [len(self.gains) + len(self.best)] * (len(self.best) - len(ranks))
        return _divide(sum(self._compute_ndcg(cut) for cut in (*ranks, *ends)), len(self.best))

    def _average_ndcg_at_levels(self) -> float:
        """Average nDCG over the ranks that end a grade in the ideal ranking, and over the end of a longer ranking."""
        if not self.relevant_count:
            return 0.0
        cuts = [int((self.best >= grade).sum()) for grade in np.unique(self.best)]
        if len(self.best) + 1 < len(self.gains):
            cuts.append(len(self.gains))
        return sum(self._compute_ndcg(cut) for cut in cuts) / len(cuts)


def _compute_dcg(gains: Floats) -> float:
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())


def _divide(part: float, whole: float) -> float:
    """Divide; 0 / 0 is 0, as in trec_eval."""
    return part / whole if whole else 0.0
