"""Replay: stored replies are read again by edited definitions, with the outcomes of a fresh run and without a call."""

from __future__ import annotations

import os
import signal
from collections import Counter
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killing import CONTEXT
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

from greval import DerivedMetric, MeasureScale, PreferenceMetric, duel, evaluate, load_metric, load_metrics, replay
from greval.errors import DefinitionError, StoreError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.case import Case
from greval.records.metric import build_metric
from greval.runs.evaluation import evaluate_async
from greval.runs.manifest import count_replayed, read_replayed
from greval.runs.replay import preview_replay
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.testing import ScriptedJudge

POLITE = {"reason": "It thanks.", "value": "Polite"}
SHARE = {
    "claims": {"means": "The claims", "each": {"claim": "the claim", "found": ["yes", "no"]}},
    "supported": {"share": "claims", "where": {"found": ["yes"]}},
}
CLEAR = PreferenceMetric(name="clarity", description="d", needs=["question", "answer"], steps=["s"])
ANSWERS = [
    Case(id=f"q{n}", question="Who?", method=name, answer=f"{name} {n}")
    for n in range(6)
    for name in ("flat", "local", "walk")
]


def edit(metric, **fields):
    return build_metric({**metric.model_dump(mode="json", by_alias=True), **fields})


def scored(metric, *scores):
    """Return the metric with other scores of its categories."""
    named = zip(metric.scale.categories, scores, strict=True)
    return edit(metric, scale={"categories": {one.name: {"means": one.means, "score": score} for one, score in named}})


def by_place(run):
    return {(result.sample_id, result.method, result.metric): result for result in run.results()}


def outcomes(run):
    return {place: result.outcome for place, result in by_place(run).items()}


def answer_by_text(replies):
    """Answer by the text of the case, always in the same way, so that a fresh run gets the same replies."""

    def answer(messages):
        text = "".join(message.text for message in messages)
        reply = replies[sum(map(ord, text)) % len(replies)]
        return by_metric(messages) if reply == "right" else reply

    return answer


def prefer_at_random():
    """Return a function that gives any verdict by the text and by how often it was asked, so that replies differ."""
    times = Counter()

    def answer(messages):
        text = messages[-1].text
        times[text] += 1
        return {"reason": "r", "value": ("A", "B", "Tie")[crc32(f"{times[text]} {text}".encode()) % 3]}

    return answer


REPLIES = st.lists(
    st.sampled_from(["right", "nonsense", '{"reason": "r", "value": "Rude"}', '{"reason": "r", "value": "Other"}']),
    min_size=1,
    max_size=6,
)


@settings(max_examples=8)
@given(REPLIES, st.sampled_from([1, 3]), st.floats(0.5, 1), st.floats(0, 0.5))
def test_a_replay_gives_what_a_fresh_run_gives(tmp_path_factory, replies, repeats, high, low):
    """Without a change all outcomes are equal; with other scores they are those of a new run of the same replies."""
    folder = tmp_path_factory.mktemp("replay")
    judge = ScriptedJudge(answer_by_text(["right", *replies]))
    metrics = [TONE, PASSAGES, BUILT]
    run = evaluate(cases(4), metrics, judge, out=folder / "run", repeats=repeats)
    before, called = outcomes(run), len(judge.calls)
    done = replay(run)
    assert outcomes(done.run) == before
    assert {one.changed for one in done.replayed} | {one.missing for one in done.replayed} == {0}
    edited = [scored(TONE, high, low), scored(PASSAGES, high, low)]
    done = replay(run, edited)
    refused = {one.metric for one in done.refused}
    assert refused == ({"built"} - {call.metric for call in run.calls()})  # if no case reached its judge
    assert len(judge.calls) == called
    fresh = evaluate(cases(4), [*edited, BUILT], judge, out=folder / "fresh", repeats=repeats)
    found, expected = (
        {place: (one.outcome, one.fingerprint) for place, one in by_place(run).items() if place[2] not in refused}
        for run in (done.run, fresh)
    )
    assert found == expected


