"""Files as other tools and people export them, made from a few cases whose content is known.

Each export is written as the public description of its tool says: names, nesting, lists in cells, encodings. `read` has
what must be read of each case; the rest of a case is not recorded.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
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


class Export(NamedTuple):
    """A file of a tool: its name, its content, the fields that are read, named columns, or the message of a refusal."""

    file: str
    content: bytes
    read: tuple[str, ...] = ALL
    columns: Mapping[str, str] = {}
    refused: str = ""
    gold: bool = False


Make = Callable[[Truth], Mapping[str, Any]]


def rows(make: Make) -> list[dict[str, Any]]:
    """Return a row for each case."""
    return [dict(make(truth)) for truth in TRUTHS]


def as_json(content: object) -> bytes:
    """Return JSON."""
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def as_lines(given: list[dict[str, Any]]) -> bytes:
    """Return JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in given).encode()


def as_csv(
    given: list[dict[str, Any]],
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


def ragas(truth: Truth) -> dict[str, Any]:
    """Return a sample of ragas."""
    return {
        "user_input": truth.question,
        "retrieved_contexts": [*truth.chunks],
        "response": truth.answer,
        "reference": truth.expected_answer,
    }


def old_ragas(truth: Truth) -> dict[str, Any]:
    """Return a row of ragas before 0.2."""
    return {
        "question": truth.question,
        "answer": truth.answer,
        "contexts": [*truth.chunks],
        "ground_truths": [truth.expected_answer],
    }


def deepeval(truth: Truth) -> dict[str, Any]:
    """Return a golden of deepeval; its `context` is what should have been retrieved."""
    return {
        "input": truth.question,
        "actual_output": truth.answer,
        "expected_output": truth.expected_answer,
        "retrieval_context": [*truth.chunks],
        "context": ["The ideal passage."],
        "source_file": "guide.pdf",
    }


def deepeval_run(truth: Truth) -> dict[str, Any]:
    """Return a test case of a test run of deepeval."""
    return {
        "name": f"test_case_{truth.id}",
        "input": truth.question,
        "actualOutput": truth.answer,
        "expectedOutput": truth.expected_answer,
        "context": ["The ideal passage."],
        "retrievalContext": [*truth.chunks],
        "success": True,
        "metricsData": [{"name": "Faithfulness", "score": 1.0, "success": True}],
        "runDuration": 1.5,
    }


def openevals(truth: Truth) -> dict[str, Any]:
    """Return the arguments of an evaluator of openevals."""
    return {
        "inputs": {"question": truth.question, "context": [*truth.chunks]},
        "outputs": {"answer": truth.answer},
        "reference_outputs": {"answer": truth.expected_answer},
    }


def langsmith_example(truth: Truth) -> dict[str, Any]:
    """Return an example of a data set of LangSmith."""
    return {
        "id": truth.id,
        "dataset_id": "0ddc",
        "created_at": "2026-11-22T10:00:00Z",
        "inputs": {"question": truth.question},
        "outputs": {"answer": truth.expected_answer},
        "metadata": {"topic": truth.topic},
    }


def langsmith_experiment(truth: Truth) -> dict[str, Any]:
    """Return a row of the table of an experiment of LangSmith."""
    return {
        "inputs.question": truth.question,
        "outputs.answer": truth.answer,
        "error": None,
        "reference.answer": truth.expected_answer,
        "feedback.correctness": 1,
        "execution_time": 1.25,
        "example_id": truth.id,
    }


def braintrust(truth: Truth) -> dict[str, Any]:
    """Return an event of an experiment of Braintrust, which autoevals judges."""
    return {
        "id": truth.id,
        "input": {"question": truth.question},
        "output": truth.answer,
        "expected": truth.expected_answer,
        "metadata": {"topic": truth.topic},
        "tags": ["nightly", truth.topic],
        "scores": {"Factuality": 0.6},
    }


def promptfoo(truth: Truth) -> dict[str, Any]:
    """Return a result of promptfoo."""
    return {
        "id": truth.id,
        "promptIdx": 0,
        "provider": {"id": "openai:gpt-5", "label": ""},
        "prompt": {"raw": f"Answer: {truth.question}", "label": "Answer"},
        "vars": {"question": truth.question, "context": [*truth.chunks], "reference": truth.expected_answer},
        "response": {"output": truth.answer, "tokenUsage": {"total": 10}},
        "success": True,
        "score": 1,
        "latencyMs": 120,
        "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed"},
        "testCase": {"vars": {"question": truth.question}, "assert": [{"type": "llm-rubric", "value": "x"}]},
    }


