"""What it costs to measure files of runs, from files to figures: greval beside a query of polars and other tools.

    python benchmarks/ranking_files.py                                             # 2,000,000 lines in each format
    python benchmarks/ranking_files.py -n 1000 --format csv --python ir-measures=OTHER/bin/python

nDCG@10, recall@20 and MRR of a run with 100 documents for each question, and qrels with ten, from TREC files, Parquet,
CSV and JSON lines. Each tool runs in a process of its own. The query of polars is what a user of polars would write: it
takes the files to be regular, checks nothing, and reports no ids that do not meet. The column "times" has the CPU time
of each tool divided by that of the query. The other tools read TREC files as their documentation says.
They have no reader of other formats: pyarrow, pandas and Python's own modules read these for pytrec-eval-terrier. What
is counted is CPU time (user and system) from the files to the means, imports not, and the most resident memory that the
process has. Each is the median of several processes.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ranking import memory, nested

DOCUMENTS, JUDGED, CORPUS = 100, 10, 1_000_000
SEPARATORS = {"space": " ", "tab": "\t"}
Work = Callable[[Path, Path], dict[str, float]]
Nested = dict[str, dict[str, float]]


def write_files(folder: Path, questions: int, separator: str) -> None:
    """Write a run and its qrels: ten judged documents a question, half of them retrieved, grades 0 to 2."""
    import numpy as np  # noqa: PLC0415

    draw = np.random.default_rng(1)
    ranked: list[tuple[str, str, float]] = []
    judged: list[tuple[str, str, int]] = []
    for question in range(questions):
        documents = ((draw.integers(CORPUS) + 997 * draw.permutation(2 * DOCUMENTS)) % CORPUS).tolist()
        scores = np.sort(30 * draw.random(DOCUMENTS))[::-1].round(6).tolist()
        names = [f"doc{document}" for document in documents]
        ranked += [(f"q{question}", name, score) for name, score in zip(names, scores, strict=False)]
        grades = draw.integers(0, 3, JUDGED).tolist()
        judged += [(f"q{question}", name, grade) for name, grade in zip(names[::20], grades, strict=True)]
    with (folder / "run.trec").open("w") as stream:
        for number, (question, document, score) in enumerate(ranked):
            cells = (question, "Q0", document, str(number % DOCUMENTS + 1), f"{score:.6f}", "bm25")
            stream.write(separator.join(cells) + "\n")
    with (folder / "qrels.trec").open("w") as stream:
        stream.writelines(separator.join((one[0], "0", one[1], str(one[2]))) + "\n" for one in judged)
    write_tables(folder / "run", ("query_id", "doc_id", "score"), ranked)
    write_tables(folder / "qrels", ("query_id", "doc_id", "grade"), judged)


def write_tables(path: Path, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Write rows as Parquet, CSV and JSON lines."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    columns = map(list, zip(*rows, strict=True))
    parquet.write_table(pa.table(dict(zip(names, columns, strict=True))), path.with_suffix(".parquet"))
    with path.with_suffix(".csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([names, *rows])
    with path.with_suffix(".jsonl").open("w") as stream:
        stream.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def prepare_greval() -> Work:
    """Return how greval measures."""
    import polars as pl  # noqa: F401, PLC0415 - imported as the packages of the other tools are

    from greval.ranking import measure_rankings, read_qrels, read_rankings  # noqa: PLC0415

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        rankings = read_rankings(run, ties="trec_eval")
        measured = measure_rankings(read_qrels(qrels), rankings, ["ndcg@10", "recall@20", "mrr"])
        return {name: figure.mean or 0.0 for name, figure in measured.items()}

    return measure


def prepare_polars() -> Work:
    """Return how a query of polars measures: the files to frames, a rank, a join, sums by question, means."""
    import polars as pl  # noqa: PLC0415

    readers = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".jsonl": pl.read_ndjson}

    def read(path: Path, number: str) -> pl.DataFrame:
        if path.suffix != ".trec":
            frame: pl.DataFrame = readers[path.suffix](path).rename({"query_id": "question", "doc_id": "document"})
            return frame
        separator = "\t" if b"\t" in path.open("rb").readline() else " "
        places, names = [0, 2, 4 if number == "score" else 3], ("question", "document", number)
        frame = pl.read_csv(path, separator=separator, has_header=False, columns=places)
        return frame.rename(dict(zip(frame.columns, names, strict=True)))

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        gold, ranked = read(qrels, "grade"), read(run, "score")
        place = pl.int_range(1, pl.len() + 1).over("question")
        gain = pl.col("grade") / (pl.col("rank") + 1).log(2)
        ranked = ranked.sort("question", "score", descending=[False, True]).with_columns(rank=place)
        hits = ranked.join(gold, on=["question", "document"]).filter(pl.col("grade") > 0).group_by("question")
        found = hits.agg(
            dcg=gain.filter(pl.col("rank") <= 10).sum(), hits=(pl.col("rank") <= 20).sum(), mrr=1 / pl.col("rank").min()
        )
        best = gold.filter(pl.col("grade") > 0).sort("grade", descending=True).with_columns(rank=place)
        ideal = best.group_by("question").agg(ideal=gain.filter(pl.col("rank") <= 10).sum(), due=pl.len())
        both = ideal.join(found, on="question", how="left").fill_null(0)
        means = both.select(
            (pl.col("dcg") / pl.col("ideal")).mean(), (pl.col("hits") / pl.col("due")).mean(), pl.mean("mrr")
        )
        return dict(zip(("ndcg@10", "recall@20", "mrr"), means.row(0), strict=True))

    return measure


def prepare_pytrec(read: Callable[[Path], Nested]) -> Work:
    """Return how pytrec-eval-terrier measures what a reader gives it."""
    import pytrec_eval  # noqa: PLC0415

    names = {"ndcg_cut_10": "ndcg@10", "recall_20": "recall@20", "recip_rank": "mrr"}

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        judged, ranked = read(qrels), read(run)
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "recall.20", "recip_rank"})
        rows = evaluator.evaluate(ranked).values()
        return {ours: sum(row[name] for row in rows) / len(rows) for name, ours in names.items()}

    return measure


def prepare_own_reader() -> Work:
    """Return how pytrec-eval-terrier measures TREC files."""
    import pytrec_eval  # noqa: PLC0415

    def read(path: Path) -> Nested:
        parse = pytrec_eval.parse_qrel if path.stem == "qrels" else pytrec_eval.parse_run
        with path.open() as stream:
            found: Nested = parse(stream)
        return found

    return prepare_pytrec(read)


def prepare_pyarrow() -> Work:
    """Return how pytrec-eval-terrier measures what pyarrow reads."""
    from pyarrow import csv as arrow_csv  # noqa: PLC0415
    from pyarrow import json as arrow_json  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    readers = {".parquet": parquet.read_table, ".csv": arrow_csv.read_csv, ".jsonl": arrow_json.read_json}

    def read(path: Path) -> Nested:
        table = readers[path.suffix](path)
        return nested(table.rename_columns(["question", *table.column_names[1:]]))

    return prepare_pytrec(read)


def prepare_pandas() -> Work:
    """Return how pytrec-eval-terrier measures what pandas reads."""
    import pandas as pd  # noqa: PLC0415

    def read(path: Path) -> Nested:
        frame = {
            ".parquet": lambda: pd.read_parquet(path),
            ".csv": lambda: pd.read_csv(path),
            ".jsonl": lambda: pd.read_json(path, lines=True, engine="pyarrow"),
        }[path.suffix]()
        groups = frame.groupby("query_id", sort=False)
        return {name: dict(zip(group["doc_id"], group.iloc[:, 2].tolist(), strict=True)) for name, group in groups}

    return prepare_pytrec(read)


def prepare_python() -> Work:
    """Return how pytrec-eval-terrier measures what Python's own modules read."""

    def read(path: Path) -> Nested:
        found: Nested = {}
        with path.open(newline="") as stream:
            for question, document, number in iterate_rows(stream, path):
                found.setdefault(question, {})[document] = number
        return found

    return prepare_pytrec(read)


