"""The keys of a run: their schema, their types, and what replaces what."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

import greval
from greval.errors import MethodError
from greval.judging.model.judge import Judge
from greval.runs.config.file import build_config, read_config_file
from greval.runs.config.judge_config import JUDGE_KEYS, JudgeConfig
from greval.runs.config.model import RunConfig, build_config_schema, list_keys

ROOT = Path(greval.__file__).parents[1]
SCHEMA = build_config_schema()
JUDGE = SCHEMA["$defs"]["JudgeConfig"]


class TestSchema:
    """The schema for editors, and the page for people."""

    def test_the_schema_has_every_key(self):
        """It knows exactly the keys, and describes each."""
        settings = JUDGE["anyOf"][1]["properties"]
        assert {*SCHEMA["properties"]} == {*list_keys(RunConfig)}
        assert {*settings} == {*JUDGE_KEYS} == {*Judge.model_fields}
        assert all(part["description"] for part in [*SCHEMA["properties"].values(), *settings.values()])
        Draft7Validator.check_schema(SCHEMA)

    @pytest.mark.parametrize(
        ("content", "is_valid"),
        [
            ({"judge": "local", "metrics": "a", "methods": ["a"]}, True),
            ({"judge": {"model": ["local", "tone=local"], "temperature": "none"}, "methods": {"a": "m:f"}}, True),
            ({"judge": {"modle": "local"}}, False),
            ({"limit": 0}, False),
            ({"limits": 1}, False),
        ],
    )
    def test_it_accepts_what_is_read(self, content, is_valid):
        """Editors and greval agree on what is a key."""
        assert Draft7Validator(SCHEMA).is_valid(content) == is_valid

    def test_the_page_names_every_key(self):
        """docs/config.md has a row for each key."""
        page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
        keys = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
        assert keys == {*list_keys(RunConfig)} - {"judge"} | {f"judge.{name}" for name in JUDGE_KEYS}


VALUES = {
    "integer": st.integers(1, 9),
    "number": st.floats(0.1, 1.5),
    "boolean": st.booleans(),
    "string": st.sampled_from(["a", "b c", "d-1", "Ärger"]),
}


@given(st.data())
def test_a_value_that_the_schema_accepts_is_read(tmp_path_factory, data):
    """What an editor accepts for a plain key is the value of the key, paths relative to the file."""
    schema = SCHEMA["properties"]
    plain = {name: part for name, part in schema.items() if part.get("type") in VALUES and "enum" not in part}
    name = data.draw(st.sampled_from(sorted(plain)))
    value = data.draw(VALUES[plain[name]["type"]].filter(Draft7Validator(plain[name]).is_valid))
    text = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)
    file = tmp_path_factory.mktemp("keys") / "greval.yaml"
    file.write_text(f"{name}: {text}\n", encoding="utf-8")
    (read,) = read_config_file(file).config.model_dump(exclude_unset=True).values()
    assert read in {value, str(file.parent / str(value))}


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    """Data, metric files, folders, methods and the run folder are found beside the file, from any folder."""
    monkeypatch.chdir(tmp_path)
    Path("ci/own").mkdir(parents=True)
    for name in ("own/tone.yaml", "length.py", "rag.py"):
        Path("ci", name).touch()
    content = {
        "data": "cases.jsonl",
        "gold": "gold.jsonl",
        "library": ["own"],
        "metrics": ["own", "length.py:words", "own/tone.yaml,latency", "tone"],
        "methods": {"a": "rag.py:ask", "b": "rag:ask"},
        "out": "runs/x",
    }
    Path("ci/run.yaml").write_text(json.dumps(content), encoding="utf-8")
    assert read_config_file(Path("ci/run.yaml")).config.model_dump(exclude_unset=True) == {
        "data": "ci/cases.jsonl",
        "gold": ("ci/gold.jsonl",),
        "library": ("ci/own",),
        "metrics": ("ci/own", "ci/length.py:words", "ci/own/tone.yaml,latency", "tone"),
        "methods": {"a": "ci/rag.py:ask", "b": "rag:ask"},
        "out": "ci/runs/x",
    }


def test_what_is_set_is_written_and_read_again():
    """A configuration is a plain value; what it was read from can be written and read again."""
    content = {
        "data": "cases.jsonl",
        "metrics": ["a", "b"],
        "judge": {"model": "openai:m", "temperature": "none", "options": {"top_p": 1}},
        "methods": {"a": "m:f", "local": None},
        "where": {"year": ["1843"]},
        "json": True,
    }
    config = build_config(content)
    written = config.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert written == content
    assert build_config(written) == config


class TestReplacing:
    """Keys of another configuration go before those of the first."""

    BASE = build_config({"limit": 2, "judge": {"model": "openai:a", "seed": 1}, "methods": {"a": "m:f", "b": None}})

    def test_only_keys_that_are_set_are_replaced(self):
        """A default of the other configuration replaces nothing."""
        assert self.BASE.replace_by(RunConfig()) == self.BASE
        assert self.BASE.replace_by(RunConfig(limit=3)).limit == 3
        assert self.BASE.replace_by(RunConfig(retry_failed=True)).keys == ("judge", "limit", "methods", "retry_failed")

    def test_settings_of_the_judge_are_replaced_one_by_one(self):
        """A name keeps the settings of the file, and a setting keeps its name."""
        judge = self.BASE.replace_by(build_config({"judge": "openai:b"})).judge
        assert judge.create_judge() == Judge("openai:b", seed=1)
        judge = self.BASE.replace_by(build_config({"judge": {"seed": 2, "timeout": 9}})).judge
        assert judge.create_judge() == Judge("openai:a", seed=2, timeout=9)

    def test_a_method_without_a_spec_is_one_of_the_first(self):
        """A part of the methods is named without their specs; an unknown one is an error that names the nearest."""
        assert self.BASE.replace_by(build_config({"methods": ["a"]})).methods == {"a": "m:f"}
        assert self.BASE.replace_by(build_config({"methods": {"a": "m:g", "b": None}})).methods == {
            "a": "m:g",
            "b": None,
        }
        with pytest.raises(MethodError, match="no method 'aa'; did you mean a"):
            self.BASE.replace_by(build_config({"methods": ["aa"]}))


def test_a_judge_is_a_name_settings_or_an_object():
    """The three forms are one judge."""
    forms = ("openai:m", {"model": "openai:m"}, Judge("openai:m"))
    assert {JudgeConfig.model_validate(form).create_judge().label for form in forms} == {"openai:m"}
