"""LangChain retrievers, chains, agents and models as methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from greval.datasets.langchain_documents import find_first, read_document
from greval.errors import MethodError
from greval.methods.call_counter import CallCounter
from greval.methods.responses import as_response
from greval.records.case import Effort, Response, Sample

INPUTS = ("question", "input", "query", "user_input", "text")
MESSAGES = "messages"
ANSWERS = ("answer", "result", "output", "output_text", "response", "text")
DOCUMENTS = ("context", "source_documents", "documents", "docs", "chunks")
OTHERS = ("triples", "traversal", "aggregates", "usage", "error")
"""Fields of a response that a chain may give under greval's own names."""


class LangChainMethod:
    """A LangChain runnable as a method: a retriever, a chain, an agent, a LangGraph graph, a chat model.

    Args:
        runnable: It gives documents, a text, a message, or a mapping with an answer (`answer`,
            `result`, `output`, ..., or the last of `messages`) and documents (`context`,
            `source_documents`, `documents`, ...).
        make_input: Makes the input from a sample. By default it is the question as text, or a mapping
            with the question where the runnable says that it takes one.

    Raises:
        MethodError: Where the runnable takes a mapping, and it does not tell where the question goes.

    Example:
        >>> import asyncio
        >>> from langchain_core.runnables import RunnableLambda
        >>> method = LangChainMethod(RunnableLambda(lambda question: f"You asked: {question}"))
        >>> asyncio.run(method(Sample(question="Who?"))).answer
        'You asked: Who?'
    """

    def __init__(self, runnable: Runnable[Any, Any], make_input: Callable[[Sample], Any] | None = None) -> None:
        self._runnable = runnable
        self._make_input = make_input or _input_for(runnable)

    async def __call__(self, sample: Sample) -> Response:
        """Ask the runnable, and count the calls of models within.

        Raises:
            MethodError: Where what it gave holds neither an answer nor documents.
        """
        counter = CallCounter()
        given = await self._runnable.ainvoke(self._make_input(sample), {"callbacks": [counter]})
        response = as_response(fields_of(given))
        return response.model_copy(update={"usage": filled(response.usage, counter.effort)})


def filled(told: Effort | None, counted: Effort | None) -> Effort | None:
    """Give what was told, and where that is silent what was counted."""
    if told is None or counted is None:
        return told or counted
    return counted.model_copy(update=told.model_dump(exclude_none=True))


def fields_of(given: object) -> Response | dict[str, object]:
    """Give the fields of a response that stand in what a runnable gave.

    Raises:
        MethodError: Where there are none.

    Example:
        >>> fields_of({"result": "At nine.", "source_documents": [Document("It opens at nine.", id="d7")]})["answer"]
        'At nine.'
    """
    if isinstance(given, Response):
        return given
    if isinstance(given, str | BaseMessage):
        return {"answer": _text(given)}
    if isinstance(given, Sequence):
        return {"chunks": chunks_of(given)}
    if isinstance(given, BaseModel):
        given = dict(given)
    if isinstance(given, Mapping):
        return _from_mapping(given)
    raise MethodError(f"the runnable gave {type(given).__name__}, where neither answer nor documents can be found")


def chunks_of(documents: Iterable[object]) -> list[dict[str, object]]:
    """Give chunks for documents, or for plain texts, in order; ids are those of the documents.

    A chunk's id is the document's own or the one in its metadata, else its position; an id that comes
    again has a number added. `doc_id`, `repo`, `version` and `score` are taken from the metadata.

    Raises:
        MethodError: Where one is neither.

    Example:
        >>> chunks_of([Document("Nine.", metadata={"source": "hours.md"})])
        [{'text': 'Nine.', 'doc_id': 'hours.md', 'id': 'c1'}]
    """
    chunks = [_chunk(document) for document in documents]
    seen: dict[object, int] = {}
    for position, chunk in enumerate(chunks, 1):
        given = chunk.setdefault("id", f"c{position}")
        seen[given] = seen.get(given, 0) + 1
        if seen[given] > 1:
            chunk["id"] = f"{given}#{seen[given]}"
    return chunks


def _chunk(document: object) -> dict[str, object]:
    if isinstance(document, str):
        return {"text": document}
    if isinstance(document, tuple) and len(document) == 2 and isinstance(document[0], Document):  # noqa: PLR2004 - with its score
        return {**_chunk(document[0]), "score": float(document[1])}
    if isinstance(document, Mapping) and "text" in document:
        return dict(document)
    if not isinstance(document, Document):
        raise MethodError(f"among the documents is {type(document).__name__}; a Document or a text is wanted")
    found = read_document(document.page_content, document.metadata, document.id)
    return {**found, "score": _number(found["score"])} if "score" in found else found


def _number(score: object) -> object:
    """Give a plain number for one of numpy's; what is none is left for the validation to refuse."""
    return score.item() if hasattr(score, "item") else score


def _from_mapping(given: Mapping[str, object]) -> dict[str, object]:
    found = {name: given[name] for name in OTHERS if given.get(name) is not None}
    answer = find_first(given, ANSWERS)
    if answer is None and isinstance(messages := given.get(MESSAGES), Sequence) and messages:
        answer = messages[-1]
    if answer is not None:
        found["answer"] = _text(answer)
    documents = find_first(given, DOCUMENTS)
    if documents is not None:
        found["chunks"] = chunks_of([documents] if isinstance(documents, str) else _listed(documents))
    if not found:
        wanted = f"an answer ({', '.join(ANSWERS)}) and documents ({', '.join(DOCUMENTS)})"
        raise MethodError(f"the runnable gave {', '.join(map(str, given)) or 'nothing'}; looked for {wanted}")
    return found


def _listed(documents: object) -> Iterable[object]:
    if not isinstance(documents, Sequence):
        raise MethodError(f"where documents are expected is {type(documents).__name__}")
    return documents


def _text(answer: object) -> object:
    """Give an answer as text; what is none is left for the validation to refuse."""
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


def _input_for(runnable: Runnable[Any, Any]) -> Callable[[Sample], Any]:
    """Give how the runnable wants the question, by what it says of its input."""
    names = _input_names(runnable)
    if not names:
        return _question
    if MESSAGES in names:
        return lambda sample: {MESSAGES: [("user", sample.question)]}
    key = next((name for name in INPUTS if name in names), names[0] if len(names) == 1 else None)
    if key is None:
        raise MethodError(
            f"the chain takes {', '.join(names)}, and none of these is called {' or '.join(INPUTS)}; "
            "wrap it: LangChainMethod(chain, lambda sample: {...})"
        )
    return lambda sample: {key: sample.question}


def _question(sample: Sample) -> str:
    return sample.question


def _input_names(runnable: Runnable[Any, Any]) -> tuple[str, ...]:
    """Give the names that the runnable's input is a mapping of; none where it takes a text, or does not tell."""
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - a runnable of somebody's own, whose types make no schema
        return ()
    if "$ref" in schema:
        schema = schema.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    return tuple(schema.get("properties", ()))
