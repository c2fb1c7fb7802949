"""Faults of files that describe a run: each has its line, its key, and what to write instead."""

from __future__ import annotations

import pytest
from golden_files import GOLDEN, same, titled

from greval.errors import DataError
from greval.runs.config.file import read_config_file

FAULTY_RUNS = (
    "data: a\nmetric: [x]\n",
    "data: a\ncases: x\n",
    "data: a\ngates: [x]\n",
    "data: a\nmax-cost: 2\n",
    "data: a\njudge_options: {}\n",
    "data: a\ntemperature: 0\n",
    "judge:\n  model: m\n  out: x\n",
    "judge:\n  modle: m\n",
    "judge: {model: m, max_token: 3}\n",
    "data: a\nmax_calls: 0\n",
    "judge: {temperature: 3}\n",
    "judge: 3\n",
    "answering: {seed: 1}\n",
    "limit: true\n",
    "columns: [a]\n",
    "methods: {a=b: x}\n",
    "methods: [a, a]\n",
    "data:\nmetrics: x\n",
    "data: a\ndata: b\n",
    "data: [\n",
    "",
    "- a\n",
    "limit: 0\nmetric: x\ntemperature: 1\n",
)
FAULTY_PUBLISHED = (
    "",
    "- 1\n",
    "dataset: [\n",
    "dataset: {path: qa.json}\nmethods: []\n",
    """\
datset: {path: qa.json}
dataset:
  path: qa.json
  group: imdb_key
methods: [local, local]
output:
  save_intermediate: 3
judge:
  temperature: 0
generation:
  model: x
  context: far
""",
)


def describe_faults(path, content):
    """Return the error of a file, without its folder."""
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_config_file(path)
    return str(error.value).replace(f"{path.parent}/", "")


def test_messages(tmp_path):
    """All faults of a file are reported at once, in the order of their lines."""
    messages = {
        f"{name} {number}\n{content}": describe_faults(tmp_path / name, content)
        for name, contents in (("greval.yaml", FAULTY_RUNS), ("eval_config.yaml", FAULTY_PUBLISHED))
        for number, content in enumerate(contents, 1)
    }
    same(GOLDEN / "config-faults.txt", titled(messages))


@pytest.mark.parametrize("name", ["api_key", "OPENAI_API_KEY", "token", "password", "client_secret"])
@pytest.mark.parametrize("line", ["{}: sk-1\n", "judge:\n  {}: sk-1\n"])
def test_secrets_are_refused(tmp_path, name, line):
    """A key that looks like a secret is refused, and its value is not printed."""
    message = describe_faults(tmp_path / "greval.yaml", line.format(name))
    assert name in message
    assert "OPENAI_API_KEY" in message
    assert "sk-1" not in message


def test_a_missing_file(tmp_path):
    """The message begins with the file."""
    with pytest.raises(DataError, match=r"none\.yaml: No such file"):
        read_config_file(tmp_path / "none.yaml")
