"""Attacks on a server by a client that has a key: what each sends."""

from __future__ import annotations

import asyncio
import gzip
import io
import itertools
import json
import random
from collections.abc import Coroutine, Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from attacked_server import Attack, Attacker
from compared_runs import write as write_run
from fault_server import floods, unpacks

PARQUET, JSONL, CSV = "application/vnd.apache.parquet", "application/jsonl", "text/csv"
UPLOAD = "/v1/datasets?name=x"
MEGABYTE = 1_000_000
TEXT = 200_000
"""The most letters of a text."""
BURST = 80
"""As many requests as a key may send at once."""


def write_parquet(rows: int, letters: int, *, compression: str, columns: int = 1) -> bytes:
    """Return a small file that stands for many long texts."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * letters]))
    names = ("question", "answer", "expected_answer")[:columns]
    file = io.BytesIO()
    pq.write_table(pa.table(dict.fromkeys(names, texts)), file, compression=compression)
    return file.getvalue()


async def _send_all(requests: Iterable[Coroutine[None, None, bytes]]) -> None:
    await asyncio.gather(*requests)


async def upload_parquet_bombs(attacker: Attacker) -> None:
    """Send files of under 2 KB that stand for 6 GB, 4 GB and 20 GB of text."""
    files = (
        write_parquet(256, 7_900_000, compression="zstd", columns=3),
        write_parquet(1_000, 4_000_000, compression="zstd"),
        write_parquet(20_000, 1_000_000, compression="zstd"),
    )
    await _send_all(attacker.send("POST", UPLOAD, file, PARQUET) for file in files)


async def upload_compressed_bombs(attacker: Attacker) -> None:
    """Send what gzip and zstd made small: Parquet of a repeated text, and gzip where plain text is expected."""
    lines = gzip.compress(b'{"question": "a"}\n' * 5 * MEGABYTE)
    plain = pa.table({"question": pa.array(["a" * 4_000_000] * 64)})
    file = io.BytesIO()
    pq.write_table(plain, file, compression="zstd", use_dictionary=False)
    await _send_all(
        (
            attacker.send("POST", UPLOAD, write_parquet(20_000, 1_000_000, compression="gzip"), PARQUET),
            attacker.send("POST", UPLOAD, file.getvalue(), PARQUET),
            attacker.send("POST", UPLOAD, lines, JSONL),
            attacker.send("POST", "/v1/evaluate", lines[: 4 * MEGABYTE]),
        )
    )


async def abandon_uploads(attacker: Attacker) -> None:
    """Send eight files of a million and a half bad rows each, and go away after six seconds."""
    file = b"x\n" * (3 * MEGABYTE // 2)
    await _send_all(attacker.send("POST", UPLOAD, file, JSONL, seconds=6) for _ in range(8))


async def upload_open_quotes(attacker: Attacker) -> None:
    """Send a table of 6 MB in which one quotation mark opens and none closes."""
    file = b'question,answer\n"' + b"a,b\n" * (6 * MEGABYTE // 4)
    await _send_all(attacker.send("POST", UPLOAD, file, CSV) for _ in range(2))


async def upload_long_lines(attacker: Attacker) -> None:
    """Send a case of a million fields."""
    keys = ", ".join(f'"k{n}": 1' for n in range(MEGABYTE))
    file = f'{{"question": "a", {keys}}}\n'.encode()
    await _send_all(attacker.send("POST", UPLOAD, file, JSONL) for _ in range(2))


async def check_metrics(attacker: Attacker) -> None:
    """Send a hundred metric files of 6,500 unknown keys at once."""
    text = "".join(f"k{n}: 1\n" for n in range(6_500))
    content = json.dumps({"yaml": text}).encode()
    await _send_all(attacker.send("POST", "/v1/metrics/check", content) for _ in range(100))


TAGS = 12


def write_compared_run(attacker: Attacker) -> str:
    """Write a run of two methods over 1,500 questions with tags, and return its path in the API."""
    half = [n % 2 for n in range(1_500)]
    tags = [
        {"t": str(n % 3), "u": str(n % 5), **{f"t{k}": str(n % (k + 2)) for k in range(TAGS)}} for n in range(1_500)
    ]
    attacker.runs.mkdir(parents=True, exist_ok=True)
    write_run(attacker.runs / "compared", {("A", "right"): half, ("B", "right"): [*half[1:], 1]}, tags=tags)
    return "/v1/runs/compared"


async def abandon_comparisons(attacker: Attacker) -> None:
    """Ask for ninety comparisons that differ in a parameter which means nothing, and go away after a second."""
    path = write_compared_run(attacker)
    await _send_all(attacker.send("GET", f"{path}/compare?baseline=A&by=t&by=u&x={n}", seconds=1) for n in range(90))


async def abandon_different_comparisons(attacker: Attacker) -> None:
    """Ask for ninety comparisons by different tags, and go away after a second."""
    path = write_compared_run(attacker)
    pairs = itertools.islice(itertools.permutations(range(TAGS), 2), 90)
    await _send_all(
        attacker.send("GET", f"{path}/compare?baseline=A&by=t{one}&by=t{two}", seconds=1) for one, two in pairs
    )


async def follow_many_times(attacker: Attacker) -> None:
    """Follow a run by two hundred event streams."""
    cases = "".join(f'{{"question": "q{n}?", "expected_answer": "a", "answer": "b"}}\n' for n in range(2_000))
    dataset = json.loads(await attacker.send("POST", UPLOAD, cases.encode(), JSONL))
    wanted = json.dumps({"dataset": dataset["id"], "metrics": ["correctness"]}).encode()
    run = json.loads(await attacker.send("POST", "/v1/runs", wanted))
    head = f"GET /v1/runs/{run['id']}/events HTTP/1.1\r\n{attacker.head}\r\n".encode()
    for n in range(200):
        reader, _ = await attacker.connect(head)
        attacker.answers[(await reader.readline()).decode().split()[1]] += 1
        await asyncio.sleep(0.1 if n > BURST else 0)  # as many as the rate of a key allows
    await asyncio.sleep(5)


async def hold_idle_connections(attacker: Attacker) -> None:
    """Open a thousand connections and send nothing."""
    for _ in range(1_000):
        await attacker.connect()
    await asyncio.sleep(5)


async def drip_heads(attacker: Attacker) -> None:
    """Open a thousand connections and send a byte of a head on each every second."""
    head = f"GET /v1/metrics HTTP/1.1\r\n{attacker.head}".encode()
    lines = [(await attacker.connect())[1] for _ in range(1_000)]
    for at in range(15):
        for line in lines:
            line.write(head[at : at + 1])
        await asyncio.sleep(1)


async def pipeline_requests(attacker: Attacker) -> None:
    """Send nine thousand requests on three hundred connections that read nothing, a half of them for a large answer."""
    own = f"GET /openapi.json HTTP/1.1\r\n{attacker.head}\r\n".encode()
    public = f"GET /page/js/main.js HTTP/1.1\r\n{attacker.head}\r\n".encode()
    for _ in range(300):
        _, writer = await attacker.connect((own + public) * 15)
        writer.transport.pause_reading()
    await asyncio.sleep(10)


async def send_large_bodies(attacker: Attacker) -> None:
    """Send large JSON: cases with many chunks, 8 MB of numbers, and 8 MB of short objects."""
    chunks = [{"id": f"c{n}", "text": "a b c"} for n in range(500)]
    case = {"question": "a", "answer": "b", "expected_answer": "c", "chunks": chunks}
    cases = json.dumps({"cases": [case] * 100, "metrics": ["token_f1"]}).encode()
    numbers = b'{"cases": [{"question": "a", "chunks": [' + b"1," * (7 * MEGABYTE // 2) + b"1]}]}"
    objects = b'{"cases": [{"question": "a", "chunks": [' + b'{"a":1},' * (7 * MEGABYTE // 8) + b"{}]}]}"
    for content in (cases, numbers, objects):
        await _send_all(attacker.send("POST", "/v1/evaluate", content) for _ in range(8))


async def send_wide_letters(attacker: Attacker) -> None:
    """Send bodies of 7 MB sixteen times at once whose texts take four times as much memory, for one letter each."""
    chunks = [{"id": f"c{n}", "text": "a" * (TEXT - 1) + "\N{GRINNING FACE}"} for n in range(36)]
    case = {"question": "a", "answer": "b", "expected_answer": "c", "chunks": chunks}
    content = json.dumps({"cases": [case], "metrics": ["token_f1"]}, ensure_ascii=False).encode()
    await _send_all(attacker.send("POST", "/v1/evaluate", content) for _ in range(16))


def draw_words(count: int, seed: int) -> str:
    """Draw words, of which a text has as many letters as a server takes."""
    words = [f"w{number}" for number in range(count)]
    random.Random(seed).shuffle(words)
    return " ".join(words)[:TEXT]


def build_metric(name: str, letters: int, *, kind: str = "") -> bytes:
    """Build the body that stores a judged metric whose text has about so many letters."""
    steps = "".join(f"- Step {number}.\n" for number in range(letters // 16))
    scale = "scale: {categories: {Good: {means: Fine., score: 1}, Bad: {means: Poor., score: 0}}}\n"
    text = f"name: {name}\ndescription: How good it is.\nneeds: [answer]\n{scale}{kind}steps:\n{steps}"
    return json.dumps({"yaml": text}).encode()


def build_request(answer: str, expected: str, *metrics: str) -> bytes:
    """Build the body that evaluates one case."""
    case = {"question": "q", "answer": answer, "expected_answer": expected}
    return json.dumps({"cases": [case], "metrics": metrics}).encode()


async def compare_long_texts(attacker: Attacker) -> None:
    """Judge one case of 400 KB by a metric that compares all words, and one over LangServe whose client leaves."""
    content = build_request(draw_words(33_000, 1), draw_words(33_000, 2), "fuzzy_containment")
    half = json.loads(build_request(draw_words(7_000, 1), draw_words(7_000, 2)))["cases"][0]
    await _send_all(
        (
            attacker.send("POST", "/v1/evaluate", content),
            attacker.send("POST", "/metrics/fuzzy_containment/invoke", json.dumps({"input": half}).encode(), seconds=1),
        )
    )


async def list_stored_metrics(attacker: Attacker) -> None:
    """Store sixty metrics of 14 KB, and list them thirty times at once and twenty times without waiting."""
    for number in range(60):
        await attacker.send("POST", "/v1/metrics", build_metric(f"m{number}", 14_000))
    await _send_all(attacker.send("GET", "/v1/metrics?own=true") for _ in range(30))
    await _send_all(attacker.send("GET", "/v1/metrics?own=true", seconds=2) for _ in range(20))


async def replay_locked_runs(attacker: Attacker) -> None:
    """Replay a run ninety times at once, of which one at a time can be done."""
    path = write_compared_run(attacker)
    await _send_all(attacker.send("POST", f"{path}/replay", b"{}") for _ in range(90))


async def ask_silent_argilla(attacker: Attacker) -> None:
    """Pull from an Argilla server that takes connections and says nothing."""
    path = write_compared_run(attacker)
    body = json.dumps({"dataset": "x"}).encode()
    await _send_all(attacker.send("POST", f"{path}/argilla/pull", body, seconds=20) for _ in range(44))


async def receive_endless_replies(attacker: Attacker) -> None:
    """Judge forty cases by a judge whose replies do not end, and forty by one whose replies unpack to a gigabyte."""
    for reply in (floods, unpacks):
        attacker.judge.plan = reply
        await _send_all(
            attacker.send("POST", "/v1/evaluate", build_request(f"a{number}", "a", "correctness"), seconds=15)
            for number in range(40)
        )


async def read_downloads_slowly(attacker: Attacker) -> None:
    """Save the results of a run forty times at once, in eight different ways, and read little of them."""
    path = write_compared_run(attacker)
    for number in range(40):
        query = f"texts=true&status={('scored', 'skipped')[number % 2]}&metric=right&value={number % 4}"
        head = f"GET {path}/results.jsonl?{query if number % 5 else 'texts=true'} HTTP/1.1\r\n{attacker.head}\r\n"
        _, writer = await attacker.connect(head.encode())
        writer.transport.pause_reading()
    await asyncio.sleep(10)


async def list_wide_data_sets(attacker: Attacker) -> None:
    """Upload data sets with 190 long names of columns, and list them twenty times at once."""
    row = json.dumps({"question": "a", **{f"{'k' * 900}{number}": 1 for number in range(190)}}).encode()
    for _ in range(25):
        await attacker.send("POST", UPLOAD, row + b"\n", JSONL)
    await _send_all(attacker.send("GET", "/v1/datasets") for _ in range(20))


async def fill_annotations(attacker: Attacker) -> None:
    """Label a run by files of 8 MB, and list the labels forty times at once."""
    path = write_compared_run(attacker)
    label = {"sample_id": "0", "method": "A", "metric": "right", "value": 1, "reason": "x" * 1_000}
    lines = [json.dumps({**label, "annotator": f"a{number}"}) for number in range(7_000)]
    content = "\n".join(lines).encode()
    await _send_all(attacker.send("PUT", f"{path}/annotations", content, JSONL) for _ in range(4))
    await _send_all(attacker.send("GET", f"{path}/annotations?limit=10000") for _ in range(40))


async def judge_a_large_case(attacker: Attacker) -> None:
    """Judge a case of 7 MB by every judged metric."""
    chunks = [{"id": f"c{number}", "text": "<b>a " * (TEXT // 5)} for number in range(33)]
    case = {"question": "q", "answer": "a" * TEXT, "expected_answer": "a", "chunks": chunks}
    names = ["correctness", "faithfulness", "chunk_evaluation", "answer_relevance", "answer_alignment"]
    listed = json.loads(await attacker.send("GET", "/v1/metrics?kind=judged"))["metrics"]
    metrics = [metric["name"] for metric in listed if metric["name"] in names or "chunks" in metric["needs"]][:20]
    content = json.dumps({"cases": [case], "metrics": metrics}).encode()
    await _send_all(attacker.send("POST", "/v1/evaluate", content, seconds=30) for _ in range(3))


async def compare_dates(attacker: Attacker) -> None:
    """Judge a case whose texts are lists of dates."""
    dates = " ".join(f"{day % 28 + 1}/12/{1000 + day}" for day in range(17_000))[:TEXT]
    content = build_request(dates, dates[::-1], "token_f1", "exact_match", "fuzzy_containment")
    await _send_all(attacker.send("POST", "/v1/evaluate", content) for _ in range(4))


async def compute_formulas(attacker: Attacker) -> None:
    """Judge a hundred cases by formulas of 1,900 letters that are not stored."""
    formula = " + ".join([f"({' + '.join(['0.001 * token_f1'] * 25)})"] * 4)
    texts = [f"name: f{number}\ndescription: Sum.\nformula: {formula}\n" for number in range(10)]
    case = {"question": "q", "answer": "a b", "expected_answer": "a"}
    names = [f"f{number}" for number in range(10)]
    content = json.dumps({"cases": [case] * 100, "metrics": names, "unsaved": texts}).encode()
    await _send_all(attacker.send("POST", "/v1/evaluate", content) for _ in range(10))


async def forecast_large_cases(attacker: Attacker) -> None:
    """Ask thirty times what a run over 7 MB of cases would cost, and go away after two seconds."""
    chunks = [{"id": f"c{number}", "text": "a b c " * 20} for number in range(500)]
    case = {"question": "a", "answer": "b", "chunks": chunks}
    content = json.dumps({"cases": [case] * 80, "metrics": ["chunk_evaluation"]}).encode()
    await _send_all(attacker.send("POST", "/v1/forecast", content, seconds=2) for _ in range(30))


async def pack_large_pages(attacker: Attacker) -> None:
    """Ask for pages of 8 MB, packed, forty times at once."""
    cases = [{"id": f"q{number}", "question": draw_words(30_000, number)} for number in range(60)]
    rows = "".join(f"{json.dumps(case)}\n" for case in cases)
    dataset = json.loads(await attacker.send("POST", UPLOAD, rows.encode(), JSONL))["id"]
    await _send_all(attacker.send("GET", f"/v1/datasets/{dataset}/cases?limit=1000") for _ in range(40))


async def follow_large_requests(attacker: Attacker) -> None:
    """Start runs with a hundred thousand names of samples each, list them, and follow them by a hundred streams."""
    case = {"question": "q", "answer": "a", "expected_answer": "b"}
    rows = "".join(f"{json.dumps({'id': f'q{number}', **case})}\n" for number in range(20))
    dataset = json.loads(await attacker.send("POST", UPLOAD, rows.encode(), JSONL))["id"]
    ids = ["q1", *(f"{'x' * 60}{number}" for number in range(99_000))]
    wanted = {"dataset": dataset, "metrics": ["correctness"], "sample_ids": ids}
    content = json.dumps(wanted).encode()
    answers = [await attacker.send("POST", "/v1/runs", content) for _ in range(12)]
    runs = [json.loads(answer)["id"] for answer in answers if b'"id"' in answer]
    await _send_all(attacker.send("GET", "/v1/runs") for _ in range(30))
    for number in range(60):
        await attacker.connect(
            f"GET /v1/runs/{runs[number % len(runs)]}/events HTTP/1.1\r\n{attacker.head}\r\n".encode()
        )
    await asyncio.sleep(8)


async def list_versions(attacker: Attacker) -> None:
    """Save a metric of 40 KB twenty times, list its versions thirty times, and compare them."""
    for number in range(20):
        kind = f"instructions: Version {number}.\n"
        await attacker.send("POST", "/v1/metrics?replace=true", build_metric("m", 40_000, kind=kind))
    await _send_all(attacker.send("GET", "/v1/metrics/m/versions", seconds=5) for _ in range(30))
    await _send_all(attacker.send("GET", f"/v1/metrics/m/versions/{number % 19 + 1}/diff") for number in range(30))


async def compare_different_lines(attacker: Attacker) -> None:
    """Compare versions of which each line differs a little."""
    for number in range(4):
        text = "".join(f"# {(line * (number + 7)) % 97}\n" for line in range(9_000))
        body = json.loads(build_metric("m", 200))
        await attacker.send(
            "POST", "/v1/metrics?replace=true", json.dumps({"yaml": f"{body['yaml']}{text}"[:65_000]}).encode()
        )
    await _send_all(attacker.send("GET", "/v1/metrics/m/versions/1/diff?to=3", seconds=10) for _ in range(30))


async def draw_large_walks(attacker: Attacker) -> None:
    """Draw a walk of fifty thousand edges twenty times."""
    edges = [[f"n{number}", "to", f"n{number * 7 % 40_000}"] for number in range(50_000)]
    case = {"question": "q", "traversal": {"start_nodes": ["n0"], "traversed_edges": edges, "final_nodes": ["n1"]}}
    content = json.dumps({"input": case}).encode()
    await _send_all(attacker.send("POST", "/v1/walk.svg", content, seconds=20) for _ in range(20))


async def search_many_words(attacker: Attacker) -> None:
    """Search a run for ninety texts of 500 letters, and go away after a second."""
    path = write_compared_run(attacker)
    await _send_all(attacker.send("GET", f"{path}/search?q={'a+' * 240}{number}", seconds=1) for number in range(90))


async def group_by_many_values(attacker: Attacker) -> None:
    """Report a run by eight tags, each with as many values as there are questions."""
    attacker.runs.mkdir(parents=True, exist_ok=True)
    tags = [{f"t{tag}": f"{number}-{tag}" for tag in range(8)} for number in range(3_000)]
    write_run(attacker.runs / "grouped", {("A", "right"): [number % 2 for number in range(3_000)]}, tags=tags)
    query = "&".join(f"by=t{tag}" for tag in range(8))
    await _send_all(
        attacker.send("GET", f"/v1/runs/grouped/{kind}?{query}&x={number}", seconds=10)
        for number in range(10)
        for kind in ("report", "diagnose")
    )
    await _send_all(attacker.send("GET", f"/v1/runs/grouped/report?{query}", seconds=10) for _ in range(10))


async def save_at_once(attacker: Attacker) -> None:
    """Save the same metric eighty times at once, and delete it as often."""
    await _send_all(
        attacker.send("POST", "/v1/metrics?replace=true", build_metric("m", 1_000 + number)) for number in range(80)
    )
    await _send_all(attacker.send("DELETE", "/v1/metrics/m") for _ in range(40))


ATTACKS: dict[str, Attack] = {
    "Parquet bombs": upload_parquet_bombs,
    "gzip and zstd bombs": upload_compressed_bombs,
    "abandoned uploads": abandon_uploads,
    "open quotes": upload_open_quotes,
    "a million keys": upload_long_lines,
    "metric files": check_metrics,
    "abandoned comparisons": abandon_comparisons,
    "different comparisons": abandon_different_comparisons,
    "event streams": follow_many_times,
    "idle connections": hold_idle_connections,
    "dripping connections": drip_heads,
    "pipelined requests": pipeline_requests,
    "large bodies": send_large_bodies,
    "wide letters": send_wide_letters,
    "long texts": compare_long_texts,
    "stored metrics": list_stored_metrics,
    "locked runs": replay_locked_runs,
    "silent Argilla": ask_silent_argilla,
    "endless replies": receive_endless_replies,
    "slow downloads": read_downloads_slowly,
    "wide data sets": list_wide_data_sets,
    "annotations": fill_annotations,
    "a large case": judge_a_large_case,
    "dates": compare_dates,
    "formulas": compute_formulas,
    "forecasts": forecast_large_cases,
    "packed pages": pack_large_pages,
    "large requests": follow_large_requests,
    "versions": list_versions,
    "different lines": compare_different_lines,
    "walks": draw_large_walks,
    "searches": search_many_words,
    "many groups": group_by_many_values,
    "saves at once": save_at_once,
}
"""Each attack by its name."""
