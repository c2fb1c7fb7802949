"""Files of rankings and of judgements, as arrays."""

from __future__ import annotations

from pathlib import Path

from greval.datasets.raw_rows import check_exists
from greval.errors import DataError
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import Rankings, TieOrder
from greval.metrics.columns.trec_files import RankOrder, read_qrels, read_trec_run

ENDINGS = (".run", ".qrels", ".trec", ".txt")


def read_judgements(path: Path, *, relevant: int = 1, essential: int | None = None) -> Qrels:
    """Read a file of judgements; raise `DataError` if it cannot be read or holds none."""
    check_exists(path, ENDINGS)
    found = read_qrels(path, relevant=relevant, essential=essential)
    if not len(found):
        raise DataError(f"{path}: holds no judgement; expected lines of question, iteration, document and grade")
    return found


def read_rankings(path: Path, *, order: RankOrder = "score", ties: TieOrder = "given") -> Rankings:
    """Read a run; raise `DataError` if it cannot be read or holds no ranking."""
    check_exists(path, ENDINGS)
    found = read_trec_run(path, order=order, ties=ties)
    if not found.questions:
        raise DataError(f"{path}: holds no ranking; expected lines of question, Q0, document, rank, score and name")
    return found
