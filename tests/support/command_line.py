"""Cases, servers and processes that tests of commands share."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("greval")
TONE = """\
name: tone
description: Whether the answer keeps a professional tone.
needs: [question, answer]
scale:
  categories:
    Polite: {means: Neutral and courteous throughout., score: 1}
    Rude: {means: Insults or belittles the reader., score: 0}
steps:
  - Mark the words of the answer that carry its tone.
  - Choose the category of the worst of these words.
"""
QUESTION = re.compile(r"Question (\d+)\?")


def case(number, **more):
    """Return the fields of a case; `more` replaces fields, and None leaves one out."""
    fields = {
        "id": f"q{number}",
        "question": f"Question {number}?",
        "expected_answer": "Yes.",
        "answer": "Yes.",
        "tags": {"kind": "even" if number % 2 == 0 else "odd"},
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}


def write(path, cases):
    """Write cases as JSON lines."""
    Path(path).write_text("".join(f"{json.dumps(one)}\n" for one in cases), encoding="utf-8")
    return path


def judged_by(server):
    """Return the options that name the server as the judge."""
    return ["--judge", "openai:m", "--base-url", server.url]


def asked(server):
    return Counter(QUESTION.search(body["messages"][1]["content"])[1] for body in server.bodies)


def started(*words):
    """Start a command as a process of its own."""
    pipe = subprocess.PIPE
    return subprocess.Popen([PROGRAM, *map(str, words)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
