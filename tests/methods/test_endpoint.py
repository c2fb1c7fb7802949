"""HTTP endpoints as methods: what is sent, how replies are read, and that secrets stay secret."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from method_server import MethodServer, Reply
from waiting import SECONDS

from greval import Sample
from greval.errors import MethodError
from greval.methods.endpoint import Endpoint, HttpMethod, ReplyMapping, read_endpoint
from greval.methods.loading import load_method

SAMPLE = Sample(
    id="q1",
    question='Who "leads" {tags.lang} ${HOME} Team Tern?\n',
    tags={"lang": "de", "top": "3"},
    gold={"essential_docs": ["d1", "d2"]},
)


KEY = 'very-"secret"-key-4711'


REPLY = {
    "data": {
        "text": "Wanda.",
        "hits": [
            {"ref": 17, "body": {"content": "One."}, "rank": 0.5, "file": "a.md"},
            {"ref": 18, "body": {"content": "Two."}, "rank": 0.25, "file": None},
        ],
        "facts": [{"s": "Tern", "p": "led by", "o": "Wanda"}],
        "walk": {"from": ["Tern"], "edges": [["Tern", "led by", "Wanda"]], "to": [4]},
        "rows": [{"a": "Tern", "is": "led by", "b": 7}],
    },
    "meta": {"tokens": {"in": 12, "out": 3}, "model.name": "m", "counts": ["leads: 1"]},
}


LINES = {
    "answer": "data.text",
    "chunks": "data.hits",
    "chunks.id": "ref",
    "chunks.text": "body.content",
    "chunks.score": "rank",
    "chunks.doc_id": "file",
    "triples": "data.facts",
    "triples.subject": "s",
    "triples.predicate": "p",
    "triples.object": "o",
    "traversal.start_nodes": "data.walk.from",
    "traversal.traversed_edges": "data.walk.edges",
    "traversal.final_nodes": "data.walk.to",
    "aggregates": "meta.counts",
    "usage.prompt_tokens": "meta.tokens.in",
    "usage.cost": "meta.cost?",
}


@pytest.fixture
def server():
    """Give a server that answers well until its `plan` is set."""
    with MethodServer() as server:
        yield server


def asked(method, sample=SAMPLE):
    return asyncio.run(method(sample))


def endpoint(server, **settings):
    return HttpMethod(Endpoint(url=f"{server.url}/ask", **settings))


def test_an_address_alone(server):
    """An address takes the question and gives the fields of a response; what else it gives is its own business."""
    server.plan = lambda asked: Reply(
        {"answer": asked.body["question"], "chunks": [{"id": "a", "text": "x", "rank": 1}], "took": 3, "usage": None}
    )
    response = asked(load_method(f"{server.url}/ask"))
    assert response.answer == SAMPLE.question
    assert response.chunks[0].text == "x"
    assert server.asked[0].method == "POST"


def test_a_reply_is_read_by_paths(server):
    """Each field is found where its path says; numbers become texts where texts belong."""
    server.plan = lambda _: Reply(REPLY)
    response = asked(endpoint(server, response=LINES))
    assert response.answer == "Wanda."
    assert [(c.id, c.text, c.doc_id, c.score) for c in response.chunks] == [
        ("17", "One.", "a.md", 0.5),
        ("18", "Two.", None, 0.25),
    ]
    assert (response.triples[0].id, response.triples[0].object) == ("t1", "Wanda")
    assert response.traversal.traversed_edges == (("Tern", "led by", "Wanda"),)
    assert response.traversal.final_nodes == ("4",)
    assert response.aggregates == ("leads: 1",)
    assert (response.usage.prompt_tokens, response.usage.cost) == (12, None)


def test_edges_as_objects():
    """Edges may be objects; a path may go through every item of a list."""
    edges = {"traversal.traversed_edges": "data.rows"}
    parts = {"source": "a", "label": "is", "target": "b"}
    mapping = ReplyMapping(edges | {f"traversal.traversed_edges.{part}": path for part, path in parts.items()})
    assert mapping.read(REPLY) == {"traversal": {"traversed_edges": [["Tern", "led by", "7"]]}}
    assert ReplyMapping({"chunks": "data.hits[*].body", "chunks.text": "content"}).read(REPLY) == {
        "chunks": [{"text": "One."}, {"text": "Two."}]
    }
    assert ReplyMapping({"chunks": "data.hits[*].body.content"}).read(REPLY) == {"chunks": ["One.", "Two."]}


def test_an_error_in_a_good_reply(server):
    """A reply that tells an error with status 200 is a failed response."""
    server.plan = lambda _: Reply({"error": {"message": "index is loading"}})
    lines = {"error": "error.message?", "answer": "text"}
    assert asked(endpoint(server, response=lines)).error == "index is loading"
    server.plan = lambda _: Reply({"text": "fine"})
    assert asked(endpoint(server, response=lines)).answer == "fine"


def test_the_body_holds_the_sample_as_data(server):
    """Fields are put in as data: quotes, braces and variables of a question stay what they are."""
    server.plan = lambda _: Reply({"answer": "x"})
    asked(endpoint(server, body={"query": "{question}", "docs": "{gold.essential_docs}", "none": "{expected_answer}"}))
    assert server.asked[0].body == {"query": SAMPLE.question, "docs": ["d1", "d2"], "none": None}


def test_the_address_holds_the_sample(server):
    """A GET sends the question in the address, quoted, and no body."""
    server.plan = lambda _: Reply({"answer": "x"})
    asked(HttpMethod(Endpoint(url=f"{server.url}/{{tags.lang}}/ask?q={{question}}", method="GET")))
    assert server.asked[0].path == ("/de/ask?q=Who%20%22leads%22%20%7Btags.lang%7D%20%24%7BHOME%7D%20Team%20Tern%3F%0A")
    assert server.asked[0].body is None


def test_secrets_are_sent_and_never_told(server, monkeypatch, caplog):
    """A key of the environment is sent in header and body; replies, errors and logs that hold it are blotted."""
    monkeypatch.setenv("RAG_PASS", KEY)
    caplog.set_level(logging.DEBUG)
    settings = {"headers": {"Authorization": "Bearer ${RAG_PASS}"}, "body": {"k": "${RAG_PASS}", "q": "{question}"}}
    method = endpoint(server, **settings)
    server.plan = lambda asked: Reply({"answer": f"You sent {asked.headers['Authorization']}"})
    assert asked(method).answer == "You sent Bearer [key]"
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert server.asked[0].body == {"k": KEY, "q": SAMPLE.question}
    server.plan = lambda asked: Reply(f"wrong key {asked.body['k']}", status=401)
    with pytest.raises(MethodError, match=r"status 401: wrong key \[key\]$") as raised:
        asked(method)
    server.plan = lambda asked: Reply({asked.body["k"]: 1})
    with pytest.raises(MethodError) as second_error:
        asked(method)
    assert KEY not in "".join([repr(method), str(raised.value), str(second_error.value), caplog.text])


def test_variables_that_are_no_secrets(server, monkeypatch):
    """What a variable's name and place do not tell as a key is sent too, and left alone in replies."""
    monkeypatch.setenv("RAG_COLLECTION", "harbour")
    monkeypatch.setenv("RAG_TOKEN", "tok-1")
    server.plan = lambda asked: Reply({"answer": f"The harbour opens. {asked.body['token']}"})
    method = endpoint(server, body={"in": "${RAG_COLLECTION}", "token": "${RAG_TOKEN}"})
    assert asked(method).answer == "The harbour opens. [key]"
    assert server.asked[0].body == {"in": "harbour", "token": "tok-1"}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply("Internal\n\n  error", status=500), "status 500: Internal error$"),
        (Reply("x" * 1000, status=404), "status 404: x{197}\\.\\.\\.$"),
        (Reply("", status=503), r"status 503: \(empty\)"),
        (Reply("", status=302, headers={"Location": "http://127.0.0.1:1/"}), "status 302"),
        (Reply("<html>"), "the reply is not JSON: <html>"),
        (Reply('{"answer": "cut'), "the reply is not JSON"),
        (Reply([1]), "the reply is no object; it should hold answer"),
        (Reply({"detail": 1}), "the reply is an object with detail; it should hold answer"),
        (Reply({"answer": [3]}), "answer: input should be a valid string"),
    ],
)
def test_replies_that_are_no_responses(server, reply, told):
    """An error status, no JSON and no fields are errors with a piece of the body, never an empty answer."""
    server.plan = lambda _: reply
    with pytest.raises(MethodError, match=told):
        asked(endpoint(server))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ({"answer": "data.txt"}, "nothing is at data.txt: data is an object with text, hits, facts, walk, rows"),
        ({"answer": "data.hits[5].ref"}, "data.hits is a list of 2"),
        ({"answer": "data[*]"}, "data is an object with .*, not a list"),
        ({"answer": "data.text.more"}, "data.text is a text"),
        ({"chunks": "data.text"}, "chunks: expected a list at data.text, got str"),
        ({"chunks": "data.hits", "chunks.text": "content"}, "nothing is at content: the content is an object with ref"),
        ({"chunks": "data.hits"}, "chunks.0.text: field required"),
        ({"usage.cost": "meta.tokens.in"}, "has none of answer"),
    ],
)
def test_paths_that_lead_nowhere(server, lines, told):
    """A path that leads nowhere names what is there instead."""
    server.plan = lambda _: Reply(REPLY)
    with pytest.raises(MethodError, match=told):
        asked(endpoint(server, response=lines))


