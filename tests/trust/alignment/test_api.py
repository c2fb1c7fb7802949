"""Aligning: what helps is accepted and written, what does not is refused, and no example ever judges itself."""

import pytest
from aligned_runs import (
    COUNT,
    DEPTH,
    MAGIC,
    SMALL,
    TONE,
    USEFUL,
    asked_to_write,
    case,
    chance,
    follower,
    judged,
    labels,
    messages_of,
    tones,
    wrong_in,
)
from langchain_core.language_models import BaseChatModel

from greval import Annotation, evaluate, load_metric, parse_metric, write_metric
from greval.errors import DataError, DefinitionError, StoreError
from greval.judging.model.prices import Price, Prices
from greval.metrics.files import read_metric
from greval.stats.interval import Interval
from greval.testing import ScriptedJudge
from greval.trust.alignment.api import add_provenance, align, forecast_align
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment


@pytest.mark.parametrize("way", ["examples", "rewrite"])
def test_a_gain_is_accepted_and_written_with_its_provenance(better, way, tmp_path):
    """A real gain is accepted; the new file loads, tells where it comes from, and the diff tells what changed."""
    run, said, judge = better
    result = align(run, TONE, judge, said, ways=[way], out=tmp_path / "new" / "tone.yaml", **SMALL)
    assert result.accepted
    assert result.gain.interval.low > 0
    assert result.gain.after > result.gain.before + 0.3
    new = read_metric(result.path)
    assert (new.name, new.needs, new.scale.names) == (TONE.name, TONE.needs, TONE.scale.names)
    assert bool(new.examples) == (way == "examples")
    assert (MAGIC in new.steps) == (way == "rewrite")
    head = [line for line in result.written.splitlines() if line.startswith("# ")]
    assert any("48 labelled items of 48 questions; annotators: ana" in line for line in head)
    assert any("ScriptedJudge" in line for line in head)
    assert any(f"kappa {result.gain.before:.3f} before, {result.gain.after:.3f} after" in line for line in head)
    assert any(f"[{result.gain.interval.low:.3f}, " in line and "95%" in line for line in head)
    added = [line for line in result.diff.splitlines() if line.startswith("+ ") and "rule" in line]
    assert added


@pytest.mark.nightly
def test_the_original_is_never_written_unless_it_is_named(better, tmp_path):
    """The new definition stands beside the judgements; the file that was named as the metric stays as it was."""
    run, said, judge = better
    original = tmp_path / "tone.yaml"
    original.write_text(write_metric(TONE))
    result = align(run, original, judge, said, **SMALL)
    assert original.read_text() == write_metric(TONE)
    assert result.path == str(run.folder / "align" / "tone.yaml")
    assert align(run, original, judge, said, out=original, **SMALL).path == str(original)
    assert read_metric(original) == read_metric(result.path)


@pytest.mark.nightly
def test_a_file_that_cannot_be_written_loses_no_judgement(better, tmp_path):
    """After all was asked a wrong name costs nothing: the next call asks nothing again."""
    run, said, judge = better
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: .*name another file with out"):
        align(run, TONE, judge, said, out=tmp_path / "taken" / "tone.yaml", **SMALL)
    assert align(run, TONE, judge, said, out=tmp_path / "tone.yaml", **SMALL).usage.calls == 0


@pytest.mark.nightly
def test_numbers_are_aligned_by_their_error(tmp_path):
    """On a value scale the mean absolute error falls, and the order that people gave is told beside it."""
    truth = {number: 1 + int(5 * chance(number)) for number in range(COUNT)}

    def verdict(messages, number, right):
        return right if MAGIC in messages[0].text else min(5, right + 1 + (number % 2))

    judge = follower(DEPTH, truth, verdict)
    run = judged(tmp_path / "run", DEPTH, truth, judge)
    said = [*labels(DEPTH, truth), *(label.model_copy(update={"annotator": "bob"}) for label in labels(DEPTH, truth))]
    result = align(run, DEPTH, judge, said, **SMALL)
    assert result.accepted
    assert result.gain.figure == "mae"
    assert result.gain.after == 0.0
    assert result.gain.gain == result.gain.before > 1
    assert result.gain.ranks[1] == pytest.approx(1.0)
    assert MAGIC in parse_metric(result.written).steps