def test_a_replayed_run_says_so_and_costs_nothing(tmp_path):
    """Results name the fingerprint by which the judge was asked; the cost of the run and its calls are unchanged."""
    judge = ScriptedJudge(by_metric)
    run = evaluate(cases(3), [TONE], judge, out=tmp_path)
    (asked_fingerprint,) = {result.fingerprint for result in run.results()}
    (summary_before,) = run.summary()
    calls = [call.reply for call in run.calls()]
    for score in (0.9, 0.8):
        done = replay(run, [scored(TONE, score, 0)])
        (metric,) = done.replayed
        assert (metric.source, metric.changed, metric.unchanged, metric.missing) == (asked_fingerprint, 3, 0, 0)
        assert {result.replayed_from for result in run.results()} == {asked_fingerprint}
        assert {result.usage.calls for result in run.results()} == {0}
        (after,) = run.summary()
        assert (after.usage.calls, after.usage.input_tokens, after.planned) == (3, summary_before.usage.input_tokens, 3)
        assert after.mean == pytest.approx(score)
        assert [call.reply for call in run.calls()] == calls
        assert {call.fingerprint for call in run.calls()} == {asked_fingerprint}
    with Store.open(tmp_path) as store:
        assert set(read_replayed(store).values()) == {asked_fingerprint}


def test_the_same_command_finds_replayed_results(tmp_path):
    """An evaluation by the edited definition asks nothing, and so does one by the old definition."""
    judge = ScriptedJudge(by_metric)
    run = evaluate(cases(3), [TONE], judge, out=tmp_path)
    replay(run, [scored(TONE, 0.9, 0)])
    for metric in (scored(TONE, 0.9, 0), TONE):
        second_run = evaluate(cases(3), [metric], judge, out=tmp_path)
        assert (second_run.progress.scored, len(judge.calls)) == (3, 3)
        assert second_run.summary()[0].mean == metric.scale.categories[0].score


def test_shares_and_pass_are_read_again(tmp_path):
    """A share that counts otherwise is computed from the stored reply, and so is one that is new."""
    metric = edit(TONE, notes=SHARE)
    claims = [{"claim": "a", "found": "yes"}, {"claim": "b", "found": "no"}, {"claim": "c", "found": "no"}]
    judge = ScriptedJudge([{**POLITE, "claims": claims}])
    run = evaluate(cases(2), [metric], judge, out=tmp_path)
    notes = {**SHARE, "supported": {"share": "claims", "where": {"found": ["no"]}}}
    done = replay(run, [edit(metric, notes=notes, **{"pass": ">= 0.5"})])
    assert done.refused == ()
    shares = [result.judgements[0].notes["supported"] for result in run.results()]
    assert shares == [{"count": 2, "of": 3, "share": 2 / 3}] * 2


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"steps": ["Read twice."]}, "steps.0"),
        ({"steps": ["Read.", "Again."]}, "steps"),
        ({"description": "Another."}, "description"),
        ({"needs": ["answer"]}, "needs"),
        ({"instructions": "Be strict."}, "instructions"),
        ({"reason_depth": "detailed"}, "reason_depth"),
        ({"notes": {"hint": "What would help."}}, "notes.hint.means"),
        ({"scale": {"categories": {"Polite": "Kind.", "Rude": "Insults."}}}, "scale.categories.Polite.means"),
        ({"scale": {"categories": {"Rude": "Insults.", "Polite": "Courteous."}}}, "the order of its parts"),
        ({"judge": "openai:other"}, "its judge changed"),
    ],
)
def test_a_changed_prompt_is_refused_by_name(tmp_path, fields, named):
    """What changed is named, the results of the metric stay, and other metrics are replayed."""
    run = evaluate(cases(2), [TONE, PASSAGES], ScriptedJudge(by_metric), out=tmp_path)
    outcomes_before = outcomes(run)
    done = replay(run, [edit(TONE, **fields), scored(PASSAGES, 0.5, 0)])
    ((refused),) = done.refused
    assert (refused.metric, refused.named) == ("tone", True)
    assert named in refused.reason
    assert "greval evaluate" in refused.reason
    assert [part.metric for part in done.replayed] == ["passages"]
    after = outcomes(run)
    assert {key: part for key, part in after.items() if key[2] == "tone"} == {
        key: part for key, part in outcomes_before.items() if key[2] == "tone"
    }


