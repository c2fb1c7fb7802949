"""Files as other tools and people export them, made from a few cases whose content is known.

Each export is written as the public description of its tool says: names, nesting, lists in cells, encodings. `read` has
what must be read of each case; the rest of a case is not recorded.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pyarrow as pa
from pyarrow import parquet
from ruamel.yaml import YAML


class Truth(NamedTuple):
    """What a case is made of."""

    id: str
    question: str
    answer: str
    expected_answer: str
    chunks: tuple[str, ...]
    documents: tuple[str, ...]
    topic: str


TRUTHS = (
    Truth(
        id="q-1",
        question="Wann öffnet das Café?",
        answer="Um neun; oder, sagen manche, um zehn.",
        expected_answer="Um neun.",
        chunks=("It's at nine.", 'They say "ten", too.\nAnd a second line; with marks.'),
        documents=("hours.md", "blog.md"),
        topic="hours",
    ),
    Truth("q-2", 'Who wrote "Notes"?', "Ada\nLovelace", "Ada", ("[1] Ada wrote them.",), ("notes.md",), "people"),
    Truth("q-3", "Why 1843?", "1843", "Because.", ("a' + 'b", "{x}"), ("d1", "d2"), "dates"),
)
ALL = ("question", "answer", "expected_answer", "chunks")
DOCUMENTED = (*ALL, "id", "documents")
Rows = list[dict[str, Any]]
FORMS: Mapping[str, Mapping[str, Any]] = YAML(typ="safe").load(Path(__file__).with_suffix(".yaml"))


class Export(NamedTuple):
    """A file of a tool: its name, its content, the fields that are read, named columns, or the message of a refusal."""

    file: str
    content: bytes
    read: tuple[str, ...] = ALL
    columns: Mapping[str, str] = {}
    refused: str = ""
    gold: bool = False


def fill(form: Any, values: Mapping[str, object]) -> Any:
    """Fill a form: `$NAME` is a value, text with `{NAME}` holds one, and `{"$each": FORM}` a form for each chunk."""
    if isinstance(form, str):
        return values[form[1:]] if form.startswith("$") else form.replace("{question}", str(values["question"]))
    if isinstance(form, list):
        return [fill(part, values) for part in form]
    if not isinstance(form, dict):
        return form
    if "$each" in form:
        pairs = zip(values["documents"], values["chunks"], strict=True)
        return [
            fill(form["$each"], {**values, "document": document, "text": text, "n": n, "is_first": not n})
            for n, (document, text) in enumerate(pairs)
        ]
    return {name: fill(part, values) for name, part in form.items()}


def rows(form: str, **more: object) -> Rows:
    """Return the rows of a form, named as in the file beside this one."""
    return [{**fill(FORMS[form], list_values(truth)), **more} for truth in TRUTHS]


def list_values(truth: Truth) -> dict[str, object]:
    """Return the values of a case by their names in a form."""
    lists = {"chunks": [*truth.chunks], "documents": [*truth.documents]}
    return {**truth._asdict(), **lists, "first_chunk": truth.chunks[0], "first_document": truth.documents[0]}


def as_json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def as_lines(given: Rows) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in given).encode()


def as_csv(
    given: Rows,
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
    line: str = "\r\n",
    cell: Callable[[object], object] = repr,
) -> bytes:
    """Return a table; `cell` writes lists and objects."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*given[0]], delimiter=delimiter, lineterminator=line)
    writer.writeheader()
    for row in given:
        writer.writerow({name: cell(value) if isinstance(value, list | dict) else value for name, value in row.items()})
    return stream.getvalue().encode(encoding)


def numpy_cell(value: object) -> str:
    """Write a list as NumPy prints it: without commas, and over several lines."""
    return f"[{chr(10).join(map(repr, value))}]" if isinstance(value, list) else repr(value)


def bar_cell(value: object) -> object:
    """Write a list with bars, as deepeval does."""
    return "|".join(value) if isinstance(value, list) else value


PROMPT = "[openai:gpt-5] Answer: {{question}}"
"""The column of the answers in a table of promptfoo."""
IN_GERMAN, IN_RAGAS = rows("german"), rows("ragas")


def write_trec(line: str) -> bytes:
    """Return a line for each document of a case, by its rank."""
    return "".join(
        line.format(id=truth.id, document=document, rank=rank, score=9 - rank, grade=3 - rank)
        for truth in TRUTHS
        for rank, document in enumerate(truth.documents, 1)
    ).encode()


