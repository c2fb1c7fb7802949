"""Records of an alignment: what is undefined has a reason."""

import pytest

from greval.trust.alignment.records import AgreementGain, Alignment, AlignmentForecast


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
