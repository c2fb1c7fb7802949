"""Attacks on a server by a client that has a key: what each sends."""

from __future__ import annotations

import asyncio
import gzip
import io
import itertools
import json
from collections.abc import Coroutine, Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from attacked_server import Attack, Attacker
from compared_runs import write as write_run

PARQUET, JSONL, CSV = "application/vnd.apache.parquet", "application/jsonl", "text/csv"
UPLOAD = "/v1/datasets?name=x"
MEGABYTE = 1_000_000
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
}
"""Each attack by its name."""
