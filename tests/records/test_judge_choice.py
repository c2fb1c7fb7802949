"""The judge that a metric names: its forms in files, and what it is no part of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DefinitionError
from greval.judging.model.judge import Judge, build_chosen_judge
from greval.metrics.files import parse_metric, write_metric
from greval.records.judge_choice import JudgeChoice
from greval.records.metric import build_metric
from greval.records.metric_input import compute_fingerprint

TEXT = """\
name: tone
description: Is it polite?
needs: [answer]
steps: [Read.]
scale: {range: [0, 1], better: higher, levels: {0: Rude., 1: Polite.}}
"""
CHOICES = st.builds(
    JudgeChoice,
    model=st.from_regex(r"[a-z_]+:[A-Za-z0-9./:@-]+", fullmatch=True).filter(lambda text: len(text) < 100),
    temperature=st.none() | st.just("none") | st.floats(0, 2),
    base_url=st.none() | st.just("http://127.0.0.1:8000/v1"),
    judge_options=st.dictionaries(st.sampled_from(["top_p", "user"]), st.booleans() | st.text("ab", max_size=3)),
)


@given(choice=CHOICES)
def test_what_is_written_is_read_back(choice):
    """A metric file with any judge is written and read back the same, also through the stored JSON."""
    metric = parse_metric(TEXT).model_copy(update={"judge": choice})
    assert parse_metric(write_metric(metric)) == metric
    assert build_metric(metric.model_dump(mode="json")) == metric


def test_a_name_alone_stays_a_name():
    """The short form is written as it was read."""
    metric = parse_metric(f"{TEXT}judge: openai:large\n")
    assert metric.judge == JudgeChoice(model="openai:large")
    assert metric.model_dump(mode="json")["judge"] == "openai:large"
    assert "\njudge: openai:large\n" in write_metric(metric)


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        ("{modl: openai:x}", "6: judge.modl: unknown; did you mean model?"),
        (
            "{model: openai:x, api_key: secret}",
            "6: judge.api_key: unknown; known: model, temperature, base_url, judge_options",
        ),
        ("{model: openai:x, base_url: 'http://me:secret@host/v1'}", "the address holds credentials"),
        ("{model: openai:x, base_url: 'ftp://host'}", "is not an http(s) address"),
        ("{model: openai:x, temperature: 3}", "judge.temperature: must be less than or equal to 2"),
    ],
)
def test_faults_have_their_place(judge, told):
    """A judge with a secret, an unknown setting or a wrong value is a fault of the file."""
    with pytest.raises(DefinitionError) as caught:
        parse_metric(f"{TEXT}judge: {judge}\n")
    assert told in str(caught.value)


def test_the_judge_counts_once_in_the_fingerprint():
    """A metric that names the judge of the run has the verdicts that it had without the name."""
    plain, with_judge = parse_metric(TEXT), parse_metric(f"{TEXT}judge: openai:large\n")
    judge = Judge("openai:large").identity
    assert compute_fingerprint(plain, judge) == compute_fingerprint(with_judge, judge)
    assert compute_fingerprint(with_judge, judge) != compute_fingerprint(with_judge, Judge("openai:small").identity)


def test_the_settings_of_the_run_hold_for_a_named_judge():
    """All but the model, its server and its own options; a metric that names the run's model uses its server."""
    run = Judge("openai:small", timeout=5, base_url="http://127.0.0.1:1/v1", temperature=0.3, options={"top_p": 0.5})
    large = build_chosen_judge(JudgeChoice(model="openai:large"), run)
    assert (large.model, large.timeout, large.temperature) == ("openai:large", 5, 0.3)
    assert (large.base_url, large.options) == (None, {})
    same = build_chosen_judge(JudgeChoice(model="openai:small", temperature=1), run)
    assert same == run.model_copy(update={"temperature": 1})
    assert build_chosen_judge(JudgeChoice(model="openai:small", base_url="http://127.0.0.1:2/v1"), run).options == {}


def test_options_and_no_temperature_reach_the_judge():
    """The options of a metric are added to those of the run for the same model; `none` leaves out the temperature."""
    metric = parse_metric(
        f"{TEXT}judge: {{model: gpt-5.1, temperature: none, judge_options: {{reasoning_effort: low}}}}\n"
    )
    assert parse_metric(write_metric(metric)) == metric
    judge = build_chosen_judge(metric.judge)
    assert (judge.model, judge.temperature, judge.options) == ("openai:gpt-5.1", None, {"reasoning_effort": "low"})
    run = Judge("openai:gpt-5.1", options={"top_p": 0.5})
    assert build_chosen_judge(metric.judge, run).options == {"top_p": 0.5, "reasoning_effort": "low"}
    assert build_chosen_judge(metric.judge, Judge("openai:other", options={"top_p": 0.5})).options == {
        "reasoning_effort": "low"
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("{api_key: x}", "secrets come from the environment only"),
        ("{extra_body: {password: x}}", "secrets come from the environment only"),
        ("{openai_api_base: 'http://host'}", "the address of a server is named by base_url"),
        ("{openai_proxy: 'http://host'}", "the address of a server is named by base_url"),
    ],
)
def test_options_hold_no_secret_and_no_address(options, told):
    """An option of a metric is no secret, and does not send texts to another server."""
    with pytest.raises(DefinitionError, match=told):
        parse_metric(f"{TEXT}judge: {{model: openai:x, judge_options: {options}}}\n")
