"""The budget, the runs of changed definitions and the writer: caps hold, and no call is repeated."""

import asyncio

import pytest
from aligned_runs import (
    TONE,
    follower,
    judged,
    labels,
    tones,
    wrong_in,
)

from greval.errors import JudgeError, StoppedError
from greval.judging.model.prices import Price, Prices
from greval.trust.alignment.api import align, align_async

SMALL = {"folds": 2, "choosing": 12}
COUNT = 48


@pytest.mark.long
def test_what_was_stopped_goes_on_and_asks_nothing_twice(better):
    """With a higher cap each time it comes to the same end as in one go, with no prompt asked a second time."""
    run, said, judge = better
    before = len(judge.calls)
    found, stops = None, 0
    for cap in range(50, 2000, 50):
        try:
            found = align(run, TONE, judge, said, max_calls=cap, concurrency=1, **SMALL)
            break
        except StoppedError as error:
            assert f"{cap} calls" in str(error)
            stops += 1
    assert found
    assert stops > 1
    asked = [tuple(message.text for message in messages) for messages in judge.calls[before:]]
    assert len(asked) == len(set(asked))
    whole = align(run, TONE, judge, said, work=run.folder / "other", **SMALL)
    assert whole.model_dump(exclude={"usage", "kept", "path"}) == found.model_dump(exclude={"usage", "kept", "path"})
    again = align(run, TONE, judge, said, **SMALL)
    assert again.usage.calls == 0
    assert again.kept > 0


@pytest.mark.long
async def test_a_wish_to_stop_is_heard(better):
    """When the event is set no further definition is judged; what was judged is kept."""
    run, said, judge = better
    stop = asyncio.Event()
    with pytest.raises(StoppedError):
        await align_async(run, TONE, judge, said, stop=stop, on_told=lambda _: stop.set(), **SMALL)


@pytest.mark.long
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_cap_on_calls_holds_for_reasons_that_are_written_at_once(tmp_path, cap):
    """Reasons are written several at a time, and never more of them than the cap allows; what was written is kept."""
    truth = tones(COUNT)
    judge = follower(TONE, truth, wrong_in(0.95, 0.02), delay=0.01)
    run = judged(tmp_path / "run", TONE, truth, judge)
    before = len(judge.calls)
    with pytest.raises(StoppedError, match=f"the cap of {cap} calls"):
        align(run, TONE, judge, labels(TONE, truth), max_calls=cap, **SMALL)
    assert len(judge.calls) == before + cap
    with pytest.raises(StoppedError, match=f"earlier commands on this run made {cap} of them; a higher cap goes on"):
        align(run, TONE, judge, labels(TONE, truth), max_calls=cap, **SMALL)
    assert len(judge.calls) == before + cap
    with pytest.raises(StoppedError):
        align(run, TONE, judge, labels(TONE, truth), max_calls=cap + 1, **SMALL)
    asked = [messages[-1].text for messages in judge.calls[before:]]
    assert len({*asked}) == len(asked) == cap + 1


@pytest.mark.long
def test_a_cost_is_kept_to(better):
    """A cap on the cost stops the whole, told with the cap that was given and not with what was left of it."""
    run, said, judge = better
    with pytest.raises(JudgeError, match="no price is known"):
        align(run, TONE, judge, said, max_cost=1.0, **SMALL)
    priced = Prices(models={"ScriptedJudge": Price(input=1.0, output=1.0)}, as_of="today", source="made up")
    with pytest.raises(StoppedError, match=r"the cap of \$0.005 is reached"):
        align(run, TONE, judge, said, max_cost=0.005, prices=priced, **SMALL)


@pytest.mark.long
@pytest.mark.parametrize(
    ("writes", "told"),
    [
        ("no JSON at all", "cannot be used"),
        ({"steps": [], "scale": [], "instructions": ""}, "steps: must be a list of texts"),
        ({"steps": ["A."], "scale": [{"value": "Polite", "means": "x"}], "instructions": ""}, "each once"),
        (JudgeError("out of order"), "the model did not write"),
    ],
)
def test_a_failing_writer_is_told_and_fatal_to_nothing(better, writes, told):
    """What a writer cannot give is dropped with its reason, and the other way is tried all the same."""
    run, said, judge = better
    writer = follower(TONE, tones(COUNT), wrong_in(0.4, 0.02), writes=writes)
    found = align(run, TONE, judge, said, writer=writer, **SMALL)
    dropped = [one for one in found.attempts if one.way == "rewrite"]
    assert dropped
    assert all(told in one.dropped and not one.chosen for one in dropped)
    assert not found.accepted