def test_a_server_that_is_slow(server):
    """The endpoint's own timeout ends a call that takes longer."""
    release = threading.Event()

    def slow(_):
        release.wait(SECONDS)
        return Reply({"answer": "late"})

    server.plan = slow
    try:
        with pytest.raises(MethodError, match=r"no reply within 0\.1 s"):
            asked(endpoint(server, timeout=0.1))
    finally:
        release.set()


def test_a_server_that_is_not_there():
    """An address where nobody listens is told with the address."""
    with pytest.raises(MethodError, match=r"http://127.0.0.1:9/ask: cannot be reached: ConnectError"):
        asked(load_method("http://127.0.0.1:9/ask?x=1"))


def test_many_calls_in_several_loops(server):
    """One method serves many calls at once, and one loop after another."""

    async def many():
        return await asyncio.gather(*(method(Sample(question=f"Q{n}")) for n in range(20)))

    method = load_method(server.url)
    for _ in range(2):
        assert [response.answer for response in asyncio.run(many())] == [f"You asked: Q{n}" for n in range(20)]


FILE = """\
url: {url}/ask
headers: {{X-Api-Key: "${{RAG_PASS}}"}}
body:
  query: "{{question}}"
  top_k: 5
response:
  answer: text
"""


def test_a_file(server, tmp_path, monkeypatch):
    """An endpoint file says what is sent, and where the answer is; JSON is YAML too."""
    monkeypatch.setenv("RAG_PASS", KEY)
    path = tmp_path / "rag.yaml"
    path.write_text(FILE.format(url=server.url), encoding="utf-8")
    server.plan = lambda _: Reply({"text": "from a file"})
    assert asked(load_method(str(path))).answer == "from a file"
    assert server.asked[0].body == {"query": SAMPLE.question, "top_k": 5}
    assert server.asked[0].headers["X-Api-Key"] == KEY


