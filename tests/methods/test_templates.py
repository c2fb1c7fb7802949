"""Templates of requests: fields and variables are inserted as data, whatever they contain."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from greval import Sample
from greval.methods.templates import fill_content, fill_url


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"), min_size=1))
@settings(max_examples=200)
def test_no_question_breaks_out(question, tag):
    """Whatever a sample holds, the body keeps its shape, and the address its host and path."""
    sample = Sample(question=question, tags={"t": tag})
    filled = fill_content({"a": "{question}", "b": "x{question}y{tags.t}", "c": ["{tags.t}"]}, sample, {"K": "k"})
    assert json.loads(json.dumps(filled)) == {"a": question, "b": f"x{question}y{tag}", "c": [tag]}
    url = fill_url("http://host/{tags.t}/ask?q={question}", sample)
    assert url.startswith("http://host/")
    assert (url.count("/"), url.count("?"), url.count("#"), url.count("&")) == (4, 1, 0, 0)
