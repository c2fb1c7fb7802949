"""The published form is read into the configuration of a run, and what it refers to is checked in its own places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from framework_folder import make_folder

import greval
from greval.errors import DataError
from greval.judging.model.judge import Judge
from greval.metrics.files.yaml_text import read_source
from greval.runs.config.api import evaluate_config
from greval.runs.config.file import build_config, read_config_file

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
    return read_config_file(make_folder(folder, text) / "eval_config.yaml").config


def test_the_published_config(tmp_path):
    """The form of the published design is read; a model without a provider is OpenAI's."""
    read = config(tmp_path, PUBLISHED)
    assert read.judge.create_judge() == Judge("openai:gpt-5.1", temperature=0.0)
    assert read.methods == {"local": None, "basic": None}
    assert read.indexes == {"tt1": str(tmp_path / "one"), "tt2": str(tmp_path / "two")}
    assert (read.data, read.group_by) == (str(tmp_path / "eval/qa.json"), "imdb_key")
    assert (read.out, read.result_files) == (str(tmp_path / "eval/results"), "during")


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
        evaluate_config(make_folder(tmp_path, text) / "eval_config.yaml")
    lines = str(error.value).splitlines()
    assert [line.removeprefix(f"{tmp_path}/eval_config.yaml:").split(": ")[:2] for line in lines] == [
        ["1", "dataset.path"],
        ["3", "indexes.tt1"],
        ["6", "methods.togg"],
        ["7", "generation"],
    ]
    assert "did you mean tog?" in lines[2]


def test_methods_of_a_list_have_their_place(tmp_path):
    """A search without an index is reported with its position."""
    path = make_folder(tmp_path, "dataset: {path: eval/qa.json}\nmethods: [local]\n") / "eval_config.yaml"
    with pytest.raises(DataError, match=r":2: methods\.1: local, which has no spec, needs the folder of an index"):
        evaluate_config(path)


def test_the_documented_config_is_valid():
    """The config that docs/framework.md shows is read without a fault."""
    page = (Path(greval.__file__).parents[1] / "docs" / "framework.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    read = build_config(read_source(f"{first}{second}").data)
    assert (read.methods["local"], read.generation.context) == (None, "fair")
