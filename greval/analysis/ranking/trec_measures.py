"""The measures of trec_eval (`-m all_trec`), with its definitions and names.

Use them if results must be comparable with published ones. Unlike greval's own measures, they leave out a question
without a ranking, and count one without a relevant document as 0. pytrec-eval-terrier computes those of trec_eval 9.
What trec_eval 10 has beside them, or computes otherwise, is added from its help texts (`trec_eval -h -m all_trec`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greval._util.wording import did_you_mean
from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.question_documents import Flags, Floats
from greval.analysis.ranking.rankings import Hits, Rankings
from greval.errors import DefinitionError, MissingExtraError

Values = dict[str, float]
RECALL_LEVELS = tuple(n / 10 for n in range(11))
UNJUDGED_CUTS = (5, 10, 20)
PERSISTENCE = 0.9
ALL_MEASURES = "all_trec"
"""The name that stands for all measures."""
NO_FIGURES = frozenset({"runid", "relstring"})
WITHOUT_QUESTIONS = frozenset({"num_q", "gm_map", "gm_bpref"})
"""Measures that have no value for a single question."""
_CUT = re.compile(r"_[0-9.]+$")
_CUTS = re.compile(r"(?P<family>.+?)[._](?P<cuts>[0-9]+(?:[.][0-9]+)?(?:,[0-9]+(?:[.][0-9]+)?)*)")


@dataclass(frozen=True)
class TrecEval:
    """The output of trec_eval.

    Args:
        by_question: The measures of each question that is judged and has a ranking.
        overall: Their means. Counts of documents are summed; `gm_map` and `gm_bpref` are geometric means.
    """

    by_question: dict[str, Values]
    overall: Values


def trec_eval(qrels: Qrels, rankings: Rankings, names: Iterable[str] = (ALL_MEASURES,)) -> TrecEval:
    """Compute measures of trec_eval.

    Args:
        qrels: The judged documents; `relevant` is trec_eval's `-l`.
        rankings: A run; read it with `ties="trec_eval"` for trec_eval's order.
        names: The measures, as for `expand_trec_measures`.

    Raises:
        DefinitionError: If no measure has one of the names.
        MissingExtraError: If pytrec-eval-terrier is not installed.

    Example:
        >>> qrels = Qrels.from_dicts({"q1": {"d1": 1, "d2": 0}})
        >>> measured = trec_eval(qrels, Rankings.from_dicts({"q1": {"d2": 2.0, "d1": 1.0}}, ties="trec_eval"))
        >>> measured.overall["recip_rank"], measured.by_question["q1"]["P_5"]
        (0.5, 0.2)
    """
    measures = expand_trec_measures(names)
    added = {name: compute for name in measures if (compute := _find_added(name))}
    rows = _evaluate(qrels, rankings, {*measures} - added.keys())
    hits = rankings.find_hits(qrels)
    for name, compute in added.items():
        values = dict(zip(qrels.questions, compute(qrels, hits).tolist(), strict=True))
        for question, row in rows.items():
            row[name] = values[question]
    by_question = {
        question: {name: row[name] for name in measures if name not in WITHOUT_QUESTIONS}
        for question, row in rows.items()
    }
    overall = {name: _aggregate(name, [row[name] for row in rows.values()]) for name in measures} if rows else {}
    return TrecEval(by_question, overall or {"num_q": 0})


def _import_pytrec_eval() -> Any:  # noqa: ANN401 - the package is untyped
    try:
        import pytrec_eval
    except ImportError as error:
        raise MissingExtraError("ranking", "pytrec-eval-terrier") from error
    return pytrec_eval


def _evaluate(qrels: Qrels, rankings: Rankings, measures: set[str]) -> dict[str, Values]:
    """Compute the measures of each question that is judged and has a ranking."""
    ranked = rankings.ranked
    # trec_eval 9 reads scores in single precision, so that it gets the order of the documents in place of them
    places = np.repeat(ranked.starts[1:], ranked.lengths) - np.arange(len(ranked))
    grades = qrels.judged.list_by_question(qrels.grades.tolist())
    evaluator = _import_pytrec_eval().RelevanceEvaluator(grades, measures or {"num_q"}, relevance_level=qrels.relevant)
    rows: dict[str, Values] = evaluator.evaluate(ranked.list_by_question(places.astype(np.float64).tolist()))
    return {question: rows[question] for question in qrels.questions if question in rows}


def _aggregate(measure: str, values: list[float]) -> float:
    mean: float = _import_pytrec_eval().compute_aggregated_measure(measure, values)
    return mean


@cache
def list_trec_measures() -> tuple[str, ...]:
    """List the names of all measures, in the order in which trec_eval prints them; those that are added come last."""
    package = _import_pytrec_eval()
    # Names with their cut-offs appear in results only, so that one document is measured.
    evaluator = package.RelevanceEvaluator({"q": {"d": 1}}, package.supported_measures - NO_FIGURES)
    return tuple(dict.fromkeys((*evaluator.evaluate({"q": {"d": 1.0}})["q"], *ADDED_MEASURES)))


def expand_trec_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Return the measures that names stand for, as those after trec_eval's `-m`.

    A name is that of a measure as it is printed (`ndcg_cut_10`) or requested (`ndcg_cut.10`), with any cut-offs
    (`P.3,7`), of all measures with the usual cut-offs of one kind (`P`), or `all_trec`.

    Example:
        >>> expand_trec_measures(["map", "ndcg_cut.23", "P_3,7", "success"])
        ('map', 'ndcg_cut_23', 'P_3', 'P_7', 'success_1', 'success_5', 'success_10')
    """
    return tuple(dict.fromkeys(measure for name in names for measure in _expand_name(name)))


