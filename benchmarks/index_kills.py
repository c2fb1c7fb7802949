"""Whether an index survives kills: `greval index build` is killed with -9 at random moments, and run again.

    python benchmarks/index_kills.py               # 20 kills; the documents change after every fourth
    python benchmarks/index_kills.py --kills 100

A model of this machine extracts entities and relations, which takes 20 to 50 ms a chunk, so that it is seen what was
asked twice. After each kill the index is compared, by content, with those of unbroken commands.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from fault_scene import FORKED, JITTER, KEY, LATENCY
from fault_server import FaultServer, gives
from reference_indexes import SETTINGS, digest_index, find_names, make_documents, make_model

from greval.cli import main
from greval.methods.reference_index import LEDGER_FILE
from greval.reference.building import CONCURRENCY, build_index
from greval.reference.index import ReferenceIndex
from greval.reference.records import Document

KILLS_BETWEEN_CHANGES = 4
CHANGED_SHARE = 0.2
FORKED.set_forkserver_preload(
    [
        "fault_scene",
        "greval.reference.commands.index",
        "greval.reference.building",
        "langchain_openai",
        "ladybug",
        "bm25s",
    ]
)


def start(folder: Path, url: str) -> ForkServerProcess:
    """Start the command in a process of its own."""
    options = ("--extract", "openai:m", "--embedding", "tfidf", "--chunk-chars", str(SETTINGS.chunk_chars), "-q")
    process = FORKED.Process(target=run, args=(folder, url, ("index", "build", "rows.jsonl", "-o", "index", *options)))
    process.start()
    return process


def run(folder: Path, url: str, words: Sequence[str]) -> None:
    """Be the command line, with the server as the model."""
    os.chdir(folder)
    os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}
    sys.argv = ["greval", *words]
    main()


def change_documents(documents: Sequence[Document], draw: random.Random) -> list[Document]:
    """Return the documents with some of them changed, one removed and one added."""
    kept = [
        one.model_copy(update={"text": f"{one.text} Gulls cry {draw.randrange(10**9)} times."})
        if draw.random() < CHANGED_SHARE
        else one
        for one in documents[1:]
    ]
    number = max(int(one.id.removeprefix("harbour/").removesuffix(".md")) for one in documents) + 1
    return [*kept, *make_documents(1, start=number)]


def find_digest(folder: Path) -> str:
    """Return the digest of an index; "" if the folder holds none yet."""
    if not (folder / "index.json").exists():
        return ""
    return digest_index(folder)


def is_sound(folder: Path) -> bool:
    """Return whether SQLite finds the ledger sound."""
    with closing(sqlite3.connect(folder / LEDGER_FILE)) as database:
        return database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def measure(kills: int, count: int, seed: int = 1) -> int:
    """Kill and resume, print the figures, and return 1 if one of them is not as promised."""
    draw = random.Random(seed)
    faults = Counter[str]()
    moments: list[float] = []
    texts: set[str] = set()
    with tempfile.TemporaryDirectory() as place, FaultServer(latency=LATENCY, jitter=JITTER) as server:
        folder = Path(place)
        server.plan = lambda body: gives(find_names(body["messages"][-1]["content"]))
        documents, done, last, seconds = make_documents(count), 0, "", 4.0
        while done < kills:
            rows = [f"{one.model_dump_json(exclude_defaults=True)}\n" for one in documents]
            (folder / "rows.jsonl").write_text("".join(rows))
            build_index(documents, folder / f"unbroken-{done}", SETTINGS, model=make_model())
            wanted = find_digest(folder / f"unbroken-{done}")
            with ReferenceIndex.open(folder / f"unbroken-{done}") as index:
                texts |= {chunk.content for chunk in index.read_chunks(index.chunk_ids)}
            for _ in range(min(KILLS_BETWEEN_CHANGES, kills - done)):
                process, began = start(folder, server.url), time.perf_counter()
                process.join(draw.uniform(0.05, seconds))
                if process.exitcode is None:
                    os.kill(process.pid or 0, signal.SIGKILL)
                    process.join()
                    done += 1
                    moments.append(time.perf_counter() - began)
                found = find_digest(folder / "index")
                faults["an index is neither the old one nor the new one"] += found not in {last, wanted}
            process, began = start(folder, server.url), time.perf_counter()
            process.join()
            seconds = max(1.0, time.perf_counter() - began)
            faults["a command that is not killed fails"] += process.exitcode != 0
            last = find_digest(folder / "index")
            faults["an index is not equal to the unbroken one"] += last != wanted
            faults["a ledger is not sound"] += not is_sound(folder / "index")
            documents = change_documents(documents, draw)
        repeated = server.calls - len(texts)
    allowed = kills * CONCURRENCY
    faults[f"more than {allowed} calls of the model were repeated"] += repeated > allowed
    shown = ", ".join(f"{moment:.2f}" for moment in moments)
    print(
        f"{count} documents, killed {len(moments)} times after {shown} s: {len(texts)} different chunks, {repeated} "
        f"calls of the model repeated of {allowed} that may have been in flight; indexes that differ from the unbroken "
        f"one: {faults['an index is not equal to the unbroken one']}"
    )
    missed = [f"{fault}: {times}" for fault, times in faults.items() if times]
    print("\n".join(f"  missed: {one}" for one in missed) or "all as promised")
    return int(bool(missed))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=20, help="how many kills")
    options.add_argument("--documents", type=int, default=150, help="how many documents")
    given = options.parse_args()
    sys.exit(measure(given.kills, given.documents))
