"""Metrics with a formula: their files, their faults, and their results in runs, comparisons, gates and replays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

from greval import (
    FormulaMetric,
    Skipped,
    compile_metric,
    evaluate,
    load_metric,
    load_metrics,
    parse_metric,
    write_metric,
)
from greval.errors import DefinitionError
from greval.metrics.dependencies import order_metrics
from greval.metrics.fitting import find_fitting_metrics
from greval.metrics.library import load_folder
from greval.runs.run_reader import find_directions, read_metrics
from greval.runs.store import Store
from greval.testing import ScriptedJudge

QUALITY = FormulaMetric(
    name="quality",
    description="Good passages and a good answer, nothing if the answer is rude.",
    formula="0.5 * passages + 0.5 * fit if tone == 'Polite' else 0",
    metrics={"fit": "built"},
    pass_if=">= 0.7",
)
ALL = [QUALITY, PASSAGES, BUILT, TONE]
FILE = """\
name: release_quality
description: Right, found and grounded.
formula: >-
  0.7 * right + 0.3 * found
  if grounded >= 0.5 else 0
metrics: {right: correctness, found: ndcg@10, grounded: faithfulness}
scale: {low: 0, high: 1}
pass: ">= 0.7"
"""


def edit(**fields):
    return FormulaMetric.model_validate({**QUALITY.model_dump(mode="json"), **fields})


def results(run, metric="quality"):
    return {result.sample_id: result for result in run.results() if result.metric == metric}


def test_it_is_computed_with_its_reason(tmp_path):
    """A result is the value of the formula; its reason is the formula with the numbers, and what they are."""
    run = evaluate(cases(1), ALL, ScriptedJudge(by_metric), out=tmp_path)
    (judgement,) = results(run)["q0"].judgements
    assert judgement.number == 0.75
    assert judgement.reason == (
        "0.5 * 0.5 + 0.5 * 1 if \"Polite\" == 'Polite' else 0 = 0.75, "
        "with passages = 0.5 (mean of 2 items), fit = 1, tone = 1 (Polite)"
    )


def test_a_runnable_needs_the_judge_of_its_parts():
    """Compiled alone, it judges what it is made of, and has these results in `built_on`."""
    result = compile_metric(QUALITY, ScriptedJudge(by_metric), built_on=ALL[1:]).invoke(cases(1)[0])
    assert (result.value, [below.metric for below in result.built_on]) == (0.75, ["passages", "tone", "built"])


@given(
    st.sampled_from(["a + b", "a if b else 0", "mean(a, b)", 'a if b == "x: {y}" else 1']),
    st.floats(-5, 0).map(lambda number: round(number, 2)),
    st.none() | st.integers(1, 9),
    st.sampled_from(["", "s"]),
    st.sampled_from(["higher", "lower"]),
)
def test_any_metric_reads_back(formula, low, high, unit, better):
    """Whatever its formula and scale, a metric is written and read back as it was."""
    scale = {"low": low, "high": high, "unit": unit, "better": better}
    metric = FormulaMetric(name="m", description="d: {x}", formula=formula, metrics={"a": "ndcg@10"}, scale=scale)
    assert parse_metric(write_metric(metric)) == metric


def test_all_faults_of_a_file_with_their_lines():
    """Every fault is reported at once, each with its line, and those of the formula with their columns."""
    text = FILE.replace("grounded >=", "groundd ** 2 + len(found) >=").replace('">= 0.7"', '"0.7"')
    text = text.replace("{low: 0, high: 1}", "{low: 0, hgh: 1}") + "needs: [answer]\ncolour: red\n"
    with pytest.raises(DefinitionError) as caught:
        parse_metric(text, "q.yaml")
    faults = [
        "q.yaml:3: formula: column 30: 'groundd ** 2': expected + - * or /",
        "q.yaml:3: formula: column 45: 'len' is no function of formulas; known: ",
        "q.yaml:7: scale.hgh: unknown; did you mean high?",
        "q.yaml:8: pass: has no sign; write < <= > or >= and a number, such as '>= 0.7', got '0.7'",
        "q.yaml:9: needs: is read by judges only, and a formula needs none; take it out, or the formula",
        "q.yaml:10: colour: unknown; known: name, description, formula, metrics, scale, pass",
    ]
    assert len(caught.value.faults) == len(faults)
    assert all(map(str.startswith, caught.value.faults, faults)), caught.value.faults


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"formula": "1 + 2", "metrics": {}}, "formula: names no metric; write one such as"),
        (
            {"metrics": {"fit": "built", "more": "x"}},
            "metrics.more: is not in the formula; use it there, or take it out",
        ),
        ({"formula": "quality + fit"}, "formula: reads the metric itself; name others"),
    ],
)
def test_what_does_not_fit_together(fields, fault):
    """A formula without a metric, a name that it does not use and one that is its own are refused."""
    with pytest.raises(ValueError, match=fault.replace(".", r"\.")):
        edit(**fields)


@pytest.mark.parametrize(
    ("formula", "fault"),
    [
        ("fit if tone == 'Polit' else 0", "column 8: 'Polit' is no category of tone; did you mean Polite?"),
        (
            "fit if passages == 'Good' else 0",
            "column 8: passages judges each of the chunks, so that it has no one category",
        ),
        ("fit == 'Yes'", "column 1: built gives numbers, not categories; compare it with one"),
    ],
)
def test_it_must_fit_the_metrics_that_it_names(formula, fault):
    """A category that a metric does not have is found before anything is judged."""
    with pytest.raises(DefinitionError, match=r"quality: formula: " + fault):
        order_metrics([edit(formula=formula), PASSAGES, BUILT, TONE])


def test_categories_without_numbers_are_no_numbers():
    """A metric whose categories have no scores can only be compared."""
    bare = TONE.model_copy(
        update={"scale": type(TONE.scale).model_validate({"categories": {"Polite": "", "Rude": ""}})}
    )
    with pytest.raises(DefinitionError, match="tone has no numbers; compare its category, as in tone == 'Polite'"):
        order_metrics([edit(formula="tone + fit"), BUILT, bare])


def test_no_value_is_a_failure(tmp_path):
    """A division by 0 and a value off the scale are failures of the case with the numbers, never a number."""
    divided = edit(name="divided", formula="passages / (fit - 1)")
    large = edit(name="large", formula="passages + fit")
    run = evaluate(cases(1), [divided, large, *ALL[1:]], ScriptedJudge(by_metric), out=tmp_path)
    error = results(run, "divided")["q0"].outcome.error
    assert (error.kind, error.message) == (
        "error",
        "the formula has no value: 0.5 / (1 - 1): it divides by 'fit - 1', at column 13, which is 0",
    )
    error = results(run, "large")["q0"].outcome.error
    assert error.kind == "off_scale"
    assert error.message.startswith(
        "the formula returned a value that is not on the scale: 1.5 is not a number from 0.0"
    )


def test_skipped_and_failed_parts(tmp_path):
    """A skipped part that is read skips the result with the reason; one that failed makes it fail."""
    (case,) = cases(1)
    bare = case.model_copy(update={"chunks": None})
    run = evaluate([bare], ALL, ScriptedJudge(by_metric), out=tmp_path / "a")
    assert results(run)["q0"].outcome == Skipped(reason="passages is skipped: chunks is not recorded")
    run = evaluate([case], ALL, ScriptedJudge(["no JSON"]), out=tmp_path / "b")
    assert results(run)["q0"].outcome.error.kind == "dependency"


def test_the_formula_is_part_of_the_fingerprint(tmp_path):
    """An edited formula is computed again from the stored verdicts; an edit of `pass` changes nothing."""
    evaluate(cases(2), ALL, ScriptedJudge(by_metric), out=tmp_path)
    same = evaluate(cases(2), [edit(**{"pass": ">= 0.9"}), *ALL[1:]], ScriptedJudge([]), out=tmp_path)
    assert same.progress.kept == 8
    edited = edit(formula="0.2 * passages + 0.8 * fit if tone == 'Polite' else 0")
    run = evaluate(cases(2), [edited, *ALL[1:]], ScriptedJudge([]), out=tmp_path)
    assert results(run)["q0"].value == pytest.approx(0.9)
    assert run.progress.kept == 6


def test_it_finds_the_metrics_beside_its_file(tmp_path):
    """A file is found in its folder, by name and as a file, with the metrics of its folder that it names."""
    for metric in ALL:
        (tmp_path / f"{metric.name}.yaml").write_text(write_metric(metric), encoding="utf-8")
    assert load_folder(tmp_path)["quality"] == QUALITY
    assert load_metric("quality", tmp_path) == QUALITY
    assert [metric.name for metric in load_metrics([tmp_path / "quality.yaml"])][-1] == "quality"


def test_it_fits_where_its_parts_do():
    """It fits cases that all of its parts fit."""
    fitting = find_fitting_metrics(["question", "answer"], [parse_metric(FILE)])
    assert fitting.computed == ()
    everything = ["question", "answer", "expected_answer", "chunks", "chunks.doc_id", "gold.essential_docs"]
    assert find_fitting_metrics(everything, [parse_metric(FILE)]).derived == ("release_quality",)


def test_what_a_judge_has_no_part_in(tmp_path):
    """A figure is noise-free if neither it nor what it is computed from is judged; else its noise counts."""
    calm = edit(name="calm", formula="1 if latency < 9 else 0", metrics={})
    above = edit(name="above", formula="0.5 * quality", metrics={})
    run = evaluate(cases(1), [calm, above, *ALL, load_metric("latency")], ScriptedJudge(by_metric), out=tmp_path)
    with Store.open(run.folder) as store:
        directions = find_directions(read_metrics(store))
    assert {name: directions[name].computed for name in ("latency", "calm", "quality", "above", "tone")} == {
        "latency": True,
        "calm": True,
        "quality": False,
        "above": False,
        "tone": False,
    }
