"""What the judge saw and said: stored with each result, once, and readable at any moment."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killing import CONTEXT
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

from greval import Case, evaluate
from greval.judging.model.call_context import CallForm, CallRecord
from greval.judging.model.reply_cache import Reply
from greval.records.result import Failure, Judgement, Result, Scored, Usage
from greval.runs.merging import merge_runs
from greval.runs.store import Store
from greval.runs.store.disk import FILE, ResultFilter
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge

POLITE = {"reason": "It thanks.", "value": "Polite"}
FORM = CallForm({"name": "tone"}, "j", "schema", {"model": "j"}, {"model": "j"}, (("system", "Judge."),), {"a": 1})


def run_of(folder, answers, metrics=(TONE,), given=None, **options):
    judge = ScriptedJudge(answers)
    return evaluate(given or cases(3), [*metrics], judge, out=folder, **options), judge


def test_each_call_is_what_the_model_was_sent_and_what_it_replied(tmp_path):
    """Of each attempt, also of one that could not be read, messages, schema, text and usage are there."""
    numbers = count()
    run, judge = run_of(tmp_path, lambda _: "I cannot say." if next(numbers) == 1 else POLITE, concurrency=1)
    calls = [*run.calls()]
    roles = {"system": "system", "human": "user", "ai": "assistant"}
    assert sorted([(message.role, message.text) for message in call.messages] for call in calls) == sorted(
        [(roles[message.type], message.text) for message in messages] for messages in judge.calls
    )
    assert sorted(call.reply for call in calls) == sorted(["I cannot say.", *[json.dumps(POLITE)] * 3])
    assert {call.usage for call in calls} == {Usage(calls=1, input_tokens=100, output_tokens=20)}
    assert all(call.latency > 0 for call in calls)
    assert calls[0].answer_schema["properties"]["value"] == {"type": "string", "enum": ["Polite", "Rude"]}
    assert sum(call.usage.calls for call in calls) == sum(result.usage.calls for result in run.results())


def test_calls_are_found_by_sample_method_and_metric(tmp_path):
    """Each filter gives the calls of the results that fit; equal cases share the calls of the first."""
    more = [case.model_copy(update={"method": "walk"}) for case in cases(2)]
    run, judge = run_of(tmp_path, by_metric, (TONE, PASSAGES, BUILT), [*cases(2), *more], concurrency=1)
    assert len(judge.calls) == 6
    assert len([*run.calls()]) == 12
    assert [call.items for call in run.calls(sample_id="q1", metric="passages", method="")] == [("c1", "c2")]
    assert {call.metric for call in run.calls(method="walk")} == {"tone", "passages", "built"}
    assert [*run.calls(sample_id="none")] == []


def test_a_run_without_calls_stores_none(tmp_path):
    """With the option off, there is not even a table, and the results are the same."""
    with_calls, _ = run_of(tmp_path / "on", [POLITE])
    without, _ = run_of(tmp_path / "off", [POLITE], store_calls=False)
    assert [*without.calls()] == []
    assert [result.outcome for result in without.results()] == [result.outcome for result in with_calls.results()]
    counts = "SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM call_forms)"
    assert sqlite3.connect(tmp_path / "off" / FILE).execute(counts).fetchone() == (0,)


def test_a_failed_call_says_why_there_is_no_reply(tmp_path):
    """A call that raised has an empty reply and the failure."""
    run, _ = run_of(tmp_path, [TimeoutError("late")], given=cases(1), retry_failed=False)
    (call, *_) = run.calls()
    assert (call.reply, call.failure and call.failure.kind) == ("", "timeout")


def test_what_calls_share_is_stored_once(tmp_path):
    """The shared part is one row, and a call repeats neither it nor the texts of its case."""
    words = " ".join(f"word{n * 7919 % 1000}" for n in range(600))
    long_cases = [Case(id=f"q{n}", question=f"Question {n}?", answer=f"{n} {words}") for n in range(50)]
    run_of(tmp_path, [POLITE], given=long_cases)
    database = sqlite3.connect(tmp_path / FILE)
    assert database.execute("SELECT count(*) FROM call_forms").fetchone() == (1,)
    (size,) = database.execute("SELECT max(length(body)) FROM calls").fetchone()
    assert size < len(words) / 20


TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)
REPLIES = st.builds(
    Reply,
    TEXTS,
    st.builds(Usage, calls=st.integers(0, 3), input_tokens=st.none() | st.integers(0, 9)),
    st.none() | st.builds(Failure, kind=st.just("malformed"), message=st.just("m"), raw=st.none() | st.just("r")),
    st.lists(st.fixed_dictionaries({"token": TEXTS, "logprob": st.floats(-9, 0)}), max_size=2),
    key=TEXTS,
    latency=st.floats(0, 10).map(lambda seconds: round(seconds, 6)),
)


@given(
    st.lists(st.tuples(TEXTS, REPLIES, st.integers(0, 3)), max_size=5), TEXTS.filter(lambda text: text.isprintable())
)
def test_any_call_is_read_as_it_was_stored(tmp_path_factory, calls, answer):
    """Whatever texts, lone surrogates and log-probabilities a call has, it is read unchanged."""
    folder = tmp_path_factory.mktemp("calls")
    calls_made = [CallRecord(FORM, (("user", text),), reply, repeat=repeat) for text, reply, repeat in calls]
    outcome = Scored(judgements=(Judgement(value=1, reason="r"),))
    result = Result(sample_id="q1", metric="tone", fingerprint="f", judge="j", tier="schema", outcome=outcome)
    case = Case(id="q1", question="?", answer=answer).model_dump_json(exclude_defaults=True)
    with StoreWriter.create(folder) as writer:
        writer.append("k", result, content="c", case=case, calls=calls_made)
    with Store.open(folder) as store:
        numbers = store.call_reader.find(store.call_reader.rows().__next__().values[0]) if calls_made else []
        read = [store.call_reader.read_call(number) for number in numbers]
    assert [(call.reply.text, call.reply.usage, call.reply.failure) for call in read] == [
        (call.reply.text, call.reply.usage, call.reply.failure) for call in calls_made
    ]
    assert [(call.reply.tokens, call.reply.latency) for call in read] == [
        (call.reply.tokens, call.reply.latency) for call in calls_made
    ]


def test_merged_runs_keep_their_calls(tmp_path):
    """A merged run has the calls of its parts, each once, also if it is merged again."""
    parts = []
    for shard in ("1/2", "2/2"):
        folder = tmp_path / shard.replace("/", "-")
        evaluate(cases(6), [TONE], ScriptedJudge([POLITE]), out=folder, shard=shard)
        parts.append(folder)
    for _ in range(2):
        merge_runs(tmp_path / "whole", parts)
        with Store.open(tmp_path / "whole") as store:
            assert sorted(call.sample_id for call in store.calls()) == [f"q{n}" for n in range(6)]
            assert {len(call.messages) for call in store.calls(ResultFilter(sample_id="q1"))} == {2}


def _judge_until_killed(folder, at):
    numbers = count(1)

    def answer(messages):
        number = next(numbers)
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return "nonsense" if number % 5 == 3 else by_metric(messages)

    evaluate(cases(8), [TONE, PASSAGES], ScriptedJudge(answer), out=folder, concurrency=2)


@pytest.mark.parametrize("at", [2, 4, 9, 14])
def test_kill_9_loses_no_call(tmp_path, at):
    """After kill -9 every result has its calls, an unreadable reply is stored too, and the run goes on."""
    process = CONTEXT.Process(target=_judge_until_killed, args=(tmp_path, at))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with Store.open(tmp_path) as store:
        called = {(call.sample_id, call.metric) for call in store.calls()}
        assert {(result.sample_id, result.metric) for result in store.results()} <= called
        stored = [json.loads(row.body)[1] for row in store.call_reader.rows()]
    assert len(stored) >= at - 1 - 2 * 2  # at most the calls in flight are missing
    run, _ = run_of(tmp_path, by_metric, (TONE, PASSAGES), cases(8))
    assert run.progress.scored == 16
    assert len({(call.sample_id, call.metric) for call in run.calls()}) == 16


def _die_at_the_second_attempt(folder):
    def answer(messages):
        if len(messages) > 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return "nonsense"

    evaluate(cases(1), [TONE], ScriptedJudge(answer), out=folder)


def test_kill_9_between_two_attempts(tmp_path):
    """A reply that could not be read is stored before the judge is asked again."""
    process = CONTEXT.Process(target=_die_at_the_second_attempt, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with Store.open(tmp_path) as store:
        assert [json.loads(row.body)[1] for row in store.call_reader.rows()] == ["nonsense"]
