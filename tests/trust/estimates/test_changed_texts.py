"""Estimates take no label of another text than the judge was shown."""

from __future__ import annotations

import re

from greval import Case, CategoricalMetric, evaluate
from greval.records.annotation import Annotation
from greval.runs.store import Store
from greval.testing import ScriptedJudge
from greval.trust.annotations.judged_items import hash_contents
from greval.trust.estimates.api import estimate

TONE = CategoricalMetric(
    name="tone", description="d", needs=("answer",), steps=["s"], categories={"Polite": "", "Rude": ""}
)


def judged(folder, changed=()):
    """Judge forty answers into a run folder, some of them with another text; every second is said to be rude."""
    cases = [
        Case(id=f"q{n}", method="m", question="?", answer=f"{'new' if n in changed else 'old'} {n}") for n in range(40)
    ]

    def answer(messages):
        return {
            "reason": "r",
            "value": "Rude" if int(re.findall(r"(?:new|old) (\d+)", messages[-1].text)[-1]) % 2 else "Polite",
        }

    evaluate(cases, [TONE], ScriptedJudge(answer), out=folder)
    return folder


def test_a_label_of_another_text_is_no_label(tmp_path):
    """It is counted as left out, and its thing as drawn without a label; without hashes every label counts."""
    run = judged(tmp_path / "run")
    with Store.open(run) as store:
        seen = hash_contents(store, "tone")
    rows = [
        Annotation(sample_id=f"q{n}", method=method, metric="tone", annotator="ana", value="Polite", content=content)
        for n, method, content in ((n, "m" if n % 3 else "", seen[f"q{n}", "m", None]) for n in range(20))
    ]
    assert estimate(run, "tone", rows).labels == 20
    judged(run, {1, 2, 3, 30})
    result = estimate(run, "tone", rows)
    assert (result.labels, result.not_used.another_text) == (17, 3)
    assert any(line.startswith("3 of 20 sampled items have no label") for line in result.warnings)
    plain = [row.model_copy(update={"content": None}) for row in rows]
    assert estimate(run, "tone", plain).labels == 20
