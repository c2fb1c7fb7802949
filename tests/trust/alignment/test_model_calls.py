"""The budget, the runs of changed definitions and the writer: caps hold, and no call is repeated."""

import asyncio

import pytest
from aligned_runs import COUNT, SMALL, TONE, follower, judged, labels, tones, wrong_in
from langchain_core.messages import HumanMessage

from greval.errors import JudgeError, MalformedVerdictError, StoppedError
from greval.judging.model.prices import Price, Prices
from greval.records.result import Usage
from greval.testing import ScriptedJudge
from greval.trust.alignment.api import align, align_async
from greval.trust.alignment.model_calls import AlignBudget, DefinitionWriter


@pytest.mark.nightly
def test_a_stopped_alignment_goes_on_without_repeating_a_call(better):
    """With a higher cap each time it comes to the same end as in one go, with no prompt asked a second time."""
    run, said, judge = better
    before = len(judge.calls)
    result, stops = None, 0
    for cap in range(50, 2000, 50):
        try:
            result = align(run, TONE, judge, said, max_calls=cap, concurrency=1, **SMALL)
            break
        except StoppedError as error:
            assert f"{cap} calls" in str(error)
            stops += 1
    assert result
    assert stops > 1
    asked = [tuple(message.text for message in messages) for messages in judge.calls[before:]]
    assert len(asked) == len(set(asked))
    whole = align(run, TONE, judge, said, work=run.folder / "other", **SMALL)
    assert whole.model_dump(exclude={"usage", "kept", "path"}) == result.model_dump(exclude={"usage", "kept", "path"})
    again = align(run, TONE, judge, said, **SMALL)
    assert again.usage.calls == 0
    assert again.kept > 0


async def test_a_wish_to_stop_is_heard(better):
    """When the event is set no further definition is judged; what was judged is kept."""
    run, said, judge = better
    stop = asyncio.Event()
    with pytest.raises(StoppedError):
        await align_async(run, TONE, judge, said, stop=stop, on_told=lambda _: stop.set(), **SMALL)


@pytest.mark.nightly
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_cap_on_calls_holds_for_reasons_that_are_written_at_once(tmp_path, cap):
    """Reasons are written several at a time, and never more of them than the cap allows; what was written is kept."""
    truth = tones(COUNT)
    judge = follower(TONE, truth, wrong_in(0.95, 0.02), delay=0.01)
    run = judged(tmp_path / "run", TONE, truth, judge)
    before = len(judge.calls)
    with pytest.raises(StoppedError, match=f"the cap of {cap} calls? "):
        align(run, TONE, judge, labels(TONE, truth), max_calls=cap, **SMALL)
    assert len(judge.calls) == before + cap
    with pytest.raises(StoppedError, match=f"earlier commands on this run made {cap} of them; raise it to continue"):
        align(run, TONE, judge, labels(TONE, truth), max_calls=cap, **SMALL)
    assert len(judge.calls) == before + cap
    with pytest.raises(StoppedError):
        align(run, TONE, judge, labels(TONE, truth), max_calls=cap + 1, **SMALL)
    asked = [messages[-1].text for messages in judge.calls[before:]]
    assert len({*asked}) == len(asked) == cap + 1


def test_a_cost_is_kept_to(better):
    """A cap on the cost stops the whole, told with the cap that was given and not with what was left of it."""
    run, said, judge = better
    with pytest.raises(JudgeError, match="no price is known"):
        align(run, TONE, judge, said, max_cost=1.0, **SMALL)
    priced = Prices(models={"ScriptedJudge": Price(input=1.0, output=1.0)}, as_of="today", source="made up")
    with pytest.raises(StoppedError, match=r"the cap of \$0.005 is reached"):
        align(run, TONE, judge, said, max_cost=0.005, prices=priced, **SMALL)


def test_a_failing_writer_is_fatal_to_nothing(better):
    """What a writer cannot give is dropped with its reason, and the other way is tried all the same."""
    run, said, judge = better
    writer = follower(TONE, tones(COUNT), wrong_in(0.4, 0.02), writes=JudgeError("out of order"))
    result = align(run, TONE, judge, said, writer=writer, **SMALL)
    assert {attempt.way for attempt in result.attempts} == {"examples", "rewrite"}
    assert all("did not write" in attempt.dropped for attempt in result.attempts if attempt.way == "rewrite")
    assert not result.accepted


PRICED = Prices(models={"ScriptedJudge": Price(input=1.0, output=1.0)}, as_of="today", source="made up")
PROMPT = [HumanMessage("x" * 80)]
"""20 tokens, so that a call is estimated at the 120 tokens that `ScriptedJudge` reports: $0.00012."""


