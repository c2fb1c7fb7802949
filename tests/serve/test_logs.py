"""Tests of the server's logs: one JSON object a line, without content that clients send."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_app import KEY

from greval.serve.logs import JsonLines


def format_record(message, *arguments, error=None, **fields):
    """Return the line of a record as its object."""
    record = logging.LogRecord("greval.access", logging.WARNING, "file.py", 1, message, arguments, error)
    record.__dict__.update(fields)
    line = JsonLines().format(record)
    assert "\n" not in line
    return json.loads(line)


@given(st.text())
def test_any_message_is_one_line_of_json(text):
    """Line breaks and quotes of a message cannot begin another record."""
    line = format_record("%s", text)
    assert (line["level"], line["logger"]) == ("warning", "greval.access")
    assert isinstance(line["message"], str)


def test_fields_are_added():
    """`extra["fields"]` adds its entries; values that JSON does not have become text."""
    line = format_record("served", fields={"status": 200, "path": Exception})
    assert (line["status"], line["path"]) == (200, str(Exception))


@pytest.mark.parametrize("text", ["the client's words", KEY])
def test_an_exception_is_logged_without_its_message(text):
    """A trace shows where it happened and the type, because the message may quote a client."""
    try:
        int(text)
    except ValueError:
        line = format_record("unhandled", error=sys.exc_info())
    assert line["trace"].endswith("ValueError")
    assert "test_an_exception" in line["trace"]
    assert text not in json.dumps(line)


def test_keys_are_redacted():
    """A key in a message is not written."""
    assert KEY not in json.dumps(format_record("judge: %s", KEY))
