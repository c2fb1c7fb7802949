"""Columns that may name the method of a row, and the question that several methods answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from greval.datasets.field_names import ID_NAMES, METHOD_NAMES, MappedRow, find_known_name, fold_name, list_names
from greval.records.case import TAG, Case

OTHER_MEANINGS = frozenset(
    {
        *("repeat", "repetition", "run", "run_id", "trial", "seed", "attempt", "iteration", "round", "fold", "rep"),
        *("replicate", "annotator", "rater", "judge", "label", "grade", "score", "rank", "lang", "language", "split"),
    }
)
"""Names of columns with few values for each question that are no methods."""
MAX_VALUES = 20
MAX_ROWS = 50_000
"""The number of rows by which columns are chosen; the rows after them are like these."""
MAX_SHOWN = 3
MIN_COVERAGE = 0.75
"""The share of the pairs of a question and a value that a column of methods has at least."""


class MethodColumnFinder:
    """Finds the column of the method in rows without one: each question occurs once for each of its few values."""

    def __init__(self) -> None:
        """Start without rows."""
        self._rows = 0
        self._questions: dict[int, int] = {}
        # The questions of each value of a column.
        self._columns: dict[str, dict[str, set[int]]] = {}
        self._ids: dict[str, dict[int, str]] = {}
        self._dead: set[str] = set()
        self._own_ids: dict[int, str] | None = {}

    def add(self, case: Case, settled: MappedRow) -> None:
        """Add a row that is a case."""
        if self._rows >= MAX_ROWS or case.other_response is not None:
            return
        self._rows += 1
        question = hash(case.question)
        self._questions[question] = self._questions.get(question, 0) + 1
        if self._own_ids is not None:
            has_id = (
                settled.values.get("id") not in (None, "") and self._own_ids.setdefault(question, case.id) == case.id
            )
            self._own_ids = self._own_ids if has_id else None
        for path, tag in _list_tags(settled):
            if path not in self._dead and not self._add_value(question, path, tag, case.tags.get(tag, "")):
                self._dead.add(path)
                self._columns.pop(path, None)
        for path, value in _list_ids(settled):
            id_by_question = self._ids.setdefault(path, {})
            if id_by_question.setdefault(question, value) != value:
                # Two ids of one question: it is no id of questions.
                id_by_question[question] = ""

    def _add_value(self, question: int, path: str, tag: str, value: str) -> bool:
        """Add a value; return False if the column is no method, such as with two answers to one question."""
        name = fold_name(tag)
        if name in OTHER_MEANINGS or name in ID_NAMES or (name not in METHOD_NAMES and _is_number(value)):
            return False
        column = self._columns.setdefault(path, {})
        questions = column.setdefault(value, set())
        if question in questions or len(column) > MAX_VALUES:
            return False
        questions.add(question)
        return True

    def find_columns(self) -> dict[str, str]:
        """Return the columns of the method and of the question's id, as far as rows are likely to have them."""
        methods = [path for path, column in self._columns.items() if self._is_method(column)]
        ids = [path for path, id_by_question in self._ids.items() if self._is_id(id_by_question)]
        columns: dict[str, str] = {}
        if methods:
            columns["method"] = min(methods, key=_rank_name)
        if ids and self._own_ids is None and (methods or len(self._questions) == self._rows):
            columns["id"] = ids[0]
        return columns

    def describe(self) -> str | None:
        """Ask whether the columns that were found are the method and the id; None if no column was found."""
        columns = self.find_columns()
        if "method" in columns:
            path, values = columns["method"], len(self._columns[columns["method"]])
            return f"{path} has {values} values and each question occurs once per value: is it the method?"
        return f"{columns['id']} has a value of its own for each question: is it the id?" if columns else None

    def _is_method(self, column: Mapping[str, set[int]]) -> bool:
        rows, questions = sum(map(len, column.values())), len(self._questions)
        if len(column) < 2 or rows < self._rows or questions == self._rows:  # noqa: PLR2004 - two methods
            return False
        return rows >= MIN_COVERAGE * len(column) * questions

    def _is_id(self, id_by_question: Mapping[int, str]) -> bool:
        return len(id_by_question) == len(self._questions) == len({*id_by_question.values()} - {""})


def _list_tags(settled: MappedRow) -> Iterator[tuple[str, str]]:
    """Yield the place of each tag of a row with its name: a column, or a value inside `metadata` or `tags`."""
    yield from settled.tagged.items()
    tags = settled.values.get("tags")
    if isinstance(tags, Mapping) and len(tags) > len(settled.tagged):
        columns = {*settled.tagged.values()}
        yield from ((f"{TAG}{name}", name) for name in tags if name not in columns)


def _list_ids(settled: MappedRow) -> Iterator[tuple[str, str]]:
    """Yield the columns that may be the id of the question but were not read as such, with their values."""
    tags = settled.values.get("tags")
    for path, tag in _list_tags(settled):
        is_id = fold_name(tag) in ID_NAMES or find_known_name(tag) in list_names("id")
        if is_id and isinstance(tags, Mapping) and tags.get(tag) is not None:
            yield path, str(tags[tag])


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return value in {"true", "false"}
    return True


def _rank_name(path: str) -> tuple[int, str]:
    name = fold_name(path.rpartition(".")[2])
    return (METHOD_NAMES.index(name) if name in METHOD_NAMES else len(METHOD_NAMES)), path
