"""What the grid of a large run costs on the server's page: until it is shown, to sort, to filter, to search.

    python benchmarks/page_grid.py -n 10000

Each case has an answer of 60 words, three chunks and eight results with reasons, one of them a verdict for each chunk.
`greval serve` serves the page; a real Chromium opens it.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from report_html import Texts

from greval import Case, load_metric
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.metric import Metric
from greval.records.metric_input import hash_json
from greval.records.result import Failed, Failure, Judgement, Outcome, Result, Scored, Skipped
from greval.records.scale import CategoricalScale, Scale, ValueScale
from greval.runs.manifest import store_metrics
from greval.runs.store import FILE
from greval.serve.routes.grid import TEXT_INDEX

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from browsers import FLAGS, WHY_NOT, browser_path
from playwright.sync_api import sync_playwright

from greval.runs.store.writer import StoreWriter

JUDGED = ("correctness", "answer_quality", "faithfulness", "relevance", "completeness", "chunk_evaluation")
COMPUTED = ("token_f1", "latency")
CHUNKS = 3
RUN = "large"
TIMED = """
async ([act, word]) => {
  const sorted = () => [...document.querySelectorAll("table.grid th")].findIndex((one) => one.ariaSort);
  const count = () => document.querySelector("main [role=status]").textContent.split(" ·")[0];
  const show = () => `${sorted()} ${count()}`;
  const begin = performance.now();
  const before = show();
  const buttons = [...document.querySelectorAll("table.grid thead button")];
  if (act === "sort") buttons.find((one) => one.textContent.startsWith(word)).click();
  if (act === "filter") {
    const has = (select) => [...select.options].some(({ value }) => value === word);
    const select = [...document.querySelectorAll("main select")].find(has);
    select.value = word;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }
  if (act === "search") {
    const input = document.querySelector("main input[type=search]");
    input.value = word;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  while (show() === before) await new Promise((next) => requestAnimationFrame(next));
  return performance.now() - begin;
}
"""
START_SECONDS = 5.0
"""The time from the start of the server to the first visit."""
SEARCH = """
async (words) => {
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  const input = document.querySelector("main input[type=search]");
  input.value = words;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await frame();
  await frame();
  while (document.querySelector("main [role=status]").textContent.includes("searching")) await frame();
}
"""
SEARCHED = "() => !document.querySelector('main [role=status]').textContent.includes('searching')"


def judge(scale: Scale, draw: random.Random, reason: str, item: str | None = None) -> Judgement:
    """Make a judgement on a scale."""
    if isinstance(scale, CategoricalScale):
        category = draw.choice(scale.categories)
        return Judgement(value=category.name, number=category.score, reason=reason, item=item)
    if isinstance(scale, ValueScale):
        value = draw.randint(int(scale.range[0]), int(scale.range[1]))
        return Judgement(value=value, number=float(value), reason=reason, item=item)
    number = round(draw.random() * (scale.high or 20), 4)
    return Judgement(value=number, number=number, reason=reason, item=item)


def list_outcomes(
    case: Case, metrics: Iterable[Metric], texts: Texts, draw: random.Random
) -> Iterator[tuple[str, Outcome]]:
    """List the outcomes of a case, two in a hundred of them failed and two skipped."""
    for metric in metrics:
        name = metric.name
        luck = draw.random()
        if luck < 0.02:
            yield name, Failed(error=Failure(kind="timeout", message="no answer within 60 s"))
        elif luck < 0.04:
            yield name, Skipped(reason="the case has no expected answer")
        elif metric.over:
            items = (judge(metric.scale, draw, texts.write(18), chunk.id) for chunk in case.chunks or ())
            yield name, Scored(judgements=tuple(items))
        else:
            yield name, Scored(judgements=(judge(metric.scale, draw, texts.write(25)),))


def write_run(folder: Path, count: int) -> None:
    """Write the run."""
    texts, draw = Texts(3), random.Random(9)
    metrics = [*(load_metric(name) for name in JUDGED), *(COMPUTED_METRICS[name] for name in COMPUTED)]
    with StoreWriter.create(folder) as writer:
        store_metrics(writer, [metric.model_dump(mode="json") for metric in metrics])
        for number in range(count):
            case = Case.model_validate(
                {
                    "id": f"q{number:05}",
                    "question": f"{texts.write(14)}?",
                    "expected_answer": texts.write(12),
                    "answer": texts.write(60),
                    "chunks": [{"id": f"c{at}", "text": texts.write(140)} for at in range(CHUNKS)],
                    "tags": {"query_type": ("single_fact", "multi_hop", "aggregation")[number % 3]},
                }
            )
            text = case.model_dump_json(exclude_defaults=True)
            for name, outcome in list_outcomes(case, metrics, texts, draw):
                result = Result(
                    sample_id=case.id,
                    method="",
                    metric=name,
                    fingerprint="3f94cf0af29d0086",
                    judge="openai:gpt-5.4-mini",
                    tier="schema",
                    outcome=outcome,
                    tags=case.tags,
                )
                writer.append(hash_json([number, name]), result, case=text)
                text = ""


def measure(act: Callable[[], Any]) -> float:
    """Return the seconds that a function takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


@contextmanager
def serve_runs(runs: Path) -> Iterator[tuple[str, str]]:
    """Run `greval serve`, and give its address and its token some seconds after it has started."""
    words = [sys.executable, "-m", "greval", "serve", "--runs", str(runs), "--port", "0", "--judge", "openai:none"]
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as server:
        assert server.stdout
        url, _, token = server.stdout.readline().strip().partition("/#token=")
        time.sleep(START_SECONDS)
        yield url, token
        server.terminate()


def measure_routes(url: str, token: str) -> dict[str, float]:
    """Request the grid from the cache and searches by the text index, and return the seconds and the sizes in MB."""
    with httpx.Client(base_url=url, timeout=60, headers={"Authorization": f"Bearer {token}"}) as client:
        found = {"GET grid, from the cache": measure(lambda: client.get(f"/v1/runs/{RUN}/grid").raise_for_status())}
        content = client.get(f"/v1/runs/{RUN}/grid").content
        found["size of the grid, MB"] = len(content) / 1e6
        found["compressed, MB"] = len(gzip.compress(content, 4)) / 1e6
        for words in ("q zzzz", "timeout", "a e"):
            asked = partial(client.get, f"/v1/runs/{RUN}/search", params={"q": words})
            found[f"GET search {words!r}"] = measure(lambda asked=asked: asked().raise_for_status())
    return found


def open_grid(url: str, token: str, index: Path) -> dict[str, float]:
    """Open the grid in Chromium twice, first with nothing computed before, and return the seconds of each step."""
    program = browser_path()
    if not program:
        sys.exit(WHY_NOT)
    found = {}
    with sync_playwright() as api:
        browser = api.chromium.launch(executable_path=program, args=[*FLAGS])
        for when in ("for the first time", "again"):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            begin = time.perf_counter()
            page.goto(f"{url}/#token={token}/runs/{RUN}?tab=cases")
            page.wait_for_selector("table.grid tbody a")
            found[f"open the page until the grid is shown, {when}"] = time.perf_counter() - begin
            while not index.exists():
                page.wait_for_timeout(10)
            found.setdefault("until the text index is built, from the same begin", time.perf_counter() - begin)
        for name, act, word in (
            ("sort, the worst first", "sort", "faithfulness"),
            ("sort by 10,000 different numbers", "sort", "latency"),
            ("filter by a status", "filter", "failed"),
            ("search questions", "search", "q0001"),
        ):
            found[name] = page.evaluate(TIMED, [act, word]) / 1000
        page.wait_for_function(SEARCHED)
        for words in ("timeout", "zzzz"):
            begin = time.perf_counter()
            page.evaluate(SEARCH, words)
            found[f"search {words!r} in questions, answers and reasons"] = time.perf_counter() - begin
        browser.close()
    return found


def main() -> None:
    """Write a run, serve it, open it, and print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=10_000, help="the number of cases")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        write_run(runs / RUN, given.n)
        size = (runs / RUN / FILE).stat().st_size / 1e6
        print(f"{given.n:,} cases, {len(JUDGED) + len(COMPUTED)} metrics, {size:.0f} MB")
        with serve_runs(runs) as (url, token):
            opened = open_grid(url, token, runs / RUN / TEXT_INDEX)
            for name, figure in {**opened, **measure_routes(url, token)}.items():
                print(f"{name}: {figure:.2f}{'' if 'MB' in name else ' s'}")


if __name__ == "__main__":
    main()