def iterate_rows(stream: Iterable[str], path: Path) -> Iterable[tuple[str, str, float]]:
    """Yield the rows of CSV or JSON lines."""
    if path.suffix == ".jsonl":
        yield from (tuple(json.loads(line).values()) for line in stream)
        return
    rows = csv.reader(stream)
    next(rows)
    convert = int if path.stem == "qrels" else float
    yield from ((question, document, convert(number)) for question, document, number in rows)


def prepare_ir_measures() -> Work:
    """Return how ir-measures measures."""
    import ir_measures  # noqa: PLC0415
    from ir_measures import RR, R, nDCG  # noqa: PLC0415

    names = {nDCG @ 10: "ndcg@10", R @ 20: "recall@20", RR: "mrr"}

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        judged, ranked = ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
        found = ir_measures.calc_aggregate(list(names), judged, ranked)
        return {ours: found[name] for name, ours in names.items()}

    return measure


PYTREC = "pytrec-eval-terrier"
TOOLS: dict[str, Callable[[], Work]] = {
    "polars": prepare_polars,
    "greval": prepare_greval,
    PYTREC: prepare_own_reader,
    "ir-measures": prepare_ir_measures,
    f"pyarrow + {PYTREC}": prepare_pyarrow,
    f"pandas + {PYTREC}": prepare_pandas,
    f"Python + {PYTREC}": prepare_python,
}
READERS = [name for name in TOOLS if " + " in name]
FORMATS = {
    "trec": ["polars", "greval", PYTREC, "ir-measures"],
    "parquet": ["polars", "greval", *READERS[:2]],
    "csv": ["polars", "greval", *READERS],
    "jsonl": ["polars", "greval", *READERS],
}
"""The tools that are compared on each format."""


