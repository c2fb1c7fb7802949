"""Tests of URLs in messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greval._util.urls import redact_credentials

PARTS = st.text(st.characters(exclude_characters="/", exclude_categories=["Z", "C"]), min_size=1, max_size=20)


@given(PARTS, PARTS)
def test_credentials_are_removed(name, password):
    """No user name and no password is left, whatever else they hold; the host is."""
    found = redact_credentials(f"judge: https://{name}:{password}@host.example:80/path@x: no answer")
    assert found == "judge: https://[credentials]@host.example:80/path@x: no answer"


def test_other_texts_stay():
    """A URL without credentials and an address of mail are no secrets."""
    for text in ("http://127.0.0.1:8000/a@b", "ask ana@example.org", "a://b c@d"):
        assert redact_credentials(text) == text
