"""Metrics derived from the verdicts of others: in runs, as runnables, with failures, changes, kills and dry runs."""

from __future__ import annotations

from tone_metrics import PASSAGES, by_metric, cases

from greval import DerivedMetric, MeasureScale, Skipped, ValueScale, compile_metric, evaluate, forecast
from greval.records.case import Case
from greval.records.metric_input import compute_keys
from greval.records.result import Judgement, Scored
from greval.testing import ScriptedJudge


def share_good(case, verdicts):
    """Return the share of good chunks, skipped if the chunks are."""
    outcome = verdicts["passages"]
    if isinstance(outcome, Skipped):
        return Skipped(reason=f"passages is skipped: {outcome.reason}")
    numbers = [judgement.number for judgement in outcome.judgements]
    return sum(numbers) / len(numbers), f"{sum(numbers):g} of {len(numbers)} chunks are good"


SHARE = DerivedMetric(
    name="share",
    description="The share of good chunks.",
    built_on=["passages"],
    scale=MeasureScale(high=1.0),
    compute=share_good,
)
TWICE = DerivedMetric(
    name="twice",
    description="Twice the share.",
    built_on=["share"],
    scale=MeasureScale(high=2.0),
    compute=lambda case, verdicts: 2 * verdicts["share"].judgements[0].number,
)


def edit(record, **fields):
    return record.model_copy(update=fields)


def outcomes(run, metric="share"):
    return {result.sample_id: result.outcome for result in run.results() if result.metric == metric}


def test_it_is_computed_from_the_verdicts_of_the_same_case(tmp_path):
    """A run judges what a metric is derived from first, and computes it from the verdicts on the same case."""
    one = cases(1)[0]
    judge = ScriptedJudge(by_metric)
    run = evaluate([one, Case(id="q1", question="?", chunks=["a"])], [TWICE, PASSAGES, SHARE], judge, out=tmp_path)
    assert {key: outcome.judgements[0].number for key, outcome in outcomes(run).items()} == {"q0": 0.5, "q1": 1.0}
    assert {key: outcome.judgements[0].value for key, outcome in outcomes(run, "twice").items()} == {"q0": 1, "q1": 2}
    assert outcomes(run)["q0"].judgements[0].reason == "1 of 2 chunks are good"
    assert {result.judge for result in run.results() if result.metric == "share"} == {""}
    assert len(judge.calls) == 2


def test_a_runnable_judges_what_it_is_derived_from():
    """`compile_metric` gives the result that a run gives, with the results of the other metrics in `built_on`."""
    judge = ScriptedJudge(by_metric)
    result = compile_metric(TWICE, judge, built_on=[PASSAGES, SHARE]).invoke(cases(1)[0])
    assert (result.value, [below.metric for below in result.built_on]) == (1.0, ["passages", "share"])
    assert (result.tier, len(judge.calls)) == ("computed", 1)


def test_no_judge_is_needed_if_all_are_computed():
    """A metric that is derived from computed metrics alone is compiled without a judge."""
    slow = DerivedMetric(
        name="slow",
        description="Whether it took more than a second.",
        built_on=["latency"],
        scale=ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."}, better="lower"),
        compute=lambda case, verdicts: verdicts["latency"].judgements[0].number > 1,
    )
    assert compile_metric(slow).invoke({"question": "?", "usage": {"latency": 2}}).value == 1


def test_a_skipped_verdict_reaches_the_function(tmp_path):
    """If the other metric is skipped, the function sees why, and is not called for nothing."""
    (case,) = cases(1)
    run = evaluate([edit(case, chunks=None)], [PASSAGES, SHARE], ScriptedJudge(by_metric), out=tmp_path)
    assert outcomes(run)["q0"] == Skipped(reason="passages is skipped: chunks is not recorded")


