"""Records of an alignment: what is undefined has a reason, and their JSON stays readable by earlier versions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, create_model

from greval.trust.alignment.records import AgreementGain, Alignment, AlignmentForecast

EARLIER = {name: (field.annotation, field.default) for name, field in AgreementGain.model_fields.items() if name != "p"}
EarlierGain = create_model(
    "EarlierGain",
    __config__=ConfigDict(extra="forbid"),
    **{name: (kind, ... if name in {"figure", "things", "questions"} else None) for name, (kind, _) in EARLIER.items()},
    p=(float, 1.0),
)
"""The record before `p` could be undefined: a number, 1.0 if it was left out, and no other field."""


@given(
    st.builds(
        AgreementGain,
        figure=st.sampled_from(["kappa", "kappa linear", "mae"]),
        things=st.integers(0, 99),
        questions=st.integers(0, 99),
        gain=st.none() | st.floats(-1, 1),
        p=st.none() | st.floats(0, 1),
        changed=st.integers(0, 99),
    )
)
def test_gains_are_read_by_earlier_versions(gain):
    """An undefined p is left out of JSON, so that an earlier reader finds a number; the present one reads the same."""
    text = gain.model_dump_json()
    assert ("p" in json.loads(text)) == (gain.p is not None)
    assert AgreementGain.model_validate_json(text) == gain
    earlier: BaseModel = EarlierGain.model_validate({"changed": 0, **json.loads(text)})
    assert earlier.p == (1.0 if gain.p is None else gain.p)


def test_gains_of_earlier_versions_are_read():
    """A gain written with p of 1.0 keeps it: the earlier record had no way to say that it is undefined."""
    earlier = {"figure": "kappa", "things": 0, "questions": 0, "before": None, "gain": None, "p": 1.0, "changed": 0}
    assert AgreementGain.model_validate(earlier).p == 1.0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"things": 3, "gain": 0.0}, None),
        ({"things": 0}, "mae is undefined: no labelled item has a verdict of both definitions"),
        ({"things": 3}, "mae is undefined: one side always gives the same value"),
    ],
)
def test_an_undefined_gain_has_a_reason(fields, reason):
    """The reason says whether there was nothing to compare, or nothing that varies; a gain of 0 is known."""
    assert AgreementGain(figure="mae", questions=fields["things"], **fields).why_undefined == reason


def test_records_reject_unknown_fields():
    """A field of another version is an error and not ignored."""
    for kind in (AgreementGain, Alignment, AlignmentForecast):
        assert kind.model_config["extra"] == "forbid"