def test_all_faults_of_a_file_at_once(tmp_path):
    """Each fault of a file is told with its line and what to do, all in one go."""
    path = tmp_path / "rag.yaml"
    path.write_text(
        'url: http://127.0.0.1/{quesion}\nheaders:\n  Authorization: "Bearer abc"\nbdy: 3\n'
        'body: {q: "{qestion}"}\ntimeout: 0\nmethod: DELETE\nresponse: {answer: text}\n',
        encoding="utf-8",
    )
    with pytest.raises(MethodError) as raised:
        read_endpoint(path)
    told = str(raised.value).splitlines()
    assert [line.removeprefix(f"{path}:").partition(":")[0] for line in told] == ["1", "3", "4", "5", "6", "7"]
    assert "did you mean question?" in told[0]
    assert 'keys come from the environment: "Bearer ${MY_KEY}"' in told[1]
    assert "abc" not in str(raised.value)
    assert "bdy: unknown; did you mean body?" in told[2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "rag.yaml:1:"),
        ("[1", "rag.yaml:1: is not YAML"),
        ("body: x", "rag.yaml:1: url: is missing; add it"),
        ("url: ftp://x/y", "must be an address such as"),
        ("url: http://user:pass@host/", "keys do not belong into an address"),
        ("url: http://host/?api_key=x", "keys do not belong into an address"),
        ('url: "http://host/${KEY}"', "keys do not belong into an address"),
        ('url: http://host/\nheaders: {X-Lang: "{tags.lang}"}', "X-Lang: a header takes ${NAME}"),
        ("url: http://host/\nresponse: {anser: x}", "anser: is not a field of a response; did you mean answer?"),
        ("url: http://host/\nresponse: {chunks.text: x}", "chunks.text: add chunks, the path of the list"),
        ("url: http://host/\nresponse: {answer: 'a..b'}", "'a..b' is not a path"),
    ],
)
def test_faults_of_a_file(tmp_path, text, told):
    """What an endpoint file cannot be is told."""
    path = tmp_path / "rag.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MethodError) as raised:
        read_endpoint(path)
    assert told in str(raised.value)