def ragchecker(truth: Truth) -> dict[str, Any]:
    """Return an input of RAGChecker."""
    found = zip(truth.documents, truth.chunks, strict=True)
    return {
        "query_id": truth.id,
        "query": truth.question,
        "gt_answer": truth.expected_answer,
        "response": truth.answer,
        "retrieved_context": [{"doc_id": document, "text": text} for document, text in found],
    }


def graphrag_bench(truth: Truth) -> dict[str, Any]:
    """Return a prediction of GraphRAG-Bench."""
    return {
        "id": truth.id,
        "question": truth.question,
        "source": "Medical",
        "context": [*truth.chunks],
        "evidence": ["A sentence of the corpus."],
        "question_type": "Fact Retrieval",
        "generated_answer": truth.answer,
        "ground_truth": truth.expected_answer,
    }


def mlflow_table(given: list[dict[str, Any]]) -> bytes:
    """Return the table that MLflow logs: the columns, and a list of cells for each row."""
    return as_json({"columns": [*given[0]], "data": [[*row.values()] for row in given]})


def llama_index(truth: Truth) -> dict[str, Any]:
    """Return an example of a labelled data set of LlamaIndex."""
    return {
        "query": truth.question,
        "query_by": {"model_name": "gpt-5", "type": "ai"},
        "reference_contexts": ["The ideal passage."],
        "reference_answer": truth.expected_answer,
        "reference_answer_by": {"model_name": "gpt-5", "type": "ai"},
    }


def langfuse(truth: Truth) -> dict[str, Any]:
    """Return an item of a data set of Langfuse."""
    return {
        "id": truth.id,
        "input": {"question": truth.question},
        "expectedOutput": {"answer": truth.expected_answer},
        "metadata": {"topic": truth.topic},
        "datasetId": "clx",
    }


def squad(truth: Truth) -> dict[str, Any]:
    """Return a row of SQuAD on the Hugging Face hub."""
    return {
        "id": truth.id,
        "title": "Notes",
        "context": truth.chunks[0],
        "question": truth.question,
        "answers": {"text": [truth.expected_answer], "answer_start": [0]},
    }


def hotpot(truth: Truth) -> dict[str, Any]:
    """Return a question of HotpotQA with its paragraphs as titles and sentences."""
    found = zip(truth.documents, truth.chunks, strict=True)
    return {
        "_id": truth.id,
        "question": truth.question,
        "level": "hard",
        "supporting_facts": [[truth.documents[0], 0]],
        "context": [[document, [text]] for document, text in found],
    }


def hotpot_hub(truth: Truth) -> dict[str, Any]:
    """Return the same as the Hugging Face hub has it: an object of lists."""
    return {
        "id": truth.id,
        "question": truth.question,
        "supporting_facts": {"title": [truth.documents[0]], "sent_id": [0]},
        "context": {"title": [*truth.documents], "sentences": [[text] for text in truth.chunks]},
    }


def musique(truth: Truth) -> dict[str, Any]:
    """Return a question of MuSiQue."""
    found = enumerate(zip(truth.documents, truth.chunks, strict=True))
    return {
        "id": truth.id,
        "question": truth.question,
        "paragraphs": [
            {"idx": n, "title": document, "paragraph_text": text, "is_supporting": not n}
            for n, (document, text) in found
        ],
        "answer_aliases": [],
        "answerable": True,
    }


def langchain(truth: Truth) -> dict[str, Any]:
    """Return what a chain of LangChain returns, as `dumpd` writes it."""
    found = zip(truth.documents, truth.chunks, strict=True)

    def dumped(*place: str, **fields: object) -> dict[str, object]:
        return {"lc": 1, "type": "constructor", "id": [*place], "kwargs": fields}

    return {
        "input": dumped("langchain", "schema", "HumanMessage", content=truth.question, type="human"),
        "output": dumped("langchain", "schema", "AIMessage", content=truth.answer, type="ai"),
        "documents": [
            dumped("langchain", "Document", page_content=text, metadata={"source": document, "page": 3})
            for document, text in found
        ],
    }


