"""How many tokens a text has."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from langchain_openai import ChatOpenAI
from waiting import SECONDS

from greval.judging.local.fetch import fetch
from greval.judging.model.judge import Judge, get_chat_model
from greval.judging.model.tokens import (
    ESTIMATE_METHOD,
    OWN_TOKENIZER,
    _load_encoding,
    create_token_counter,
    estimate_tokens,
)
from greval.testing import ScriptedJudge

texts = st.text(max_size=200)


class Words(BaseHTTPRequestHandler):
    """A server that counts a word as a token, for those who know the key."""

    def do_POST(self):
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["content"]
        allowed = self.headers["Authorization"] == "Bearer key" and self.path == self.server.place
        body = json.dumps({"tokens": [*range(len(text.split()))]} if allowed else {"error": "no"}).encode()
        self.send_response(200 if allowed else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep silent."""


@pytest.fixture
def words():
    """Give a running server that counts words."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Words) as server:
        server.place = "/tokenize"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def closing():
    """Close the clients that a test made."""
    models = []
    yield models.append
    for model in models:
        model.root_client.close()
        asyncio.run(model.root_async_client.close())


@pytest.fixture
def ask(closing):
    """Give a function that makes a model of OpenAI's kind at an address."""

    def make(base_url, model="fine", key="key"):
        model_made = ChatOpenAI(model=model, base_url=base_url, api_key=key)
        closing(model_made)
        return model_made

    return make


@given(texts, texts)
def test_an_estimate_grows_with_the_text(text, more):
    """It is 0 for the empty text only, never more than the letters, and for two texts no more than for each alone."""
    assert estimate_tokens(text) <= estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more)
    assert bool(text) <= estimate_tokens(text) <= len(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("あいう", 2), ("ab あいう", 3), ("x" * 4000, 1000)],
)
def test_an_estimate_takes_four_letters_a_token_and_fewer_in_other_scripts(text, tokens):
    """Four ASCII letters are a token, and one and a half of other scripts."""
    assert estimate_tokens(text) == tokens


def test_a_model_of_no_known_kind_is_estimated_and_says_so():
    """Counts for a model that has no tokenizer here are marked as estimates."""
    count = create_token_counter(ScriptedJudge([]))
    assert (count("abcde"), count.exact, count.how) == (2, False, ESTIMATE_METHOD)


@pytest.fixture
def encodings():
    """Forget which encodings this process has found, before and after."""
    _load_encoding.cache_clear()
    yield
    _load_encoding.cache_clear()


def test_an_encoding_on_this_machine_is_used(ask, encodings, monkeypatch):
    """A model of OpenAI is counted with its own encoding where that is here, and words of control are plain text."""
    ranks = {bytes([number]): number for number in range(256)} | {b"op": 256, b"en": 257, b"open": 258}
    encoding = tiktoken.Encoding(
        "o200k_base", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<|end|>": 259}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", encoding)
    count = create_token_counter(ask("https://api.openai.com/v1", "gpt-4.1-mini"))
    assert (count("open a"), count.exact, count.how) == (3, True, "tiktoken o200k_base")
    assert count("<|end|>") == 6


def test_a_model_that_tiktoken_does_not_know_is_estimated(ask):
    """An unknown name has no encoding that could be taken for its own."""
    assert not create_token_counter(ask("https://api.openai.com/v1", "my-own-model")).exact


@pytest.mark.parametrize(("base", "place"), [("/v1", "/tokenize"), ("/llm/v1/", "/llm/tokenize"), ("", "/tokenize")])
def test_a_server_is_asked_for_its_own_count(ask, words, base, place):
    """A server that counts tokens beside /v1 is asked, with its key."""
    words.place = place
    count = create_token_counter(ask(f"http://127.0.0.1:{words.server_port}{base}"))
    assert (count("one two three"), count.exact, count.how) == (3, True, OWN_TOKENIZER)


def test_a_server_that_refuses_or_does_not_count_is_estimated(ask, words, fault_server):
    """A server of OpenAI's kind need not count tokens, and without the right key there is no error either."""
    assert not create_token_counter(ask(f"http://127.0.0.1:{words.server_port}/v1", key="wrong")).exact
    assert create_token_counter(ask(fault_server.url)).how == ESTIMATE_METHOD


def test_a_server_that_goes_away_is_estimated_from_then_on(ask, words):
    """Counts go on as estimates when the server fails, and say so."""
    count = create_token_counter(ask(f"http://127.0.0.1:{words.server_port}/v1"))
    assert count("one two") == 2
    words.place = "/gone"
    assert count("one two") == 2
    assert not count.exact
    assert count.how.startswith("estimated")
    assert "failed" in count.how


HANGING = """
from langchain_openai import ChatOpenAI
from greval.judging.model.tokens import create_token_counter

model = ChatOpenAI(model="gpt-4.1-mini", base_url="https://api.openai.com/v1", api_key="key")
count = create_token_counter(model)
again = create_token_counter(model)
print(count.exact, again.exact)
"""


@pytest.mark.nightly
def test_a_fetch_that_hangs_is_given_up(tmp_path):
    """An encoding that does not come is done without, and asked for once in a process."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = {"HTTPS_PROXY": proxy, "TIKTOKEN_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "-c", HANGING]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS, check=False)
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.local_model
async def test_the_embedded_model_counts_its_own_tokens():
    """The embedded model tells its tokens exactly."""
    fetch("smollm2-135m")
    count = create_token_counter(await get_chat_model(Judge("local:smollm2-135m")))
    assert (count("When does it open?"), count.exact, count.how) == (5, True, OWN_TOKENIZER)
