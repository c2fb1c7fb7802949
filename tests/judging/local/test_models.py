"""The table of models: what is pinned, and what users are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import greval.judging.local
from greval.errors import JudgeUnavailableError
from greval.judging.local.models import DEFAULT_MODEL, MODELS, LocalModel, Package, find_model, parse_packages

HASH = "ab" * 32


def test_names_are_keys() -> None:
    """Each model stands in the table under its own name, the default among them."""
    assert all(model.name == name for name, model in MODELS.items())
    assert DEFAULT_MODEL in MODELS


@pytest.mark.parametrize(
    ("name", "parts"),
    [("qwen2.5-coder-1.5b", 22), ("qwen2.5-coder-0.5b", 6), ("smollm2-135m", 1)],
)
def test_parts_are_pinned_in_order(name: str, parts: int) -> None:
    """A model's parts are all there, each once, in the order of their numbers."""
    packages = MODELS[name].packages
    assert len({package.sha256 for package in packages}) == parts
    if parts > 1:
        numbers = [int(package.name.rpartition("part")[2]) for package in packages]
        assert numbers == list(range(1, parts + 1))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_notes_are_honest(model: LocalModel) -> None:
    """Every note tells the origin, the upstream licence and what the model is good for."""
    assert "Repackaged" in model.note
    assert f"Upstream licence: {model.licence}" in model.note
    assert "trying things out" in model.note or "plumbing only" in model.note


def test_no_address_is_shipped() -> None:
    """No file of the package names a registry, a host or a path of some machine."""
    folder = Path(greval.judging.local.__file__).parent
    for path in [*folder.glob("*.py"), *folder.glob("packages/*.txt")]:
        text = path.read_text("utf-8")
        assert "https://" not in text, path
        assert "index-url" not in text, path
        assert "/work/" not in text, path


@settings(max_examples=25)
@given(
    st.lists(
        st.builds(
            Package,
            name=st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True),
            version=st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}", fullmatch=True),
            sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
        ),
    ),
)
def test_requirements_round_trip(packages: list[Package]) -> None:
    """What is written for pip reads back as the same packages."""
    text = "\n".join(package.requirement for package in packages)
    assert parse_packages(text) == tuple(packages)


def test_comments_and_blank_lines_are_passed_over() -> None:
    """A requirements file may be commented."""
    text = f"# part one\n\n  a-b==1.0 --hash=sha256:{HASH}\n"
    assert [package.name for package in parse_packages(text)] == ["a-b"]


@pytest.mark.parametrize(
    "line",
    ["a==1.0", "a --hash=sha256:" + HASH, "a==1.0 --hash=md5:00", "--index-url=x"],
)
def test_a_line_without_a_pin_is_refused(line: str) -> None:
    """A line without version or hash is an error that names the line."""
    with pytest.raises(ValueError, match="line 2"):
        parse_packages(f"\n{line}")


def test_unknown_name_lists_the_known() -> None:
    """A wrong name is answered with the right ones and the way to a file."""
    with pytest.raises(JudgeUnavailableError, match=r"smollm2-135m.*local:/path"):
        find_model("gpt-5")


def test_a_name_cannot_leave_the_cache() -> None:
    """A model's name becomes a file name, so it may not hold a path."""
    fields = MODELS["smollm2-135m"].model_dump()
    with pytest.raises(ValidationError):
        LocalModel(**{**fields, "name": "../evil"})
