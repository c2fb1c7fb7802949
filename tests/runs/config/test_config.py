"""Configs and datasets of an evaluation: what they can hold, and how faults are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from framework_folder import make_folder

import greval
from greval.errors import DataError
from greval.metrics.files.yaml_text import read_source
from greval.runs.from_config.config import EvaluationConfig, read_config

PUBLISHED = """
dataset:
  path: "eval/qa.json"

indexes:
  tt1: "one"
  tt2: "two"

methods:
  - local
  - basic

output:
  dir: "eval/results"
  save_intermediate: true

judge:
  model: gpt-5.1  # a comment
  temperature: 0.0
"""


def config(folder, text):
    """Read a config in a folder."""
    make_folder(folder, text)
    return read_config(folder / "eval_config.yaml", folder)


def test_the_published_config(tmp_path):
    """The form of the published design is read; a model without a provider is OpenAI's."""
    read = config(tmp_path, PUBLISHED)
    assert (read.judge.model, read.judge.temperature) == ("openai:gpt-5.1", 0.0)
    assert read.methods == {"local": None, "basic": None}
    assert read.dataset.group_by == "imdb_key"
    assert read.output.save_intermediate


def test_all_faults_are_told_at_once_with_their_line(tmp_path):
    """Slips, wrong types and what is not there: each in its line, none hides another."""
    text = """\
datset: {path: eval/qa.json}
dataset:
  path: eval/qa.json
  group: imdb_key
methods: [local, local]
output:
  save_intermediate: 3
judge:
  temperature: 0
generation:
  model: x
  context: far
"""
    with pytest.raises(DataError) as error:
        config(tmp_path, text)
    lines = [line.removeprefix(f"{tmp_path / 'eval_config.yaml'}:") for line in str(error.value).splitlines()]
    assert [line.partition(":")[0] for line in lines] == ["1", "4", "5", "7", "8", "12"]
    assert "datset: unknown; did you mean dataset?" in lines[0]
    assert "dataset.group: unknown; did you mean group_by?" in lines[1]
    assert "named twice: local" in lines[2]
    assert "output.save_intermediate: must be" in lines[3]
    assert "model is missing" in lines[4]
    assert "'far' is not allowed here; did you mean fair?" in lines[5]


def test_what_is_not_there_is_told_at_once(tmp_path):
    """Files, folders and methods that could not be used are told before anything is asked."""
    text = """\
dataset: {path: eval/qu.json}
indexes:
  tt1: none
methods:
  local:
  togg:
generation: {model: local}
"""
    with pytest.raises(DataError) as error:
        config(tmp_path, text)
    told = str(error.value).splitlines()
    assert [line.split(":")[1] for line in told] == ["1", "3", "6", "7"]
    assert "there is no file" in told[0]
    assert "there is no folder" in told[1]
    assert "togg has no spec; did you mean tog?" in told[2]
    assert "togg: my_module:function" in told[2]
    assert "fair context needs facts" in told[3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "1: dataset: is missing; add it"),
        ("dataset: {path: eval/qa.json}\nmethods: []", "2: methods: holds too little"),
        (
            "dataset: {path: eval/qa.json}\nmethods: [local]",
            "2: methods.1: local, which has no spec, needs the folder of an index",
        ),
        ("dataset: [", "1: is not YAML"),
        ("- 1", "1: must be a mapping"),
    ],
)
def test_faults(tmp_path, text, told):
    """Each fault says where it is and what to do."""
    with pytest.raises(DataError, match=told):
        config(tmp_path, text)


def test_no_config(tmp_path):
    """A config that is not there is told with the options that name it."""
    with pytest.raises(DataError, match="--config and its folder with --root"):
        read_config(tmp_path / "eval_config.yaml", tmp_path)


def test_the_documented_config_is_valid():
    """The config that docs/framework.md shows is read without a fault."""
    page = (Path(greval.__file__).parents[1] / "docs" / "framework.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    read = EvaluationConfig.model_validate(read_source(f"{first}{second}").data)
    assert (read.methods["local"], read.generation.context) == (None, "fair")


def test_a_config_round_trips():
    """A config is a plain value: what it was read from can be written and read again."""
    given = {"dataset": {"path": "q.json"}, "methods": {"a": "m:f", "local": None}, "indexes": {"x": "y"}}
    read = EvaluationConfig.model_validate(given)
    assert EvaluationConfig.model_validate_json(read.model_dump_json()) == read