def _expand_name(name: str) -> list[str]:
    measures = list_trec_measures()
    if name == ALL_MEASURES:
        return [*measures]
    exact = [measure for measure in measures if measure in {name, name.replace(".", "_", 1)}]
    expanded = exact or [measure for measure in measures if _find_family(measure) == name] or [*_name_cuts(name)]
    if not expanded:
        hint = did_you_mean(name, measures)
        families = ", ".join(dict.fromkeys(_find_family(measure) for measure in measures if _CUT.search(measure)))
        more = f"{ALL_MEASURES} stands for all, and cut-offs may follow {families}, as in P.5,10"
        raise DefinitionError(f"no measure of trec_eval is called {name!r}{hint} ({more})")
    return expanded


def _name_cuts(name: str) -> Iterator[str]:
    """Yield the names of the measures of one kind with cut-offs of the user; none if the kind has no such cut-offs."""
    match = _CUTS.fullmatch(name)
    if match is None:
        return
    family, cuts = match["family"], match["cuts"].split(",")
    usual = [measure for measure in list_trec_measures() if _CUT.search(measure) and _find_family(measure) == family]
    is_level = any("." in measure for measure in usual)
    if usual and all(is_level or (cut.isdecimal() and int(cut)) for cut in cuts):
        for cut in sorted(cuts, key=float):
            yield f"{family}_{float(cut):.2f}" if is_level else f"{family}_{int(cut)}"


def _find_added(measure: str) -> Callable[[Qrels, Hits], Floats] | None:
    """Return what computes a measure that pytrec-eval-terrier lacks, or computes as trec_eval 9 does."""
    cut = measure.rpartition("_")[2]
    match _find_family(measure):
        case "iprec_at_recall":
            return partial(_interpolate_precision, level=float(cut))
        case "unj":
            return partial(_share_unjudged, cut=int(cut))
        case _:
            return ADDED_MEASURES.get(measure)


def _find_family(measure: str) -> str:
    return _CUT.sub("", measure)


def _count_hits(hits: Hits, selected: Flags, weights: NDArray[np.floating[Any]] | None = None) -> Floats:
    """Count some of the hits of each question, or sum their weights."""
    counted = None if weights is None else weights[selected]
    return np.bincount(hits.questions[selected], counted, len(hits.depths)).astype(np.float64)


def _share_unjudged(qrels: Qrels, hits: Hits, cut: int) -> Floats:
    """Compute the share of documents without a grade, or with one below 0, among the first `cut`."""
    judged = _count_hits(hits, (qrels.grades[hits.gold] >= 0) & (hits.ranks <= cut))
    return (np.clip(hits.depths, 0, cut) - judged) / cut


def _interpolate_precision(qrels: Qrels, hits: Hits, level: float) -> Floats:
    """Compute the highest precision at or after the rank at which recall reaches a level."""
    is_relevant = qrels.grades[hits.gold] >= qrels.relevant
    questions = hits.questions[is_relevant]
    found_so_far = np.arange(1, len(questions) + 1) - np.searchsorted(questions, questions)
    # trec_eval 9 rounds up the number of documents that reach it, so that 0.1 of 14 are two; trec_eval 10 rounds.
    has_reached = found_so_far >= np.floor(level * qrels.count_judged(qrels.relevant) + 0.5)[questions]
    precisions = np.zeros(len(hits.depths))
    np.maximum.at(precisions, questions[has_reached], (found_so_far / hits.ranks[is_relevant])[has_reached])
    return precisions


def _average_precisions(qrels: Qrels, hits: Hits) -> Floats:
    """Average the interpolated precision over the eleven levels of recall."""
    precisions = [_interpolate_precision(qrels, hits, level) for level in RECALL_LEVELS]
    averages: Floats = np.array(precisions).mean(axis=0)
    return averages


def _compute_rbp(qrels: Qrels, hits: Hits) -> Floats:
    """Compute rank-biased precision: each rank weighs 0.9 of the one before, and the highest grade gains 1."""
    highest = np.ones(len(hits.depths))
    np.maximum.at(highest, qrels.judged.numbers, qrels.grades)
    gains = np.maximum(qrels.grades[hits.gold], 0) / highest[hits.questions]
    return (1 - PERSISTENCE) * _count_hits(hits, gains > 0, PERSISTENCE ** (hits.ranks - 1) * gains)


def _compute_rbp_residual(qrels: Qrels, hits: Hits) -> Floats:
    """Compute what rank-biased precision could gain at most if all documents were judged."""
    is_judged = qrels.grades[hits.gold] >= 0
    certain = (1 - PERSISTENCE) * _count_hits(hits, is_judged, PERSISTENCE ** (hits.ranks - 1))
    return np.where(_count_hits(hits, is_judged) < hits.depths, 1 - certain, 0.0)


ADDED_MEASURES: Mapping[str, Callable[[Qrels, Hits], Floats]] = {
    **{f"iprec_at_recall_{level:.2f}": partial(_interpolate_precision, level=level) for level in RECALL_LEVELS},
    "11pt_avg": _average_precisions,
    **{f"unj_{cut}": partial(_share_unjudged, cut=cut) for cut in UNJUDGED_CUTS},
    "rbp": _compute_rbp,
    "rbp_resid": _compute_rbp_residual,
}
"""The measures that pytrec-eval-terrier lacks, or computes as trec_eval 9 does."""