def test_chunks_are_aligned_each_by_itself(tmp_path):
    """Of a metric over chunks an example holds one chunk, and chunks of a question stay in one fold."""
    truth = tones(COUNT * 2)
    truth = {number: "Useful" if value == "Polite" else "Useless" for number, value in truth.items()}
    judge = follower(USEFUL, truth, wrong_in(0.4, 0.02, ("Useful", "Useless")))
    cases = [
        {"id": f"q{n}", "question": f"Which is {n}?", "chunks": [f"It is thing {2 * n}.", f"It is thing {2 * n + 1}."]}
        for n in range(COUNT)
    ]
    run = evaluate(cases, [USEFUL], judge, out=tmp_path / "run")
    said = [
        Annotation(sample_id=f"q{n // 2}", metric="useful", item=f"c{n % 2 + 1}", annotator="ana", value=truth[n])
        for n in truth
    ]
    result = align(run, USEFUL, judge, said, ways=["examples"], **SMALL)
    assert result.accepted
    assert (result.labels, result.questions, result.gain.questions) == (2 * COUNT, COUNT, COUNT)
    examples = parse_metric(result.written).examples
    assert [len(example.case.chunks) for example in examples] == [1] * len(examples)
    for messages in messages_of(judge):
        before = " ".join(message.text for message in messages[1:-1])
        assert messages[-1].text.split("</question>")[0] not in before


@pytest.mark.nightly
def test_what_a_metric_builds_on_is_not_judged_again(tmp_path):
    """A metric that narrows the chunks is aligned on the cases as the run narrowed them."""
    truth = tones(COUNT)
    metric = type(TONE).model_validate(
        {
            **TONE.model_dump(mode="json"),
            "needs": ["question", "answer", "chunks"],
            "uses": {"chunks": {"judged_by": "kept_chunks", "as": ["Relevant"]}},
        }
    )
    below = load_metric("chunk_evaluation").model_copy(update={"name": "kept_chunks"})
    tone = follower(metric, truth, wrong_in(0.4, 0.02))

    def answer(messages):
        if "Metric: kept_chunks" in messages[0].text:
            values = enumerate(("Relevant", "Irrelevant"), 1)
            return {"judgements": [{"item": n, "reason": "r", "value": value} for n, value in values]}
        return tone._answers(messages)

    judge = ScriptedJudge(answer)
    cases = [{**case(number), "chunks": ["It is kept.", "It is dropped."]} for number in truth]
    run = evaluate(cases, [metric, below], judge, out=tmp_path / "run")
    before = len(judge.calls)
    assert forecast_align(run, metric, judge, labels(metric, truth), **SMALL).before == 0
    result = align(run, metric, judge, labels(metric, truth), **SMALL)
    new = [messages[-1].text for messages in judge.calls[before:]]
    assert result.accepted
    assert "uses" in result.written
    assert not any("It is dropped." in text for text in new)
    assert not any("kept_chunks" in messages[0].text for messages in judge.calls[before:])


@pytest.mark.nightly
def test_another_judge_judges_the_metric_as_it_is_first(better, tmp_path):
    """The run's verdicts count only where they are of this judge and this definition."""
    run, said, judge = better
    same = forecast_align(run, TONE, judge, said, **SMALL)
    other = TONE.model_copy(update={"steps": ("Read the answer with care.",)})
    changed = forecast_align(run, other, judge, said, **SMALL)
    assert (same.before, changed.before) == (0, COUNT)
    before = len(judge.calls)
    align(run, other, judge, said, work=tmp_path / "w", **SMALL)
    plain = [m for m in messages_of(judge)[before:] if "Read the answer with care." in m[0].text and len(m) == 2]
    assert len(plain) >= COUNT


@pytest.mark.nightly
def test_a_forecast_is_an_upper_limit(better):
    """The calls counted beforehand are as many as are made, or more."""
    run, said, judge = better
    told = forecast_align(run, TONE, judge, said, **SMALL)
    before = len(judge.calls)
    align(run, TONE, judge, said, **SMALL)
    made = judge.calls[before:]
    writing = [messages for messages in made if asked_to_write(messages)]
    assert len(writing) <= told.written
    assert len(made) - len(writing) <= told.calls
    assert told.calls <= 2 * (len(made) - len(writing))


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        ({"folds": 1}, "folds: expected 2 or more, got 1"),
        ({"ways": ["magic"]}, "ways: magic is not known; choose from examples, rewrite"),
        ({"level": 1.0}, "level: expected a number between 0 and 1"),
        ({"limit": 10}, "10 labelled items of 10 questions are too few"),
        ({"folds": 40}, "are too few to align tone in 40 folds"),
    ],
)
def test_invalid_options_are_refused(better, wishes, told):
    """What cannot be done is said with what to do instead, before anything is asked."""
    run, said, judge = better
    before = len(judge.calls)
    with pytest.raises(DataError, match=told):
        align(run, TONE, judge, said, **wishes)
    assert len(judge.calls) == before


