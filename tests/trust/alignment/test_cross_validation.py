"""What helps is accepted, chance is refused, and no example ever judges its own question."""

import pytest
from aligned_runs import (
    COUNT,
    MAGIC,
    SMALL,
    TONE,
    asked_to_write,
    case,
    chance,
    follower,
    judged,
    labels,
    messages_of,
    noise,
    tones,
    wrong_in,
)

from greval import evaluate
from greval.trust.alignment.api import align


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
def test_a_judge_that_only_changes_its_mind_is_refused(tmp_path, seed):
    """Where changed definitions judge otherwise but no better nothing is accepted, and nothing is written."""
    truth = tones(COUNT, seed=seed)
    judge = follower(TONE, truth, noise(0.25))
    run = judged(tmp_path / "run", TONE, truth, judge)
    result = align(run, TONE, judge, labels(TONE, truth), seed=seed, **SMALL)
    assert not result.accepted
    assert result.why
    assert (result.path, result.written, result.diff) == (None, None, "")
    assert not list((run.folder / "align").glob("*.yaml"))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
def test_labels_at_random_are_refused(tmp_path, seed):
    """From labels that say nothing nothing is learned, also of a judge that follows what it is shown."""
    truth = tones(COUNT)
    judge = follower(TONE, truth, wrong_in(0.3, 0.02))
    run = judged(tmp_path / "run", TONE, truth, judge)
    shuffled = {number: "Polite" if chance("dealt", seed, number) < 0.5 else "Rude" for number in truth}
    assert not align(run, TONE, judge, labels(TONE, shuffled), seed=seed, **SMALL).accepted


@pytest.mark.nightly
def test_an_example_never_judges_itself_nor_a_twin(tmp_path):
    """No prompt holds an example of the case it judges, of its question under another id, or of what is held back."""
    truth = tones(COUNT)
    judge = follower(TONE, truth, wrong_in(0.4, 0.02))
    cases = [case(number) for number in truth]
    cases += [{**case(number), "id": f"twin{number}", "method": "other"} for number in range(0, COUNT, 2)]
    run = evaluate(cases, [TONE], judge, out=tmp_path / "run")
    said = labels(TONE, truth)
    said += [
        label.model_copy(update={"sample_id": f"twin{label.sample_id[1:]}", "method": "other"}) for label in said[::2]
    ]
    result = align(run, TONE, judge, said, **SMALL)
    assert (result.labels, result.questions) == (COUNT * 3 // 2, COUNT)
    shown = [messages for messages in messages_of(judge) if len(messages) > 2]
    assert len(shown) > 30
    for messages in shown:
        assert messages[-1].text not in [message.text for message in messages[1:-1]]
    seen_by_writer = [text for messages in messages_of(judge, "texts") for text in [messages[1].text]]
    for messages in messages_of(judge):
        if MAGIC in messages[0].text:
            question = messages[-1].text.split("</question>")[0]
            assert any(question not in text for text in seen_by_writer)


def test_each_rewrite_is_tried_only_on_questions_its_writer_did_not_see(better):
    """Of each definition that was written, no judged case was among the disagreements that the writer was shown."""
    run, said, judge = better
    numbered = {"n": 0}
    shown = {}
    base = judge._answers

    def answer(messages):
        if asked_to_write(messages) == "texts":
            numbered["n"] += 1
            mark = f"{MAGIC} ({numbered['n']})"
            shown[mark] = messages[1].text
            return {**base(messages), "steps": [mark]}
        return base(messages)

    judge._answers = answer
    align(run, TONE, judge, said, ways=["rewrite"], **SMALL)
    assert len(shown) == SMALL["folds"] + 1
    tried = 0
    for messages in messages_of(judge):
        for mark, text in shown.items():
            if mark in messages[0].text:
                tried += 1
                assert messages[-1].text not in text
    assert tried >= COUNT


def test_judgements_that_fail_are_left_out_and_counted(tmp_path):
    """A thing without a verdict by one of the definitions is in no figure, and told."""
    truth = tones(COUNT)
    better = wrong_in(0.4, 0.02)

    def verdict(messages, number, right):
        broken = MAGIC in messages[0].text and number % 12 == 0
        return "Neither" if broken else better(messages, number, right)

    judge = follower(TONE, truth, verdict)
    run = judged(tmp_path / "run", TONE, truth, judge)
    result = align(run, TONE, judge, labels(TONE, truth), ways=["rewrite"], **SMALL)
    assert result.accepted
    assert result.failed == COUNT // 12
    assert result.gain.things == COUNT - COUNT // 12
    assert any(attempt.failed for attempt in result.attempts)


def test_without_a_disagreement_no_call_is_made(tmp_path):
    """A judge that agrees with people on everything is left alone, for no call."""
    truth = tones(COUNT)
    judge = follower(TONE, truth, lambda _messages, _number, right: right)
    run = judged(tmp_path / "run", TONE, truth, judge)
    result = align(run, TONE, judge, labels(TONE, truth))
    assert (result.accepted, result.usage.calls, result.attempts) == (False, 0, ())
    assert len(judge.calls) == COUNT