def openai_item(truth: Truth) -> dict[str, Any]:
    """Return an output item of an evaluation at OpenAI."""
    return {
        "datasource_item": {"question": truth.question, "expected": truth.expected_answer},
        "sample": {"output": [{"role": "assistant", "content": truth.answer}]},
    }


def phoenix(truth: Truth) -> dict[str, Any]:
    """Return a span of Phoenix in a table."""
    return {
        "context.span_id": truth.id,
        "attributes.input.value": truth.question,
        "attributes.output.value": truth.answer,
        "attributes.retrieval.documents": [{"document.content": text} for text in truth.chunks],
    }


def chunk_objects(truth: Truth) -> dict[str, Any]:
    """Return chunks as a vector store of people returns them, with keys of its own."""
    found = zip(truth.documents, truth.chunks, strict=True)
    return {
        "id": truth.id,
        "question": truth.question,
        "answer": truth.answer,
        "ground_truth": truth.expected_answer,
        "contexts": [
            {"content": text, "source": document, "chunk_index": n, "embedding": [0.1, 0.2], "meta": {"page": n}}
            for n, (document, text) in enumerate(found)
        ],
    }


def german(truth: Truth) -> dict[str, Any]:
    """Return a row of a table whose columns have German names."""
    return {
        "Nr": truth.id,
        "Frage": truth.question,
        "Antwort der KI": truth.answer,
        "Richtige Antwort": truth.expected_answer,
        "Fundstellen": [*truth.chunks],
        "Thema": truth.topic,
    }


GERMAN = {
    "id": "Nr",
    "question": "Frage",
    "answer": "Antwort der KI",
    "expected_answer": "Richtige Antwort",
    "chunks": "Fundstellen",
    "tags.topic": "Thema",
}
RUN = "".join(
    f"{truth.id} Q0 {document} {rank} {9 - rank} bm25\n"
    for truth in TRUTHS
    for rank, document in enumerate(truth.documents, 1)
)
QRELS = "".join(
    f"{truth.id} 0 {document} {3 - rank}\n" for truth in TRUTHS for rank, document in enumerate(truth.documents, 1)
)
DOCUMENTED = (*ALL, "id", "documents")

