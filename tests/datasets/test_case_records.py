"""Cases that a program passes are read like the rows of a file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import PurePosixPath
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pytest

from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import as_case, dump_case, filter_by_tags, get_sample_fields, read_case, read_records
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case, Sample

FAULT = RowFault(place="cases, row 2", message="is no case")
EASY, HARD = (Sample(question=level, tags={"level": level}) for level in ("easy", "hard"))


def test_rows_of_every_kind_in_one_list():
    """Cases, samples, mappings and faulty rows are read in order; a wrong row is a fault with its number."""
    rows = [Case(id="a", question="A?"), Sample(id="b", question="B?"), {"id": "c", "query": "C?"}, FAULT, 7]
    *read, fault, number = read_records(rows)
    assert [(case.id, case.question) for case in read] == [("a", "A?"), ("b", "B?"), ("c", "C?")]
    assert all(type(case) is Case for case in read)
    assert fault == FAULT
    assert (number.place, number.message) == ("cases, row 5", "must be an object with a question, got a number")


def test_the_name_and_method_of_records():
    """Messages use the given name, and a row without a method gets the given one."""
    first, second = read_records([{"question": "?", "method": "own"}, {"question": 3}], "samples", "walk")
    assert (first.method, second.place) == ("own", "samples, row 2")
    (case,) = read_records([{"question": "?"}], method="walk")
    assert case.method == "walk"


def test_no_records():
    """No case is an error, unless cases are not required."""
    with pytest.raises(DataError, match="cases: holds no cases"):
        list(read_records([]))
    assert list(read_records([], required=False)) == []


@pytest.mark.parametrize("no_list", ["cases.jsonl", {"question": "?"}, Case(question="?")])
def test_one_thing_is_no_list(no_list):
    """A path, one mapping and one case are refused: a list is expected."""
    with pytest.raises(DataError, match="cases"):
        read_records(no_list)


def test_one_case():
    """`as_case` reads one mapping; a faulty one is an error."""
    assert as_case({"input": "Who?", "actual_output": "Ada"}) == Case(question="Who?", answer="Ada")
    with pytest.raises(DataError, match="question: is missing"):
        as_case({"answer": "Ada"})


def test_a_faulty_row_is_no_case():
    """The fault of a row is raised with its place; a case is returned itself."""
    case = Case(question="?")
    assert read_case(case) is case
    with pytest.raises(DataError, match="cases, row 2: is no case"):
        read_case(FAULT)


def test_a_dumped_case_reads_back():
    """A case survives its JSON; half a surrogate pair cannot be stored."""
    case = Case(id="q", question="Wer?", chunks=["é"], tags={"a": "b"})
    assert Case.model_validate_json(dump_case(case)) == case
    with pytest.raises(DataError, match="surrogate"):
        dump_case(Case.model_construct(question="\ud800"))


def test_the_fields_of_a_sample():
    """A case gives only the fields that a sample has too."""
    fields = get_sample_fields(Case(id="q", question="?", answer="a", method="m"))
    assert fields.keys() == Sample.model_fields.keys()


def test_filters_keep_samples_and_faults():
    """A sample must have an accepted value of each tag; faulty rows pass; no match lists what there is."""
    assert [*filter_by_tags([EASY, FAULT, HARD], {"level": ["hard", "other"]})] == [FAULT, HARD]
    assert [*filter_by_tags([EASY, HARD], {})] == [EASY, HARD]
    with pytest.raises(DataError, match=r"\(level is easy, hard; kind is in no sample\)"):
        [*filter_by_tags([EASY, HARD], {"level": ["none"], "kind": ["x"]})]


def test_a_table_by_column_is_read_at_every_door(tmp_path):
    """Lists of cells, as `Dataset.to_dict` has them, are the rows that they are as records, and as a JSON file."""
    rows = [
        {"id": "a", "user_input": "Who?", "retrieved_contexts": ["By Ada.", "It rained."], "response": "Ada"},
        {"id": "b", "user_input": "When?", "retrieved_contexts": [], "response": None},
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    path = tmp_path / "columns.json"
    path.write_text(json.dumps(columns), encoding="utf-8")
    expected = [*read_records(rows)]
    assert [case.id for case in expected] == ["a", "b"]
    assert [*read_records(columns)] == [*read_cases(path)] == expected
    assert [*read_records({name: pd.Series(cells) for name, cells in columns.items()})] == expected
    by_id = {row["id"]: {name: cell for name, cell in row.items() if name != "id"} for row in rows}
    path.write_text(json.dumps(by_id), encoding="utf-8")
    assert [*read_records(by_id)] == [*read_cases(path)] == expected
    assert [*read_records({"0": rows[0], "1": rows[1]})] == expected
    # Columns of different lengths are no table, and neither is one case.
    for several in ({**columns, "response": ["Ada"]}, {"question": "Who?"}, {"question": []}):
        with pytest.raises(DataError, match="expected several, got dict"):
            read_records(several)


@pytest.mark.parametrize("is_arrow", [False, True])
def test_a_table_with_a_name_twice_is_refused(is_arrow):
    """Of two columns of one name neither is left out in silence, in Python as in a file."""
    table = pd.DataFrame([["Who?", "Ada", "Bob"]], columns=["question", "answer", "answer"])
    columns = [pa.array(["Who?"]), pa.array(["Ada"]), pa.array(["Bob"])]
    with pytest.raises(DataError, match="answer is there twice; rename or drop one"):
        [*read_records(pa.table(columns, names=[*table]) if is_arrow else table)]


def test_an_index_that_is_a_column_too_is_read_once():
    """`set_index(drop=False)` doubles a column; if index and column differ, nobody can tell which is meant."""
    table = pd.DataFrame({"id": ["a", "b"], "question": ["Who?", "When?"]})
    assert [case.id for case in read_records(table.set_index("id", drop=False))] == ["a", "b"]
    table.index = pd.Index(["c", "d"], name="id")
    with pytest.raises(DataError, match="id is a column of the table and its index, with other values"):
        [*read_records(table)]


@pytest.mark.parametrize("read", [csv.DictReader, lambda file: [*csv.DictReader(file)]])
def test_cells_beyond_the_header_are_a_fault(read):
    """An answer is never cut at a comma that is not in quotes: the row is reported as in a file."""
    fault, case = read_records(read(io.StringIO("question,answer\nWhere?,Paris, France\nWho?,Ada\n")))
    assert (fault.message, case.answer) == ("has a cell beyond the last column:  France", "Ada")


def test_ids_of_a_program_are_texts():
    """A UUID and a path are read as the texts that a file has in their place."""
    (case,) = read_records([{"id": UUID(int=5), "question": "Who?", "retrieved_ids": [PurePosixPath("docs/a.md")]}])
    assert (case.id, case.chunks[0].doc_id) == ("00000000-0000-0000-0000-000000000005", "docs/a.md")


class Split:
    """A stand-in for a split of a data set of the Hugging Face hub, which is not installed here."""

    def __init__(self, rows):
        self._rows = rows
        self.column_names = [*rows[0]]

    def __iter__(self):
        return iter(self._rows)


def test_a_data_set_of_several_splits_names_them():
    """A split is read as rows; of several, one has to be chosen."""
    split = Split([{"question": "Who?"}])
    assert [case.question for case in read_records(split)] == ["Who?"]
    with pytest.raises(
        DataError, match=r"cases: has several splits \('train', 'test'\); pass one of them, such as data"
    ):
        read_records({"train": split, "test": split})
