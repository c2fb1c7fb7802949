"""Files of rankings and of judgements in any format, as frames with the columns that are used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.rankings import Rankings
from greval.datasets.ranked_rows import GRADE, QRELS_ROWS, RANK, RUN_ROWS, SCORE, RankOrder, TieOrder
from greval.datasets.row_frames import FrameColumns, read_frame, refuse_several_runs
from greval.datasets.row_purpose import RowPurpose
from greval.errors import DataError

NUMBERS: Mapping[RankOrder | None, tuple[str, ...]] = {
    None: (SCORE, RANK),
    "score": (SCORE,),
    "rank": (RANK,),
    "file": (),
}
"""The fields by which documents are ranked, by the order that is asked for; the first that a file has counts."""


def read_qrels(
    path: str | Path, *, columns: Mapping[str, str] | None = None, relevant: int = 1, essential: int | None = None
) -> Qrels:
    r"""Read a file of judgements: of TREC, or a table or JSON lines with columns for question, document and grade.

    Args:
        path: The file; its ending decides on the format, `.gz` after it means that it is packed.
        columns: The columns of `question`, `document` and `grade`, if they are called otherwise.
        relevant: The lowest grade that counts as relevant (`-l` of trec_eval).
        essential: The lowest grade that counts as essential; `relevant` by default.

    Raises:
        DataError: If the file cannot be read or is empty, or a row is not a judgement; the message names file and line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "qrels.csv")
        >>> _ = file.write_text("qid,docid,relevance\nq1,d1,2\nq1,d7,0\n")
        >>> read_qrels(file).grades.tolist()
        [2, 0]
    """
    field_columns = _check_fields(columns or {}, QRELS_ROWS)
    frame = read_frame(Path(path), FrameColumns(QRELS_ROWS, (GRADE,), field_columns, is_required=True))
    try:
        return Qrels.from_frame(frame, relevant=relevant, essential=essential)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def read_rankings(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    order: RankOrder | None = None,
    ties: TieOrder = "given",
) -> Rankings:
    r"""Read a run: of TREC, or a table or JSON lines with columns for question, document, and score or rank.

    Args:
        path: The file; its ending decides on the format, `.gz` after it means that it is packed.
        columns: The columns of `question`, `document`, `score` and `rank`, if they are called otherwise.
        order: How the documents of a question are ranked: by score, by rank, or by their order in the file. By default
            by score if the file has scores, else by rank, else by order.
        ties: The order of documents with the same score: "given" keeps the file's order, "trec_eval" sorts them by
            falling id.

    Raises:
        DataError: If the file cannot be read or is empty, a row is not a result, or rows are of several runs; the
            message names file and line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "bm25.csv")
        >>> _ = file.write_text("query_id,doc_id,score\nq1,d1,0.5\nq1,d7,0.75\n")
        >>> read_rankings(file).questions
        ('q1',)
    """
    field_columns = _check_fields(columns or {}, RUN_ROWS)
    frame = read_frame(
        Path(path), FrameColumns(RUN_ROWS, NUMBERS[order], field_columns, is_required=order in {SCORE, RANK})
    )
    rankings = Rankings.from_frame(frame, ties=ties)
    if len(rankings.ranked) < len(frame):
        # A document that is there twice may be of two runs.
        refuse_several_runs(Path(path), field_columns)
    return rankings


def _check_fields(columns: Mapping[str, str], purpose: RowPurpose) -> dict[str, str]:
    """Return the columns that are named and are of such a file; raise `DataError` for a field of no such file."""
    fields = {*RUN_ROWS.fields, *QRELS_ROWS.fields}
    for name, source in columns.items():
        if name not in fields:
            raise DataError(f"column {name}={source}: {name!r} is none of the fields {', '.join(sorted(fields))}")
    return {name: source for name, source in columns.items() if name in purpose.fields}