def test_computed_metrics_and_runs_without_labels_are_refused(better):
    """Only what a model judges can be aligned, and only with labels that match verdicts."""
    run, said, judge = better
    with pytest.raises(DefinitionError, match="latency: is computed"):
        align(run, "latency", judge, said)
    with pytest.raises(DataError, match="was not judged by 'correctness'"):
        align(run, "correctness", judge, said)
    with pytest.raises(DataError, match="no submitted annotation of tone matches a verdict"):
        align(run, TONE, judge, labels(DEPTH, {1: 1}))


def test_provenance_is_a_comment_whatever_names_hold():
    """A name with a line break cannot put anything into the file; it reads as the same metric."""
    interval = Interval(low=0.1, high=0.3, method="expanded percentile")
    gain = AgreementGain(
        figure="kappa", things=9, questions=9, before=0.2, after=0.4, gain=0.2, interval=interval, p=0.01
    )
    told = Alignment(
        folder="/some/where/first", metric="tone", judge="j", writer="w", annotators=("ana\nname: evil", "bob\u2028x"),
        labels=9, questions=9, folds=3, level=0.95, seed=0, ways=("examples",), gain=gain, accepted=True, why="it is",
        attempts=(AlignAttempt(fold=0, way="examples", learned=4, chosen=True),),
    )  # fmt: skip
    text = add_provenance(write_metric(TONE), told)
    assert parse_metric(text) == TONE
    assert text.splitlines()[0].startswith("# yaml-language-server")
    assert "from the run first: examples (from 4 of the labels)" in text
    assert "/some/where" not in text


def _price(**models):
    """Return a table with dollars per million tokens of each model."""
    prices = {name: Price(input=price, output=price) for name, price in models.items()}
    return Prices(models=prices, as_of="today", source="made up")


class OtherWriter(ScriptedJudge):
    """A writer whose label differs from the judge's."""


def test_a_forecast_prices_the_writer(better):
    """The cost covers both models: nothing if both are free, the writer's share alone if only it has a price."""
    run, said, judge = better
    writer: BaseChatModel = OtherWriter([])

    def forecast_cost(ways=("examples", "rewrite"), **prices):
        forecast = forecast_align(run, TONE, judge, said, writer=writer, ways=ways, prices=_price(**prices), **SMALL)
        assert forecast.written == {2: 24, 1: 18}[len(ways)]
        return forecast.cost

    judging, writing = forecast_cost(ScriptedJudge=1, OtherWriter=0), forecast_cost(ScriptedJudge=0, OtherWriter=1)
    assert forecast_cost(ScriptedJudge=0, OtherWriter=0) == 0
    assert judging > 0
    assert writing > forecast_cost(["examples"], ScriptedJudge=0, OtherWriter=1) > 0
    assert forecast_cost(ScriptedJudge=1, OtherWriter=1) == pytest.approx(judging + writing)
    assert not judge.calls
    assert not writer.calls


def test_a_forecast_without_a_price_of_one_model_has_no_cost(better):
    """A cost of which a part is unknown is None, and not the part that is known."""
    run, said, judge = better
    for priced in ("ScriptedJudge", "OtherWriter"):
        forecast = forecast_align(run, TONE, judge, said, writer=OtherWriter([]), prices=_price(**{priced: 1}), **SMALL)
        assert forecast.cost is None


def test_a_reason_to_write_costs_as_much_as_a_verdict(better):
    """With examples alone each call is as long as one of the unchanged metric, so that cost follows the calls."""
    run, said, judge = better
    options = {"ways": ["examples"], **SMALL}
    forecast = forecast_align(run, TONE, judge, said, prices=_price(ScriptedJudge=1), **options)
    prices = _price(ScriptedJudge=1, OtherWriter=0)
    other = forecast_align(run, TONE, judge, said, writer=OtherWriter([]), prices=prices, **options)
    assert forecast.cost / other.cost == pytest.approx((forecast.calls + forecast.written) / forecast.calls, rel=1e-3)