def transpose(given: Rows) -> dict[str, dict[str, object]]:
    """Return an object of columns, each an object by the numbers of the rows, as `to_json` of pandas does."""
    return {name: {str(n): row[name] for n, row in enumerate(given)} for name in given[0]}


def list_exports() -> Iterator[tuple[str, Export]]:  # noqa: PLR0915 - a table, whose rows are statements
    """Yield the exports with their names."""
    asked, asked_and_expected = ("question",), ("question", "expected_answer")
    answered = (*asked_and_expected, "answer")
    with_id = ("id", *asked_and_expected)
    retrieved = ("id", "question", "chunks", "documents")
    yield "ragas, pandas", Export("a.csv", as_csv(IN_RAGAS))
    indexed = [{"": str(n), **row} for n, row in enumerate(IN_RAGAS)]
    yield "ragas, pandas with its index", Export("a.csv", as_csv(indexed, line="\n"))
    yield "ragas, to_jsonl", Export("a.jsonl", as_lines(IN_RAGAS))
    scored = rows("ragas", faithfulness=0.5, answer_relevancy="nan")
    yield "ragas, results with scores", Export("a.csv", as_csv(scored))
    yield "ragas, NumPy arrays", Export("a.csv", as_csv(rows("old_ragas"), cell=numpy_cell))
    yield "ragas before 0.2, JSON", Export("a.json", as_json(rows("old_ragas")))
    yield "pandas, to_json", Export("a.json", as_json(transpose(IN_RAGAS)))
    yield "ragas, generated test set", Export("a.csv", as_csv(rows("ragas_test_set")), asked_and_expected)
    yield "deepeval, JSON", Export("a.json", as_json(rows("deepeval")))
    yield "deepeval, CSV with bars", Export("a.csv", as_csv(rows("deepeval"), cell=bar_cell))
    run = {"testCases": rows("deepeval_run"), "testPassed": 3}
    yield "deepeval, test run", Export("a.json", as_json(run))
    goldens = rows("deepeval", actual_output=None, retrieval_context=None)
    yield "deepeval, goldens", Export("a.json", as_json(goldens), asked_and_expected)
    yield "openevals", Export("a.jsonl", as_lines(rows("openevals")))
    yield "LangSmith, examples", Export("a.jsonl", as_lines(rows("langsmith")), with_id)
    yield "LangSmith, examples in a table", Export("a.csv", as_csv(rows("langsmith"), cell=json.dumps), with_id)
    yield "LangSmith, experiment", Export("a.csv", as_csv(rows("langsmith_experiment")), ("id", *answered))
    table = rows("mlflow")
    logged = {"columns": [*table[0]], "data": [[*row.values()] for row in table]}
    yield "MLflow, table of results", Export("a.json", as_json(logged))
    yield "MLflow, evaluation set", Export("a.jsonl", as_lines(rows("mlflow_set")), answered)
    yield "MLflow, facts that must be there", Export("a.jsonl", as_lines(rows("mlflow_facts")), asked)
    yield "MLflow, static table", Export("a.csv", as_csv(rows("mlflow_static")), answered)
    yield "predictions beside the right answers", Export("a.csv", as_csv(rows("predictions")), answered)
    yield "Braintrust, events", Export("a.jsonl", as_lines(rows("braintrust")), ("id", *answered))
    yield "autoevals, arguments", Export("a.json", as_json(rows("autoevals")))
    evaluation = {"evalId": "e", "results": {"version": 3, "results": rows("promptfoo")}}
    yield "promptfoo, JSON", Export("a.json", as_json(evaluation), (*ALL, "id"))
    yield "promptfoo, JSON lines", Export("a.jsonl", as_lines(rows("promptfoo")), (*ALL, "id"))
    yield "promptfoo, CSV", Export("a.csv", as_csv(rows("promptfoo_table")), answered, {"answer": PROMPT})
    yield "RAGChecker", Export("a.json", as_json({"results": rows("ragchecker")}), DOCUMENTED)
    yield "BenchmarkQED, answers", Export("a.json", as_json(rows("benchmark_qed")), ("id", "question", "answer"))
    yield "GraphRAG-Bench", Export("a.json", as_json(rows("graphrag_bench")), (*ALL, "id"))
    yield "GraphRAG-Bench, Parquet", Export("a.parquet", b"", (*ALL, "id"))
    yield "LlamaIndex", Export("a.json", as_json({"examples": rows("llama_index")}), asked_and_expected)
    yield "Langfuse", Export("a.json", as_json(rows("langfuse")), with_id)
    yield "SQuAD", Export("a.jsonl", as_lines(rows("squad")), with_id)
    yield "HotpotQA", Export("a.json", as_json(rows("hotpot")), retrieved)
    yield "HotpotQA, hub", Export("a.jsonl", as_lines(rows("hotpot_hub")), retrieved)
    columns = {"chunks": "paragraphs", "gold.essential_docs": "paragraphs[*].title"}
    yield "MuSiQue", Export("a.jsonl", as_lines(rows("musique")), retrieved, columns)
    messages = ("question", "answer", "chunks", "documents")
    yield "LangChain, messages and documents", Export("a.jsonl", as_lines(rows("langchain")), messages)
    columns = {
        "question": "datasource_item.question",
        "answer": "sample.output[0].content",
        "expected_answer": "datasource_item.expected",
    }
    yield "OpenAI evals", Export("a.jsonl", as_lines(rows("openai_item")), answered, columns)
    columns = {
        "id": "context.span_id",
        "question": "attributes.input.value",
        "answer": "attributes.output.value",
        "chunks": 'attributes.retrieval.documents[*]["document.content"]',
    }
    spans = as_csv(rows("phoenix"), cell=json.dumps)
    yield "Phoenix, spans", Export("a.csv", spans, ("id", "question", "answer", "chunks"), columns)
    yield "chunks with keys of their own", Export("a.jsonl", as_lines(rows("chunk_objects")), DOCUMENTED)
    excel = as_csv(IN_GERMAN, delimiter=";", encoding="cp1252")
    yield "Excel in Germany", Export("a.csv", excel, (*ALL, "id"), FORMS["german_columns"])
    yield "Excel's Unicode text", Export("a.tsv", as_csv(IN_RAGAS, delimiter="\t", encoding="utf-16"))
    capitals = [{name.upper(): value for name, value in row.items()} for row in IN_RAGAS]
    yield "a table with a mark and capitals", Export("a.csv", as_csv(capitals, encoding="utf-8-sig"))
    yield "a workbook of Excel", Export("a.xlsx", b"", (*ALL, "id"), FORMS["german_columns"])
    yield "TREC, run", Export("a.run", write_trec("{id} Q0 {document} {rank} {score} bm25\n"), ("id", "documents"))
    yield "TREC, qrels", Export("a.qrels", write_trec("{id} 0 {document} {grade}\n"), ("id",), gold=True)
    columns = {
        "question": "request.text",
        "answer": "trace.final.text",
        "chunks": "trace.hits[*].body",
        "expected_answer": "truth",
    }
    yield "a nested file of one's own", Export("a.jsonl", as_lines(rows("nested")), ALL, columns)
    unnamed = "named with --column question=NAME"
    yield (
        "a table in another language",
        Export("a.csv", as_csv(IN_GERMAN), refused="name it with columns={'question': 'NAME'}"),
    )
    yield "JSON in another language", Export("a.jsonl", as_lines(IN_GERMAN), refused=unnamed)
    yield "questions of BEIR", Export("a.jsonl", as_lines(rows("beir")), refused=unnamed)
    mine = as_json({"items_of_mine": IN_RAGAS})
    yield "a list under another name", Export("a.json", mine, refused="an object with the list under")
    czech = "question,answer\nKdo napsal Poznámky?,Příliš žluťoučký kůň\n".encode("cp1250")
    yield "a table of Central Europe", Export("a.csv", czech, refused="save the file as UTF-8")
    yield "a workbook of old Excel", Export("a.xls", b"\xd0\xcf\x11\xe0", refused="save the table as .xlsx or .csv")
    yield "a packed file", Export("a.jsonl.gz", b"\x1f\x8b", refused="unpack it first")


EXPORTS: Mapping[str, Export] = dict(list_exports())


def write_export(export: Export, folder: Path) -> Path:
    """Write an export; Parquet and Excel are made by their libraries."""
    path = folder / export.file
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows("graphrag_bench")), path)
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(["Stand", "November"])
        sheet = book.create_sheet("Fragen")
        sheet.append([*IN_GERMAN[0]])
        for row in IN_GERMAN:
            sheet.append([repr(value) if isinstance(value, list) else value for value in row.values()])
        book.save(path)
    else:
        path.write_bytes(export.content)
    return path