def measure_tool(folder: Path, tool: str, form: str) -> None:
    """Run one tool and print what it took, as JSON."""
    work = TOOLS[tool]()
    begin = time.process_time()
    means = work(folder / f"qrels.{form}", folder / f"run.{form}")
    print(json.dumps({"cpu": time.process_time() - begin, "peak": memory("VmHWM"), "means": means}))


def run_tool(command: list[str], tool: str, times: int) -> dict[str, Any] | None:
    """Run one tool in several processes, and return the medians; None if it is not installed there."""
    rows = []
    for _ in range(times):
        done = subprocess.run([*command, "--tool", tool], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{tool}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    return {**rows[0], **{name: statistics.median(row[name] for row in rows) for name in ("cpu", "peak")}}


def main() -> None:
    """Write the files, run each tool on each format, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--questions", type=int, default=20_000)
    parser.add_argument("--separator", choices=SEPARATORS, default="space", help="that of the TREC files")
    parser.add_argument("--format", action="append", choices=FORMATS, default=[], help="only this; repeatable")
    parser.add_argument("--times", type=int, default=3, help="the number of processes of each tool")
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH", help="the Python a tool is in")
    parser.add_argument("--only", action="append", default=[], metavar="TOOL", help="only this tool; repeatable")
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tool:
        measure_tool(given.folder, given.tool, given.format[0])
        return
    pythons = dict(pair.split("=", 1) for pair in given.python)
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name), given.questions, SEPARATORS[given.separator])
        print(f"{given.questions * DOCUMENTS:,} lines of a run, {given.questions * JUDGED:,} of qrels")
        print(f"{'format':<9}{'tool':<32}{'CPU s':>8}{'peak MB':>9}{'times':>7}  means")
        for form in given.format or FORMATS:
            query = None
            for tool in [tool for tool in FORMATS[form] if not given.only or tool in given.only]:
                python = pythons.get(tool, sys.executable)
                command = [python, __file__, "--folder", name, "--format", form]
                if row := run_tool(command, tool, given.times):
                    means = " ".join(f"{measure} {value:.6f}" for measure, value in row["means"].items())
                    query = row["cpu"] if tool == "polars" else query
                    times = f"{row['cpu'] / query:.2f}" if query else "-"
                    print(f"{form:<9}{tool:<32}{row['cpu']:>8.2f}{row['peak']:>9,.0f}{times:>7}  {means}", flush=True)


if __name__ == "__main__":
    main()