def test_any_failure_below_is_a_failure(tmp_path):
    """If even one item could not be judged, the figure would be of others: the result is a failure, never a number."""
    run = evaluate(cases(1), [PASSAGES, SHARE, TWICE], ScriptedJudge(only_good), out=tmp_path)
    assert len(outcomes(run, "passages")["q0"].judgements) == 1
    for name, below in (("share", "passages"), ("twice", "share")):
        outcome = outcomes(run, name)["q0"]
        assert outcome.error.kind == "dependency"
        assert outcome.error.message.startswith(f"it builds on {below}, which failed here: ")
    second_run = evaluate(cases(1), [PASSAGES, SHARE, TWICE], ScriptedJudge(by_metric), out=tmp_path)
    assert outcomes(second_run, "twice")["q0"].judgements[0].number == 1.0


def test_an_exception_of_the_function_is_a_row(tmp_path):
    """A fault of the function is a failure of the case that names the function; the others are computed."""
    faulty = edit(SHARE, compute=lambda case, verdicts: 1 / 0)
    run = evaluate(cases(1), [PASSAGES, faulty], ScriptedJudge(by_metric), out=tmp_path)
    assert "raised ZeroDivisionError" in outcomes(run)["q0"].error.message
    assert outcomes(run, "passages")["q0"].status == "scored"


def test_changed_verdicts_are_computed_from_again(tmp_path):
    """A run continues with stored results if nothing changed, and computes again if a verdict did."""
    scripts = [by_metric, by_metric, lambda _: by_metric_all("Bad")]
    edited = edit(PASSAGES, description="Each chunk, strictly.")
    values = []
    for script, passages in zip(scripts, (PASSAGES, PASSAGES, edited), strict=True):
        judge = ScriptedJudge(script)
        run = evaluate(cases(1), [passages, SHARE], judge, out=tmp_path)
        values.append((outcomes(run)["q0"].judgements[0].number, run.progress.kept, len(judge.calls)))
    assert values == [(0.5, 0, 1), (0.5, 2, 0), (0.0, 0, 1)]


def only_good(messages):
    """Leave out the chunks that are not good, also if asked for them again."""
    return {"judgements": [verdict for verdict in by_metric(messages)["judgements"] if verdict["value"] == "Good"]}


def by_metric_all(value):
    return {"judgements": [{"item": n, "reason": "r", "value": value} for n in (1, 2)]}


def test_the_key_holds_the_verdicts():
    """Equal cases with different verdicts never share a result; without verdicts the key is what it was."""
    case = Case(question="?")
    good, bad = (
        {"passages": Scored(judgements=(Judgement(value=value, reason="r", item="c1"),))} for value in ("Good", "Bad")
    )
    keys = [compute_keys(case, SHARE, "f", verdicts) for verdicts in (good, bad, {}, None)]
    assert len({content for content, _ in keys}) == len({key for _, key in keys}) == 3
    assert keys[2] == keys[3]


def test_its_fingerprint_covers_what_it_is_derived_from():
    """An edited metric below, or another version of the code, is another definition."""

    def mark(metric, below=PASSAGES):
        return compile_metric(metric, ScriptedJudge(by_metric), built_on=[below]).fingerprint

    edited = edit(PASSAGES, steps=("Read twice.",))
    marks = {mark(SHARE), mark(SHARE, edited), mark(edit(SHARE, version="2")), mark(edit(SHARE, name="other"))}
    assert len(marks) == 4
    assert mark(SHARE) == mark(edit(SHARE))


def test_a_dry_run_finds_stored_results(tmp_path):
    """A forecast of a finished run expects nothing more: it finds derived results by the stored verdicts."""
    judge = ScriptedJudge(by_metric)
    evaluate(cases(2), [PASSAGES, SHARE], judge, out=tmp_path)
    estimate = forecast(cases(2), [PASSAGES, SHARE], judge, out=tmp_path)
    assert {part.metric: (part.kept, part.judged) for part in estimate.expected} == {
        "passages": (2, 0),
        "share": (2, 0),
    }
