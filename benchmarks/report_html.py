"""What the HTML page of a large run costs: its size, the time to write it, to open it, to filter it and to open a case.

    python benchmarks/report_html.py -n 10000
    python benchmarks/report_html.py -n 10000 --own-chunks   # no chunk is shared by two cases

Each case has an answer, chunks of about 900 characters, a walk and three results, one of them a verdict for each chunk.
Words are drawn at random, so that texts compress worse than prose. A real Chromium opens the file.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from greval import Case, Store, load_metric
from greval.analysis.summary import build_report
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.metric_input import hash_json
from greval.records.result import Failed, Failure, Judgement, Outcome, Result, Scored
from greval.report.html.page import PageContent, build_report_page
from greval.runs.manifest import store_metrics

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from browsers import FLAGS, WHY_NOT, browser_path
from playwright.sync_api import sync_playwright

from greval.runs.store.writer import StoreWriter

CHUNKS, CORPUS, WORDS_OF_CHUNK = 8, 12_000, 140
LEVELS = ("Relevant", "Indirectly relevant", "Irrelevant")
FILTER = """
async (words) => {
  const box = document.querySelector("input[type=search]");
  const before = performance.now();
  box.value = words;
  box.dispatchEvent(new Event("input"));
  const count = document.getElementById("count");
  const text = count.textContent;
  while (count.textContent === text) await new Promise((done) => setTimeout(done));
  return performance.now() - before;
}
"""
SORT = """
async () => {
  const order = [...document.querySelectorAll("select")].at(-1);
  const before = performance.now();
  order.value = "worst";
  order.dispatchEvent(new Event("change"));
  const first = document.querySelector("#list details");
  while (document.querySelector("#list details") === first) await new Promise((done) => setTimeout(done));
  return performance.now() - before;
}
"""
OPEN_CASE = """
async () => {
  const before = performance.now();
  const body = document.querySelector("#list details .case-body");
  document.querySelector("#list summary").click();
  while (!body.hasChildNodes()) await new Promise((done) => setTimeout(done));
  return performance.now() - before;
}
"""


class Texts:
    """Words that are drawn at random, those at the front of the vocabulary more often."""

    def __init__(self, seed: int = 17) -> None:
        self._random = random.Random(seed)
        letters = "etaoinshrdlcumwfgypbvk"
        self._words = ["".join(self._random.choices(letters, k=self._random.randint(2, 9))) for _ in range(8_000)]

    def write(self, count: int) -> str:
        """Return a text of this many words."""
        places = (min(7_999, int(self._random.paretovariate(0.6))) for _ in range(count))
        return " ".join(self._words[place] for place in places)


def make_cases(count: int, *, own_chunks: bool) -> Iterator[Case]:
    """Make cases of two methods whose chunks are from one corpus, or all different."""
    texts, draw = Texts(), random.Random(5)
    corpus = [] if own_chunks else [texts.write(WORDS_OF_CHUNK) for _ in range(CORPUS)]
    for number in range(count):
        places = [draw.randrange(CORPUS) for _ in range(CHUNKS)]
        chunks = [
            {
                "id": f"d{place}#{number}-{at}",
                "doc_id": f"d{place}",
                "text": corpus[place] if corpus else texts.write(140),
            }
            for at, place in enumerate(places)
        ]
        names = [texts.write(2) for _ in range(6)]
        edges = [(source, "depends on", target) for source, target in pairwise(names)]
        yield Case.model_validate(
            {
                "id": f"q{number // 2:05}",
                "method": ("walk", "local")[number % 2],
                "question": f"{texts.write(14)}?",
                "expected_answer": texts.write(12),
                "answer": texts.write(60),
                "chunks": chunks,
                "traversal": {"start_nodes": names[:1], "traversed_edges": edges, "final_nodes": names[-1:]},
                "gold": {"expected_edges": [*edges[:3], (names[0], "is part of", names[4])], "essential_docs": ["d1"]},
                "tags": {
                    "query_type": ("single_fact", "multi_hop", "aggregation")[number // 2 % 3],
                    "area": f"a{number % 7}",
                },
            }
        )


def judge(case: Case, texts: Texts, draw: random.Random) -> Iterator[Result]:
    """Make the results of a case, one in fifty of them failed."""
    reason = texts.write(25)
    value = int(draw.random() < 0.6)
    verdict: Outcome = Scored(judgements=(Judgement(value=value, number=float(value), reason=reason),))
    if draw.random() < 0.02:
        verdict = Failed(error=Failure(kind="timeout", message="no answer within 60 s"))
    chosen = [draw.randrange(3) for _ in range(CHUNKS)]
    parts = tuple(
        Judgement(value=LEVELS[one], number=1 - one / 2, reason=texts.write(18), item=chunk.id)
        for one, chunk in zip(chosen, case.chunks or (), strict=True)
    )
    recall = Judgement(value=0.75, number=0.75, reason="3 of 4 expected edges walked")
    outcomes = {
        "correctness": verdict,
        "chunk_evaluation": Scored(judgements=parts),
        "edge_recall": Scored(judgements=(recall,)),
    }
    for name, outcome in outcomes.items():
        yield Result(
            sample_id=case.id,
            method=case.method,
            metric=name,
            fingerprint="3f94cf0af29d0086",
            judge="openai:gpt-5.4-mini",
            tier="schema",
            outcome=outcome,
            tags=case.tags,
        )


def write_run(folder: Path, count: int, *, own_chunks: bool) -> None:
    """Write the run."""
    texts, draw = Texts(3), random.Random(9)
    metrics = [load_metric("correctness"), load_metric("chunk_evaluation"), COMPUTED_METRICS["edge_recall"]]
    with StoreWriter.create(folder) as writer:
        store_metrics(writer, [metric.model_dump(mode="json") for metric in metrics])
        for number, case in enumerate(make_cases(count, own_chunks=own_chunks)):
            text = case.model_dump_json(exclude_defaults=True)
            for result in judge(case, texts, draw):
                writer.append(hash_json([number, result.metric]), result, case=text)
                text = ""


def open_page(path: Path) -> dict[str, float]:
    """Open the page in Chromium and return the seconds of each step."""
    program = browser_path()
    if not program:
        sys.exit(WHY_NOT)
    with sync_playwright() as api:
        browser = api.chromium.launch(executable_path=program, args=[*FLAGS])
        page = browser.new_page()
        begin = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        found = {"open": time.perf_counter() - begin}
        found |= {"open, as the browser measured": page.evaluate("performance.now()") / 1000}
        found |= {"filter by words": page.evaluate(FILTER, "q00") / 1000}
        found |= {"sort by the worst": page.evaluate(SORT) / 1000}
        found |= {"open a case": page.evaluate(OPEN_CASE) / 1000}
        browser.close()
    return found


def main() -> None:
    """Write a run and its page, open it, and print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=10_000, help="the number of cases")
    parser.add_argument("--own-chunks", action="store_true", help="chunks are not shared by cases")
    parser.add_argument("--keep", type=Path, help="keep the page in this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder) / "run", given.n, own_chunks=given.own_chunks)
        path = given.keep or Path(folder) / "report.html"
        begin = time.perf_counter()
        with Store.open(Path(folder) / "run") as store:
            page = build_report_page(store, build_report(store), PageContent(datetime.now(UTC)))
            path.write_text(page, encoding="utf-8")
        print(f"{given.n:,} cases, {'own' if given.own_chunks else 'shared'} chunks")
        print(f"write the page: {time.perf_counter() - begin:.1f} s")
        print(f"size: {path.stat().st_size / 1e6:.1f} MB")
        for name, seconds in open_page(path.absolute()).items():
            print(f"{name}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
