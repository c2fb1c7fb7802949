"""Templates of requests: fields and variables are inserted as data, whatever they contain."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import MethodError
from greval.methods.templates import check_fields, fill_content, fill_url, find_variables, read_variables
from greval.records.case import Sample


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"), min_size=1))
def test_no_question_breaks_out(question, tag):
    """Whatever a sample holds, the body keeps its shape, and the address its host and path."""
    sample = Sample(question=question, tags={"t": tag})
    filled = fill_content({"a": "{question}", "b": "x{question}y{tags.t}", "c": ["{tags.t}"]}, sample, {"K": "k"})
    assert json.loads(json.dumps(filled)) == {"a": question, "b": f"x{question}y{tag}", "c": [tag]}
    url = fill_url("http://host/{tags.t}/ask?q={question}", sample)
    assert url.startswith("http://host/")
    assert (url.count("/"), url.count("?"), url.count("#"), url.count("&")) == (4, 1, 0, 0)


@given(st.recursive(st.none() | st.integers() | st.text(st.sampled_from("ab c"), max_size=5), st.lists))
def test_content_without_placeholders_is_sent_unchanged(content):
    """Only placeholders are replaced, at any depth."""
    assert fill_content({"body": content}, Sample(question="Who?"), {}) == {"body": content}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{question}}", "{question}"),
        ("{question}", "Who?"),
        ("{gold.essential_docs}", ["d1"]),
        ("{tags.missing}", None),
        ("docs: {gold.essential_docs}", 'docs: ["d1"]'),
        ("Bearer ${KEY}", "Bearer secret"),
        ("{question} and {{question}} of ${KEY}", "Who? and {question} of secret"),
        ("{ question } {} $KEY", "{ question } {} $KEY"),
    ],
)
def test_placeholders(text, filled):
    """A text that is one placeholder becomes the value itself; within a text, values are text or JSON."""
    sample = Sample(question="Who?", gold={"essential_docs": ["d1"]})
    assert fill_content(text, sample, {"KEY": "secret"}) == filled


def test_a_missing_field_within_a_text_is_an_error():
    """A request with a hole in it is not sent."""
    with pytest.raises(MethodError, match=r"no tags\.lang.*'in \{tags\.lang\}'"):
        fill_content("in {tags.lang}", Sample(question="Who?"), {})


def test_variables_are_found_at_any_depth_and_read_once_set(monkeypatch):
    """All variables of a body are found; one that is not set, or that a header cannot hold, is named."""
    assert find_variables({"a": ["${ONE}", {"b": "x ${TWO} ${ONE}"}], "c": 3}) == {"ONE", "TWO"}
    monkeypatch.setenv("ONE", " 1 ")
    monkeypatch.delenv("TWO", raising=False)
    assert read_variables({"ONE"}, "rag") == {"ONE": "1"}
    with pytest.raises(MethodError, match=r"rag: \$\{TWO\} is not set.*export TWO="):
        read_variables({"ONE", "TWO"}, "rag")
    for value in ("a\nb", "schlüssel"):
        monkeypatch.setenv("TWO", value)
        with pytest.raises(MethodError, match="TWO") as error:
            read_variables({"TWO"}, "rag")
        assert value not in str(error.value)


def test_unknown_fields_are_named_with_the_nearest():
    """Every unknown field is reported; tags may have any name."""
    faults = list(check_fields("{quesion} {gold.essential_doc} {tags.any} {{free}} ${KEY}"))
    assert [text.partition("; did you mean ")[2] for text in faults] == ["question?", "essential_docs?"]