def test_a_preview_says_what_a_replay_does(tmp_path):
    """It names what changed and what is refused, as the replay then does, and writes nothing."""
    run = evaluate(cases(2), [TONE, PASSAGES], ScriptedJudge(by_metric), out=tmp_path)
    figures_before = outcomes(run), run.summary()
    edited = [edit(TONE, steps=["Read twice."]), scored(PASSAGES, 0.5, 0)]
    replayable, refused = preview_replay(run, edited)
    assert (outcomes(run), run.summary()) == figures_before
    assert [(part.metric, part.changes, part.results) for part in replayable] == [
        ("passages", ("scale.categories.Good.score",), 2)
    ]
    done = replay(run, edited)
    assert refused == done.refused
    assert [(part.metric, part.changed) for part in done.replayed] == [("passages", 2)]
    assert [part.changes for part in preview_replay(run)[0]] == [(), ()]


def test_other_refusals(tmp_path):
    """No stored calls, a metric that the run does not have, a computed metric, and something that is no metric."""
    off = evaluate(cases(2), [TONE], ScriptedJudge(by_metric), out=tmp_path / "off", store_calls=False)
    (refused,) = replay(off).refused
    assert "--no-store-calls" in refused.reason
    assert not refused.named
    on = evaluate(cases(2), [TONE], ScriptedJudge(by_metric), out=tmp_path / "on")
    reasons = {
        refusal.metric: refusal.reason for refusal in replay(on, [PASSAGES, COMPUTED_METRICS["latency"]]).refused
    }
    assert "was not judged by it" in reasons["passages"]
    assert "computed" in reasons["latency"]
    with pytest.raises(DefinitionError):
        replay(on, ["tone"])
    with pytest.raises(StoreError):
        replay(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_results_without_stored_replies_are_refused(tmp_path):
    """If only some results have their calls, the metric is refused with the number of the others."""
    evaluate(cases(2), [TONE], ScriptedJudge(by_metric), out=tmp_path, store_calls=False)
    run = evaluate(cases(5), [TONE], ScriptedJudge(by_metric), out=tmp_path)
    (refused,) = replay(run, [scored(TONE, 0.5, 0)]).refused
    assert "the replies of 2 results are not stored" in refused.reason


async def test_a_stopped_run_stays_stopped(tmp_path):
    """What was never judged is still missing after a replay, and the same command judges it."""
    judge = ScriptedJudge(by_metric)
    run = await evaluate_async(cases(5), [TONE], judge, out=tmp_path, max_calls=2, concurrency=1)
    assert run.stopped
    edited = scored(TONE, 0.5, 0)
    replay(tmp_path, [edited])
    last_run = await evaluate_async(cases(5), [edited], judge, out=tmp_path)
    assert (last_run.progress.scored, len(judge.calls)) == (5, 5)


def _replay_until_killed(folder, at):
    result_count = 0

    def stop(_):
        nonlocal result_count
        result_count += 1
        if result_count == at:
            os.kill(os.getpid(), signal.SIGKILL)

    replay(folder, [scored(TONE, 0.5, 0)], on_progress=stop)


@pytest.mark.parametrize("at", [1, 5])
def test_a_killed_replay_changes_nothing(tmp_path, at):
    """Killed with -9 at any result, the run is as before, and the same replay again does all of it."""
    run = evaluate(cases(6), [TONE], ScriptedJudge(by_metric), out=tmp_path)
    figures_before = outcomes(run), run.summary()
    process = CONTEXT.Process(target=_replay_until_killed, args=(tmp_path, at))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert (outcomes(run), run.summary()) == figures_before
    with Store.open(tmp_path) as store:
        assert (count_replayed(store), read_replayed(store)) == ({}, {})
    done = replay(tmp_path, [scored(TONE, 0.5, 0)])
    assert [metric.changed + metric.unchanged for metric in done.replayed] == [6]
    assert {metric.judgements[0].number for metric in done.run.results()} == {0.5}
    assert done.run.summary()[0].planned == 6


def count_good(case, verdicts):
    return sum(judgement.number for judgement in verdicts["passages"].judgements)


GOOD = DerivedMetric(name="good", description="Sum.", built_on=["passages"], scale=MeasureScale(), compute=count_good)


def test_what_is_computed_from_replayed_verdicts_is_computed_again(tmp_path):
    """A ranking by judged relevance, and a derived metric that is given, follow the new scores; none is left behind."""

    def judge_chunks(messages):
        answer = by_metric(messages)
        for judgement in answer["judgements"]:
            judgement |= {"value": "Irrelevant" if judgement["value"] == "Bad" else "Relevant", "recommendations": "-"}
        return answer

    relevance = load_metric("chunk_evaluation")
    stricter = scored(relevance, 0, 0, 0)
    run = evaluate(cases(2), load_metrics(["hit_rate-judged"]), ScriptedJudge(judge_chunks), out=tmp_path)
    assert {result.metric: result.judgements[0].number for result in run.results()}["hit_rate-judged"] == 1
    done = replay(run, [stricter])
    assert {part.metric: (part.changed, part.missing) for part in done.replayed} == {
        "chunk_evaluation": (2, 0),
        "hit_rate-judged": (2, 0),
    }
    results = {result.metric: result for result in done.run.results()}
    assert results["hit_rate-judged"].judgements[0].number == 0
    assert results["hit_rate-judged"].replayed_from == ""
    second_run = evaluate(cases(2), (*load_metrics(["hit_rate-judged"])[1:], stricter), ScriptedJudge([]), out=tmp_path)
    assert (second_run.progress.kept, second_run.progress.scored) == (4, 4)


def test_a_function_that_is_not_stored_is_refused_or_given(tmp_path):
    """A derived metric in Python is refused with what to do, unless its definition is given with the edited one."""
    run = evaluate(cases(1), [PASSAGES, GOOD], ScriptedJudge(by_metric), out=tmp_path)
    edited = scored(PASSAGES, 0.7, 0)
    replayable, refused = preview_replay(run, [edited])
    assert [metric.metric for metric in replayable] == ["passages"]
    assert [(metric.metric, metric.reason, metric.named) for metric in refused] == [
        ("good", "the function that computes it is not stored; greval evaluate computes it again", False)
    ]
    done = replay(run, [edited, GOOD])
    assert {metric.metric: metric.changed for metric in done.replayed} == {"passages": 1, "good": 1}
    assert {result.metric: result for result in done.run.results()}["good"].value == 0.7


@pytest.mark.parametrize("changes", [{}, {"pass": ">= 0.5"}], ids=["none", "pass"])
def test_a_preference_is_read_again_from_both_orders(tmp_path, changes):
    """Each repeat of each order has its own stored reply, and the verdicts are those of the duel, without a call."""
    judge = ScriptedJudge(prefer_at_random())
    run = evaluate(ANSWERS, [COMPUTED_METRICS["latency"]], out=tmp_path)
    duel(run, [CLEAR], judge, repeats=3)
    outcomes_before = outcomes(run)
    assert len(judge.calls) == 18 * 2 * 3
    (done,) = replay(run, [edit(CLEAR, **changes)]).replayed
    assert (done.metric, done.unchanged, done.changed, done.missing) == ("clarity", 18, 0, 0)
    assert len(judge.calls) == 18 * 2 * 3
    assert outcomes(run) == outcomes_before
    with Store.open(tmp_path) as store:
        assert read_metrics(store)["clarity"].judged.pass_if == changes.get("pass", "")
