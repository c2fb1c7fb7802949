"""Cases on their way into a run: faults as errors, cases as JSON and samples, and the selection by tags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets import RowFault
from greval.datasets.case_records import dump_case, filter_by_tags, get_sample_fields, read_case
from greval.errors import DataError
from greval.records.case import Case, Sample

TEXT = st.text(st.characters(codec="utf-8"), min_size=1)
TAGS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("123"))
FAULT = RowFault(place="a.csv:2", message="question: is missing")


def test_a_fault_is_an_error_with_its_place():
    """A case is returned as it is; a row that could not be read is an error that names the row."""
    case = Case(question="Who?")
    assert read_case(case) is case
    with pytest.raises(DataError, match=r"a\.csv:2: question: is missing"):
        read_case(FAULT)


@given(st.builds(Case, question=TEXT, answer=TEXT | st.none(), tags=TAGS))
def test_a_dumped_case_is_read_back(case):
    """The JSON of a case holds all of it; its sample has no field of the response."""
    assert Case.model_validate_json(dump_case(case)) == case
    sample = Sample(**get_sample_fields(case))
    assert (sample.question, sample.tags) == (case.question, case.tags)
    assert sample == Sample(**get_sample_fields(sample))


def test_half_a_surrogate_pair_cannot_be_stored():
    """Text that is not valid Unicode is refused before a log would fail on it."""
    with pytest.raises(DataError, match="valid Unicode"):
        dump_case(Case.model_construct(question="half \ud83d"))


@given(st.lists(TAGS), st.dictionaries(st.sampled_from("ab"), st.sets(st.sampled_from("123"), min_size=1)))
def test_samples_are_selected_by_all_tags(rows, filters):
    """A sample needs an accepted value of every tag; unreadable rows pass; nothing selected is an error."""
    samples = [Sample(question=str(n), tags=tags) for n, tags in enumerate(rows)]
    wanted = [one for one in samples if all(one.tags.get(tag) in values for tag, values in filters.items())]
    found = filter_by_tags([FAULT, *samples], filters)
    assert next(found) is FAULT
    if wanted or not filters:
        assert [*found] == wanted
    else:
        with pytest.raises(DataError, match="no sample has these tags together"):
            list(found)


def test_samples_are_selected_lazily():
    """Rows are read only as they are needed."""

    def rows():
        yield Sample(question="Who?", tags={"a": "1"})
        raise AssertionError("was read")

    assert next(filter_by_tags(rows(), {"a": {"1"}})).question == "Who?"