def test_a_cap_on_cost_holds_for_calls_that_are_made_at_once(tmp_path):
    """Of five reasons that are asked for together only as many are written as the cap pays for."""
    judge = ScriptedJudge([{"reason": "r", "value": 1}], delay=0.01)
    budget = AlignBudget(PRICED, tmp_path, max_cost=0.0003)

    async def write(writer, n):
        return await writer.write(f"text{n}", {"type": "object"}, PROMPT, lambda answer: answer)

    async def write_all():
        with DefinitionWriter(judge, tmp_path, budget, gate=asyncio.Semaphore(5)) as writer:
            return await asyncio.gather(*(write(writer, n) for n in range(5)), return_exceptions=True)

    results = asyncio.run(write_all())
    assert len(judge.calls) == 2
    assert sum(isinstance(result, StoppedError) for result in results) == 3
    assert budget.cost <= 0.0003


def test_a_cap_on_cost_needs_the_price_of_the_writer(tmp_path):
    """A writer without a price is refused before any call, because its cost could not be capped."""
    with pytest.raises(JudgeError, match="ScriptedJudge: no price is known to cap a cost by"):
        DefinitionWriter(ScriptedJudge([]), tmp_path, AlignBudget(Prices.load(), tmp_path, max_cost=1.0))
    assert not [*tmp_path.iterdir()]
    DefinitionWriter(ScriptedJudge([]), tmp_path, AlignBudget(Prices.load(), tmp_path, max_calls=1)).close()


def test_spending_on_writing_is_counted_by_later_commands(tmp_path):
    """What one command spent on writing counts towards the caps of the next, and is named in its message."""
    first = AlignBudget(PRICED, tmp_path, max_calls=3)
    first.add_writer_usage(Usage(calls=3, input_tokens=900, output_tokens=100), "ScriptedJudge")
    spent = AlignBudget(PRICED, tmp_path, max_calls=3)
    assert spent.compute_remaining_caps(tmp_path / "none")["max_calls"] == 0
    assert "earlier commands on this run made 3 of them" in spent.describe_stop("(--max-calls)")
    caps = AlignBudget(PRICED, tmp_path, max_calls=5, max_cost=1.0).compute_remaining_caps(tmp_path / "none")
    assert caps["max_calls"] == 2
    assert caps["max_cost"] == pytest.approx(0.999)
    assert AlignBudget(PRICED, tmp_path).compute_remaining_caps(tmp_path / "none")["max_calls"] is None


def test_an_unknown_price_makes_the_cost_unknown(tmp_path):
    """The total cost is None as soon as the price of one model is unknown, never a sum of the others."""
    budget = AlignBudget(PRICED, tmp_path)
    budget.add_run(Usage(calls=1, input_tokens=100, output_tokens=0), "ScriptedJudge")
    assert budget.cost == pytest.approx(0.0001)
    budget.add_run(Usage(calls=1, input_tokens=100, output_tokens=0), "another")
    assert budget.cost is None
    assert budget.usage.calls == 2


def test_the_writer_shows_the_fault_and_caches_only_what_was_read(tmp_path):
    """A refused answer is asked for again with its fault; the read answer is reused without a call."""
    judge = ScriptedJudge([{"n": 1}, {"n": 2}, {"n": 3}])

    def read(answer):
        if answer["n"] != 2:
            raise MalformedVerdictError("malformed", "n: expected </answer> 2")
        return answer["n"]

    def write(tries):
        with DefinitionWriter(judge, tmp_path, AlignBudget(PRICED, tmp_path)) as writer:
            return asyncio.run(writer.write("number", {"type": "object"}, PROMPT, read, tries=tries))

    assert write(1) == "what the model wrote cannot be used: n: expected </answer> 2"
    judge.calls.clear()
    judge._answers = [{"n": 1}, {"n": 2}]
    assert write(2) == 2
    assert len(judge.calls) == 2
    assert judge.calls[1][1].text == '{"n": 1}'
    assert "</answer>" not in judge.calls[1][2].text
    judge._answers = [{"n": 1}]
    assert write(2) == 2
    assert len(judge.calls) == 3


def test_a_quota_stops_the_writer(tmp_path):
    """A meter that admits no call stops the work with its reason: no strategy is dropped for lack of a text."""

    class UsedUp:
        def admit_call(self, _):
            return "the quota is used up"

    judge = ScriptedJudge([{"n": 1}])
    with (
        DefinitionWriter(judge, tmp_path, AlignBudget(PRICED, tmp_path), meter=UsedUp()) as writer,
        pytest.raises(StoppedError, match="the quota is used up"),
    ):
        asyncio.run(writer.write("number", {"type": "object"}, PROMPT, dict))
    assert not judge.calls
