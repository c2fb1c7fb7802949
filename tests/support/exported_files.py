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


def rows(form: Mapping[str, Any], **more: object) -> Rows:
    return [{**fill(form, list_values(truth)), **more} for truth in TRUTHS]


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


def dump_message(*place: str, **fields: object) -> dict[str, object]:
    """Return an object as `dumpd` of LangChain writes it."""
    return {"lc": 1, "type": "constructor", "id": [*place], "kwargs": fields}


IDEAL = ["The ideal passage."]
QA = {"question": "$question", "answer": "$answer"}
RAGAS = {
    "user_input": "$question",
    "retrieved_contexts": "$chunks",
    "response": "$answer",
    "reference": "$expected_answer",
}
OLD_RAGAS = {**QA, "contexts": "$chunks", "ground_truths": ["$expected_answer"]}
RAGAS_TEST_SET = {
    "user_input": "$question",
    "reference_contexts": IDEAL,
    "reference": "$expected_answer",
    "synthesizer_name": "single_hop_specific",
}
DEEPEVAL = {
    "input": "$question",
    "actual_output": "$answer",
    "expected_output": "$expected_answer",
    "retrieval_context": "$chunks",
    # What should have been retrieved.
    "context": IDEAL,
    "source_file": "guide.pdf",
}
DEEPEVAL_RUN = {
    "name": "$id",
    "input": "$question",
    "actualOutput": "$answer",
    "expectedOutput": "$expected_answer",
    "context": IDEAL,
    "retrievalContext": "$chunks",
    "success": True,
    "metricsData": [{"name": "Faithfulness", "score": 1.0, "success": True}],
    "runDuration": 1.5,
}
OPENEVALS = {
    "inputs": {"question": "$question", "context": "$chunks"},
    "outputs": {"answer": "$answer"},
    "reference_outputs": {"answer": "$expected_answer"},
}
LANGSMITH = {
    "id": "$id",
    "dataset_id": "0ddc",
    "created_at": "2026-11-22T10:00:00Z",
    "inputs": {"question": "$question"},
    "outputs": {"answer": "$expected_answer"},
    "metadata": {"topic": "$topic"},
}
LANGSMITH_EXPERIMENT = {
    "inputs.question": "$question",
    "outputs.answer": "$answer",
    "error": None,
    "reference.answer": "$expected_answer",
    "feedback.correctness": 1,
    "execution_time": 1.25,
    "example_id": "$id",
}
MLFLOW = {
    "inputs": "$question",
    "ground_truth": "$expected_answer",
    "outputs": "$answer",
    "retrieved_context": {"$each": {"content": "$text", "doc_uri": "u"}},
    "token_count": 12,
}
MLFLOW_SET = {
    "inputs": {"question": "$question"},
    "outputs": {"response": "$answer"},
    "expectations": {"expected_response": "$expected_answer"},
}
MLFLOW_FACTS = {
    "inputs": {"question": "$question"},
    "expectations": {"expected_facts": ["one fact", "another fact"]},
}
BRAINTRUST = {
    "id": "$id",
    "input": {"question": "$question"},
    "output": "$answer",
    "expected": "$expected_answer",
    "metadata": {"topic": "$topic"},
    "tags": ["nightly", "$topic"],
    "scores": {"Factuality": 0.6},
}
AUTOEVALS = {"input": "$question", "output": "$answer", "expected": "$expected_answer", "context": "$chunks"}
PROMPTFOO = {
    "id": "$id",
    "promptIdx": 0,
    "provider": {"id": "openai:gpt-5", "label": ""},
    "prompt": {"raw": "Answer: {question}", "label": "Answer"},
    "vars": {"question": "$question", "context": "$chunks", "reference": "$expected_answer"},
    "response": {"output": "$answer", "tokenUsage": {"total": 10}},
    "success": True,
    "score": 1,
    "latencyMs": 120,
    "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed"},
    "testCase": {"vars": {"question": "$question"}, "assert": [{"type": "llm-rubric", "value": "x"}]},
}
PROMPT = "[openai:gpt-5] Answer: {{question}}"
"""The column of the answers in a table of promptfoo."""
RAGCHECKER = {
    "query_id": "$id",
    "query": "$question",
    "gt_answer": "$expected_answer",
    "response": "$answer",
    "retrieved_context": {"$each": {"doc_id": "$document", "text": "$text"}},
}
BENCHMARK_QED = {
    "question_id": "$id",
    "question_text": "$question",
    "answer": "$answer",
    "assertions": [{"statement": "It is at nine.", "rank": 1}],
}
GRAPHRAG_BENCH = {
    "id": "$id",
    "question": "$question",
    "source": "Medical",
    "context": "$chunks",
    "evidence": ["A sentence of the corpus."],
    "question_type": "Fact Retrieval",
    "generated_answer": "$answer",
    "ground_truth": "$expected_answer",
}
LLAMA_INDEX = {
    "query": "$question",
    "query_by": {"model_name": "gpt-5", "type": "ai"},
    "reference_contexts": IDEAL,
    "reference_answer": "$expected_answer",
    "reference_answer_by": {"model_name": "gpt-5", "type": "ai"},
}
LANGFUSE = {
    "id": "$id",
    "input": {"question": "$question"},
    "expectedOutput": {"answer": "$expected_answer"},
    "metadata": {"topic": "$topic"},
    "datasetId": "clx",
}
SQUAD = {
    "id": "$id",
    "title": "Notes",
    "context": "$first_chunk",
    "question": "$question",
    "answers": {"text": ["$expected_answer"], "answer_start": [0]},
}
HOTPOT = {
    "_id": "$id",
    "question": "$question",
    "level": "hard",
    "supporting_facts": [["$first_document", 0]],
    "context": {"$each": ["$document", ["$text"]]},
}
HOTPOT_HUB = {
    "id": "$id",
    "question": "$question",
    "supporting_facts": {"title": ["$first_document"], "sent_id": [0]},
    "context": {"title": "$documents", "sentences": {"$each": ["$text"]}},
}
MUSIQUE = {
    "id": "$id",
    "question": "$question",
    "paragraphs": {
        "$each": {"idx": "$n", "title": "$document", "paragraph_text": "$text", "is_supporting": "$is_first"}
    },
    "answer_aliases": [],
    "answerable": True,
}
LANGCHAIN = {
    "input": dump_message("langchain", "schema", "HumanMessage", content="$question", type="human"),
    "output": dump_message("langchain", "schema", "AIMessage", content="$answer", type="ai"),
    "documents": {
        "$each": dump_message(
            "langchain", "Document", page_content="$text", metadata={"source": "$document", "page": 3}
        )
    },
}
OPENAI_ITEM = {
    "datasource_item": {"question": "$question", "expected": "$expected_answer"},
    "sample": {"output": [{"role": "assistant", "content": "$answer"}]},
}
PHOENIX = {
    "context.span_id": "$id",
    "attributes.input.value": "$question",
    "attributes.output.value": "$answer",
    "attributes.retrieval.documents": {"$each": {"document.content": "$text"}},
}
CHUNK_OBJECTS = {
    "id": "$id",
    **QA,
    "ground_truth": "$expected_answer",
    "contexts": {
        "$each": {
            "content": "$text",
            "source": "$document",
            "chunk_index": "$n",
            "embedding": [0.1, 0.2],
            "meta": {"page": "$n"},
        }
    },
}
NESTED = {
    "request": {"text": "$question"},
    "trace": {"hits": {"$each": {"body": "$text"}}, "final": {"text": "$answer"}},
    "gold": {"essential_docs": "$documents"},
    "truth": "$expected_answer",
}
GERMAN_COLUMNS = {
    "id": "Nr",
    "question": "Frage",
    "answer": "Antwort der KI",
    "expected_answer": "Richtige Antwort",
    "chunks": "Fundstellen",
    "tags.topic": "Thema",
}
GERMAN = {column: f"${field.removeprefix('tags.')}" for field, column in GERMAN_COLUMNS.items()}
IN_GERMAN, IN_RAGAS = rows(GERMAN), rows(RAGAS)


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
    scored = rows(RAGAS, faithfulness=0.5, answer_relevancy="nan")
    yield "ragas, results with scores", Export("a.csv", as_csv(scored))
    yield "ragas, NumPy arrays", Export("a.csv", as_csv(rows(OLD_RAGAS), cell=numpy_cell))
    yield "ragas before 0.2, JSON", Export("a.json", as_json(rows(OLD_RAGAS)))
    yield "pandas, to_json", Export("a.json", as_json(transpose(IN_RAGAS)))
    yield "ragas, generated test set", Export("a.csv", as_csv(rows(RAGAS_TEST_SET)), asked_and_expected)
    yield "deepeval, JSON", Export("a.json", as_json(rows(DEEPEVAL)))
    yield "deepeval, CSV with bars", Export("a.csv", as_csv(rows(DEEPEVAL), cell=bar_cell))
    run = {"testCases": rows(DEEPEVAL_RUN), "testPassed": 3}
    yield "deepeval, test run", Export("a.json", as_json(run))
    goldens = rows(DEEPEVAL, actual_output=None, retrieval_context=None)
    yield "deepeval, goldens", Export("a.json", as_json(goldens), asked_and_expected)
    yield "openevals", Export("a.jsonl", as_lines(rows(OPENEVALS)))
    yield "LangSmith, examples", Export("a.jsonl", as_lines(rows(LANGSMITH)), with_id)
    yield "LangSmith, examples in a table", Export("a.csv", as_csv(rows(LANGSMITH), cell=json.dumps), with_id)
    yield "LangSmith, experiment", Export("a.csv", as_csv(rows(LANGSMITH_EXPERIMENT)), ("id", *answered))
    table = rows(MLFLOW)
    logged = {"columns": [*table[0]], "data": [[*row.values()] for row in table]}
    yield "MLflow, table of results", Export("a.json", as_json(logged))
    yield "MLflow, evaluation set", Export("a.jsonl", as_lines(rows(MLFLOW_SET)), answered)
    yield "MLflow, facts that must be there", Export("a.jsonl", as_lines(rows(MLFLOW_FACTS)), asked)
    static = {"inputs": "$question", "ground_truth": "$expected_answer", "predictions": "$answer"}
    yield "MLflow, static table", Export("a.csv", as_csv(rows(static)), answered)
    predicted = {"question": "$question", "answer": "$expected_answer", "predictions": "$answer"}
    yield "predictions beside the right answers", Export("a.csv", as_csv(rows(predicted)), answered)
    yield "Braintrust, events", Export("a.jsonl", as_lines(rows(BRAINTRUST)), ("id", *answered))
    yield "autoevals, arguments", Export("a.json", as_json(rows(AUTOEVALS)))
    evaluation = {"evalId": "e", "results": {"version": 3, "results": rows(PROMPTFOO)}}
    yield "promptfoo, JSON", Export("a.json", as_json(evaluation), (*ALL, "id"))
    yield "promptfoo, JSON lines", Export("a.jsonl", as_lines(rows(PROMPTFOO)), (*ALL, "id"))
    prompts = {"question": "$question", "reference": "$expected_answer", PROMPT: "$answer"}
    yield "promptfoo, CSV", Export("a.csv", as_csv(rows(prompts)), answered, {"answer": PROMPT})
    yield "RAGChecker", Export("a.json", as_json({"results": rows(RAGCHECKER)}), DOCUMENTED)
    yield "BenchmarkQED, answers", Export("a.json", as_json(rows(BENCHMARK_QED)), ("id", "question", "answer"))
    yield "GraphRAG-Bench", Export("a.json", as_json(rows(GRAPHRAG_BENCH)), (*ALL, "id"))
    yield "GraphRAG-Bench, Parquet", Export("a.parquet", b"", (*ALL, "id"))
    yield "LlamaIndex", Export("a.json", as_json({"examples": rows(LLAMA_INDEX)}), asked_and_expected)
    yield "Langfuse", Export("a.json", as_json(rows(LANGFUSE)), with_id)
    yield "SQuAD", Export("a.jsonl", as_lines(rows(SQUAD)), with_id)
    yield "HotpotQA", Export("a.json", as_json(rows(HOTPOT)), retrieved)
    yield "HotpotQA, hub", Export("a.jsonl", as_lines(rows(HOTPOT_HUB)), retrieved)
    columns = {"chunks": "paragraphs", "gold.essential_docs": "paragraphs[*].title"}
    yield "MuSiQue", Export("a.jsonl", as_lines(rows(MUSIQUE)), retrieved, columns)
    messages = ("question", "answer", "chunks", "documents")
    yield "LangChain, messages and documents", Export("a.jsonl", as_lines(rows(LANGCHAIN)), messages)
    columns = {
        "question": "datasource_item.question",
        "answer": "sample.output[0].content",
        "expected_answer": "datasource_item.expected",
    }
    yield "OpenAI evals", Export("a.jsonl", as_lines(rows(OPENAI_ITEM)), answered, columns)
    columns = {
        "id": "context.span_id",
        "question": "attributes.input.value",
        "answer": "attributes.output.value",
        "chunks": 'attributes.retrieval.documents[*]["document.content"]',
    }
    spans = as_csv(rows(PHOENIX), cell=json.dumps)
    yield "Phoenix, spans", Export("a.csv", spans, ("id", "question", "answer", "chunks"), columns)
    yield "chunks with keys of their own", Export("a.jsonl", as_lines(rows(CHUNK_OBJECTS)), DOCUMENTED)
    excel = as_csv(IN_GERMAN, delimiter=";", encoding="cp1252")
    yield "Excel in Germany", Export("a.csv", excel, (*ALL, "id"), GERMAN_COLUMNS)
    yield "Excel's Unicode text", Export("a.tsv", as_csv(IN_RAGAS, delimiter="\t", encoding="utf-16"))
    capitals = [{name.upper(): value for name, value in row.items()} for row in IN_RAGAS]
    yield "a table with a mark and capitals", Export("a.csv", as_csv(capitals, encoding="utf-8-sig"))
    yield "a workbook of Excel", Export("a.xlsx", b"", (*ALL, "id"), GERMAN_COLUMNS)
    yield "TREC, run", Export("a.run", write_trec("{id} Q0 {document} {rank} {score} bm25\n"), ("id", "documents"))
    yield "TREC, qrels", Export("a.qrels", write_trec("{id} 0 {document} {grade}\n"), ("id",), gold=True)
    columns = {
        "question": "request.text",
        "answer": "trace.final.text",
        "chunks": "trace.hits[*].body",
        "expected_answer": "truth",
    }
    yield "a nested file of one's own", Export("a.jsonl", as_lines(rows(NESTED)), ALL, columns)
    unnamed = "named with --column question=NAME"
    yield (
        "a table in another language",
        Export("a.csv", as_csv(IN_GERMAN), refused="name it with columns={'question': 'NAME'}"),
    )
    yield "JSON in another language", Export("a.jsonl", as_lines(IN_GERMAN), refused=unnamed)
    beir = {"_id": "$id", "text": "$question", "metadata": {}}
    yield "questions of BEIR", Export("a.jsonl", as_lines(rows(beir)), refused=unnamed)
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
        parquet.write_table(pa.Table.from_pylist(rows(GRAPHRAG_BENCH)), path)
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
