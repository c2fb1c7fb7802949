"""The table of models: what is pinned, and what users are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

import greval.judging.local
from greval.errors import JudgeUnavailableError
from greval.judging.local.models import DEFAULT_MODEL, MODELS, LocalModel, find_model

HASH = "ab" * 32


def test_names_are_keys():
    """Each model stands in the table under its own name, the default among them."""
    assert all(model.name == name for name, model in MODELS.items())
    assert DEFAULT_MODEL in MODELS


@pytest.mark.parametrize(
    ("name", "parts"),
    [("qwen2.5-coder-1.5b", 22), ("qwen2.5-coder-0.5b", 6), ("smollm2-135m", 1)],
)
def test_parts_are_pinned_in_order(name, parts):
    """A model's parts are all there, each once, in the order of their numbers."""
    packages = MODELS[name].packages
    assert len({*packages}) == parts
    if parts > 1:
        numbers = [int(package.partition("==")[0].rpartition("part")[2]) for package in packages]
        assert numbers == list(range(1, parts + 1))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_notes_are_honest(model):
    """Every model has a commit of the hub, and its note tells what it is good for."""
    assert len(model.hub.revision) == 40
    assert "trying things out" in model.note or "plumbing only" in model.note


def test_no_address_is_shipped():
    """No file of the package names a registry, a host or a path of some machine."""
    folder = Path(greval.judging.local.__file__).parent
    for path in [*folder.glob("*.py"), *folder.glob("packages/*.txt")]:
        text = path.read_text("utf-8")
        assert "https://" not in text, path
        assert "index-url" not in text, path
        assert "/work/" not in text, path


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../evil"},
        {"packages": ["a==1.0"]},
        {"packages": [f"a --hash=sha256:{HASH}"]},
        {"packages": ["a==1.0 --hash=md5:00"]},
        {"packages": ["--index-url=x"]},
    ],
)
def test_models_have_safe_names_and_pinned_packages(change):
    """A name becomes that of a file, and a package without version and hash could be any other one."""
    with pytest.raises(ValidationError):
        LocalModel(**{**MODELS["smollm2-135m"].model_dump(), **change})


def test_unknown_name_lists_the_known():
    """A wrong name is answered with the right ones and the way to a file."""
    with pytest.raises(JudgeUnavailableError, match=r"smollm2-135m.*local:/path"):
        find_model("gpt-5")
