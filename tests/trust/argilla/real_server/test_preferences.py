"""People's preferences on a real server: both answers are seen, and what people prefer comes back."""

from __future__ import annotations

import pytest

from greval import evaluate
from greval.metrics.library import load_metric
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


@pytest.mark.nightly
def test_a_person_sees_both_answers_side_by_side(owner, browse, tmp_path):
    """On Argilla's page both answers are in columns of the same height below the question, and markup is text."""
    first = "<script>document.title = 'hit'</script> </td></table> {{record.fields}} $& and\n\n  an indented line"
    second = "<img src=x onerror=\"document.title = 'hit'\"> ${'$'}$ and B"
    pair = {
        "id": "q1",
        "question": "Who owns the boat?",
        "method": "</script><b>a vs b",
        "answer": first,
        "other_response": {"method": "b", "answer": second},
    }
    run = tmp_path / "run"
    evaluate([pair], [load_metric("comprehensiveness")], ScriptedJudge([{"reason": "r", "value": "A"}]), out=run)
    pushed = push_to_argilla(run, "comprehensiveness", dataset="d", workspace=owner.workspace, min_submitted=1)
    page = browse(pushed.page, owner.person(), "Who owns the boat", [["Submit", "Tie"]])
    left, right = page["done"][0]["cells"]
    assert left["text"].splitlines()[0] == first.splitlines()[0]
    assert left["text"].split() == first.split()
    assert right["text"] == second
    assert left["top"] == right["top"]
    assert left["right"] <= right["left"]
    assert page["title"] != "hit"
    assert pull_from_argilla(run, dataset="d", workspace=owner.workspace).unanswered == 0
    assert agreement(run, "comprehensiveness").groups[0].judge.figures["accuracy"].value == 1.0
