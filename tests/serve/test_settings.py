"""Tests of the operator's settings."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from greval.serve.settings import ServerLimits, ServerSettings


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("::", False)]
)
def test_only_loopback_addresses_are_local(host, local):
    """Any other address can be reached by other machines."""
    assert ServerSettings(host=host).local is local


@pytest.mark.parametrize("name", [*ServerLimits.model_fields])
@pytest.mark.parametrize("value", [0, -1])
def test_limits_are_positive(name, value):
    """No limit can be switched off by zero or a negative number."""
    with pytest.raises(ValidationError):
        ServerLimits(**{name: value})


def test_settings_survive_the_environment(tmp_path):
    """Worker processes get the settings as JSON, and they are equal."""
    settings = ServerSettings(runs=tmp_path, library=(tmp_path,), keys=tmp_path / "k", limits=ServerLimits(batch=7))
    assert ServerSettings.model_validate_json(settings.model_dump_json()) == settings