EXPORTS: Mapping[str, Export] = {
    "ragas, pandas": Export("a.csv", as_csv(rows(ragas))),
    "ragas, pandas with its index": Export(
        "a.csv", as_csv([{"": str(n), **row} for n, row in enumerate(rows(ragas))], line="\n")
    ),
    "ragas, to_jsonl": Export("a.jsonl", as_lines(rows(ragas))),
    "ragas, results with scores": Export(
        "a.csv", as_csv([{**row, "faithfulness": 0.5, "answer_relevancy": "nan"} for row in rows(ragas)])
    ),
    "ragas, NumPy arrays": Export("a.csv", as_csv(rows(old_ragas), cell=numpy_cell)),
    "ragas before 0.2, JSON": Export("a.json", as_json(rows(old_ragas))),
    "pandas, to_json": Export(
        "a.json",
        as_json(
            {
                name: {str(n): row[name] for n, row in enumerate(rows(ragas))}
                for name in ("user_input", "response", "reference", "retrieved_contexts")
            }
        ),
    ),
    "ragas, generated test set": Export(
        "a.csv",
        as_csv(
            rows(
                lambda truth: {
                    "user_input": truth.question,
                    "reference_contexts": ["The ideal passage."],
                    "reference": truth.expected_answer,
                    "synthesizer_name": "single_hop_specific",
                }
            )
        ),
        ("question", "expected_answer"),
    ),
    "deepeval, JSON": Export("a.json", as_json(rows(deepeval))),
    "deepeval, CSV with bars": Export(
        "a.csv", as_csv(rows(deepeval), cell=lambda value: "|".join(value) if isinstance(value, list) else value)
    ),
    "deepeval, test run": Export("a.json", as_json({"testCases": rows(deepeval_run), "testPassed": 3})),
    "deepeval, goldens": Export(
        "a.json",
        as_json([{**row, "actual_output": None, "retrieval_context": None} for row in rows(deepeval)]),
        ("question", "expected_answer"),
    ),
    "openevals": Export("a.jsonl", as_lines(rows(openevals))),
    "LangSmith, examples": Export("a.jsonl", as_lines(rows(langsmith_example)), ("id", "question", "expected_answer")),
    "LangSmith, examples in a table": Export(
        "a.csv", as_csv(rows(langsmith_example), cell=json.dumps), ("id", "question", "expected_answer")
    ),
    "LangSmith, experiment": Export(
        "a.csv", as_csv(rows(langsmith_experiment)), ("id", "question", "answer", "expected_answer")
    ),
    "MLflow, table of results": Export(
        "a.json",
        mlflow_table(
            rows(
                lambda truth: {
                    "inputs": truth.question,
                    "ground_truth": truth.expected_answer,
                    "outputs": truth.answer,
                    "retrieved_context": [{"content": text, "doc_uri": "u"} for text in truth.chunks],
                    "token_count": 12,
                }
            )
        ),
    ),
    "MLflow, evaluation set": Export(
        "a.jsonl",
        as_lines(
            rows(
                lambda truth: {
                    "inputs": {"question": truth.question},
                    "outputs": {"response": truth.answer},
                    "expectations": {"expected_response": truth.expected_answer},
                }
            )
        ),
        ("question", "answer", "expected_answer"),
    ),
    "MLflow, facts that must be there": Export(
        "a.jsonl",
        as_lines(
            rows(
                lambda truth: {
                    "inputs": {"question": truth.question},
                    "expectations": {"expected_facts": ["one fact", "another fact"]},
                }
            )
        ),
        ("question",),
    ),
    "MLflow, static table": Export(
        "a.csv",
        as_csv(
            rows(
                lambda truth: {
                    "inputs": truth.question,
                    "ground_truth": truth.expected_answer,
                    "predictions": truth.answer,
                }
            )
        ),
        ("question", "answer", "expected_answer"),
    ),
    "predictions beside the right answers": Export(
        "a.csv",
        as_csv(
            rows(
                lambda truth: {
                    "question": truth.question,
                    "answer": truth.expected_answer,
                    "predictions": truth.answer,
                }
            )
        ),
        ("question", "answer", "expected_answer"),
    ),
    "Braintrust, events": Export(
        "a.jsonl", as_lines(rows(braintrust)), ("id", "question", "answer", "expected_answer")
    ),
    "autoevals, arguments": Export(
        "a.json",
        as_json(
            rows(
                lambda truth: {
                    "input": truth.question,
                    "output": truth.answer,
                    "expected": truth.expected_answer,
                    "context": [*truth.chunks],
                }
            )
        ),
    ),
    "promptfoo, JSON": Export(
        "a.json", as_json({"evalId": "e", "results": {"version": 3, "results": rows(promptfoo)}}), (*ALL, "id")
    ),
    "promptfoo, JSON lines": Export("a.jsonl", as_lines(rows(promptfoo)), (*ALL, "id")),
    "promptfoo, CSV": Export(
        "a.csv",
        as_csv(
            rows(
                lambda truth: {
                    "question": truth.question,
                    "reference": truth.expected_answer,
                    "[openai:gpt-5] Answer: {{question}}": truth.answer,
                }
            )
        ),
        ("question", "answer", "expected_answer"),
        {"answer": "[openai:gpt-5] Answer: {{question}}"},
    ),
    "RAGChecker": Export("a.json", as_json({"results": rows(ragchecker)}), DOCUMENTED),
    "BenchmarkQED, answers": Export(
        "a.json",
        as_json(
            rows(
                lambda truth: {
                    "question_id": truth.id,
                    "question_text": truth.question,
                    "answer": truth.answer,
                    "assertions": [{"statement": "It is at nine.", "rank": 1}],
                }
            )
        ),
        ("id", "question", "answer"),
    ),
    "GraphRAG-Bench": Export("a.json", as_json(rows(graphrag_bench)), (*ALL, "id")),
    "GraphRAG-Bench, Parquet": Export("a.parquet", b"", (*ALL, "id")),
    "LlamaIndex": Export("a.json", as_json({"examples": rows(llama_index)}), ("question", "expected_answer")),
    "Langfuse": Export("a.json", as_json(rows(langfuse)), ("id", "question", "expected_answer")),
    "SQuAD": Export("a.jsonl", as_lines(rows(squad)), ("id", "question", "expected_answer")),
    "HotpotQA": Export("a.json", as_json(rows(hotpot)), ("id", "question", "chunks", "documents")),
    "HotpotQA, hub": Export("a.jsonl", as_lines(rows(hotpot_hub)), ("id", "question", "chunks", "documents")),
    "MuSiQue": Export(
        "a.jsonl",
        as_lines(rows(musique)),
        ("id", "question", "chunks", "documents"),
        {"chunks": "paragraphs", "gold.essential_docs": "paragraphs[*].title"},
    ),
    "LangChain, messages and documents": Export(
        "a.jsonl", as_lines(rows(langchain)), ("question", "answer", "chunks", "documents")
    ),
    "OpenAI evals": Export(
        "a.jsonl",
        as_lines(rows(openai_item)),
        ("question", "answer", "expected_answer"),
        {
            "question": "datasource_item.question",
            "answer": "sample.output[0].content",
            "expected_answer": "datasource_item.expected",
        },
    ),
    "Phoenix, spans": Export(
        "a.csv",
        as_csv(rows(phoenix), cell=json.dumps),
        ("id", "question", "answer", "chunks"),
        {
            "id": "context.span_id",
            "question": "attributes.input.value",
            "answer": "attributes.output.value",
            "chunks": 'attributes.retrieval.documents[*]["document.content"]',
        },
    ),
    "chunks with keys of their own": Export("a.jsonl", as_lines(rows(chunk_objects)), DOCUMENTED),
    "Excel in Germany": Export("a.csv", as_csv(rows(german), delimiter=";", encoding="cp1252"), (*ALL, "id"), GERMAN),
    "Excel's Unicode text": Export("a.tsv", as_csv(rows(ragas), delimiter="\t", encoding="utf-16"), ALL),
    "a table with a mark and capitals": Export(
        "a.csv",
        as_csv([{name.upper(): value for name, value in row.items()} for row in rows(ragas)], encoding="utf-8-sig"),
    ),
    "a workbook of Excel": Export("a.xlsx", b"", (*ALL, "id"), GERMAN),
    "TREC, run": Export("a.run", RUN.encode(), ("id", "documents")),
    "TREC, qrels": Export("a.qrels", QRELS.encode(), ("id",), gold=True),
    "a nested file of one's own": Export(
        "a.jsonl",
        as_lines(
            rows(
                lambda truth: {
                    "request": {"text": truth.question},
                    "trace": {"hits": [{"body": text} for text in truth.chunks], "final": {"text": truth.answer}},
                    "gold": {"essential_docs": [*truth.documents]},
                    "truth": truth.expected_answer,
                }
            )
        ),
        ALL,
        {
            "question": "request.text",
            "answer": "trace.final.text",
            "chunks": "trace.hits[*].body",
            "expected_answer": "truth",
        },
    ),
    "a table in another language": Export("a.csv", as_csv(rows(german)), refused="name it with --column question=NAME"),
    "JSON in another language": Export(
        "a.jsonl", as_lines(rows(german)), refused="or named with --column question=NAME"
    ),
    "questions of BEIR": Export(
        "a.jsonl",
        as_lines(rows(lambda truth: {"_id": truth.id, "text": truth.question, "metadata": {}})),
        refused="or named with --column question=NAME",
    ),
    "a list under another name": Export(
        "a.json", as_json({"items_of_mine": rows(ragas)}), refused="an object with the list under"
    ),
    "a table of Central Europe": Export(
        "a.csv",
        "question,answer\nKdo napsal Poznámky?,Příliš žluťoučký kůň\n".encode("cp1250"),
        refused="save the file as UTF-8",
    ),
    "a workbook of old Excel": Export("a.xls", b"\xd0\xcf\x11\xe0", refused="save the table as .xlsx or .csv"),
    "a packed file": Export("a.jsonl.gz", b"\x1f\x8b", refused="unpack it first"),
}


def write_export(export: Export, folder: Path) -> Path:
    """Write an export; Parquet and Excel are made by their libraries."""
    path = folder / export.file
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows(graphrag_bench)), path)
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(["Stand", "November"])
        sheet = book.create_sheet("Fragen")
        given = rows(german)
        sheet.append([*given[0]])
        for row in given:
            sheet.append([repr(value) if isinstance(value, list) else value for value in row.values()])
        book.save(path)
    else:
        path.write_bytes(export.content)
    return path
