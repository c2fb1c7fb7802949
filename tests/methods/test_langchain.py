"""LangChain as a system under test: real retrievers, chains and graphs, with what they spend."""

from __future__ import annotations

import asyncio
from operator import itemgetter

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from pydantic import BaseModel

from greval import Response, Sample
from greval.errors import MethodError
from greval.methods.langchain import LangChainMethod
from greval.methods.loading import as_method
from greval.testing import ScriptedJudge

SAMPLE = Sample(id="q1", question="When does the harbour open?")
DOCUMENTS = [
    Document("The harbour opens at nine.", id="d1", metadata={"source": "hours.md", "repo": "ops", "version": 7}),
    Document("A dog may swim.", metadata={"id": "d2", "doc_id": "dogs"}),
    Document("Boats sail on Friday.", metadata={"score": 0.25}),
]


class FixedRetriever(BaseRetriever):
    """A synchronous retriever of a user's own."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun):
        return DOCUMENTS


def asked(method, sample=SAMPLE):
    return asyncio.run(method(sample))


def model(text="At nine."):
    return ScriptedJudge([text])


def joined(documents):
    return "\n".join(document.page_content for document in documents)


PROMPT = ChatPromptTemplate.from_template("{context}\n\n{question}")


def test_a_retriever():
    """The documents of a synchronous retriever are chunks in its order; what has no id is named by its position."""
    response = asked(as_method(FixedRetriever()))
    assert response.answer is None
    assert [(chunk.id, chunk.doc_id, chunk.score) for chunk in response.chunks] == [
        ("d1", "hours.md", None),
        ("d2", "dogs", None),
        ("c3", None, 0.25),
    ]
    first = response.chunks[0]
    assert (first.text, first.repo, first.version) == ("The harbour opens at nine.", "ops", "7")
    assert response.usage is None  # it called no model


def test_a_chain_that_answers():
    """A chain that takes the question as text gives an answer, and its calls and tokens are counted."""
    chain = (
        {"context": FixedRetriever() | joined, "question": RunnablePassthrough()} | PROMPT | model() | StrOutputParser()
    )
    response = asked(as_method(chain))
    assert response.answer == "At nine."
    assert response.chunks is None
    assert (response.usage.llm_calls, response.usage.prompt_tokens, response.usage.output_tokens) == (1, 100, 20)


def test_a_chain_that_gives_its_context():
    """A chain from a mapping to answer and documents gives both; two calls of models add up."""
    answering = PROMPT | model() | StrOutputParser()
    rewriting = itemgetter("question") | model("harbour open") | StrOutputParser()
    chain = RunnablePassthrough.assign(context=rewriting | FixedRetriever()) | RunnableParallel(
        answer=answering, context=itemgetter("context")
    )
    response = asked(as_method(chain))
    assert response.answer == "At nine."
    assert response.chunks[0].id == "d1"
    assert (response.usage.llm_calls, response.usage.prompt_tokens) == (2, 200)


def test_what_a_function_takes_is_found_out():
    """A function that reads one name of its input gets the question there."""

    def repeat(chain_input):
        return chain_input["query"]

    assert asked(as_method(RunnableLambda(repeat))).answer == "When does the harbour open?"
    assert asked(as_method(ChatPromptTemplate.from_template("On {topic}") | model())).answer == "At nine."


def test_messages():
    """What takes and gives messages, as agents and graphs do, answers with the last one."""

    class State(BaseModel):
        messages: list

    def agent(state):
        return {"messages": [*state["messages"], AIMessage(f"You said: {state['messages'][-1][1]}")]}

    graph = RunnableLambda(agent).with_types(input_type=State)
    assert asked(as_method(graph)).answer == "You said: When does the harbour open?"


def test_an_agent():
    """An agent of LangGraph answers with its last message, and all its calls count."""
    agents = pytest.importorskip("langchain.agents")
    from langchain_core.tools import tool  # noqa: PLC0415 - this test alone

    @tool
    def look_up(words: str) -> str:
        """Look something up."""
        return f"{words}: nine"

    call = {"name": "look_up", "args": {"words": "harbour"}, "id": "1"}
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    judge = ScriptedJudge([AIMessage("", tool_calls=[call], usage_metadata=usage), "At nine."])
    response = asked(as_method(agents.create_agent(judge, [look_up])))
    assert response.answer == "At nine."
    assert (response.usage.llm_calls, response.usage.prompt_tokens) == (2, 107)


def test_a_model_alone():
    """A chat model without retrieval is a method too."""
    response = asked(as_method(model()))
    assert (response.answer, response.chunks, response.usage.llm_calls) == ("At nine.", None, 1)


def test_tokens_that_one_call_does_not_tell():
    """Where one call of several tells no tokens, no total is made up; the calls are counted."""
    silent = ScriptedJudge([AIMessage("Hm.")])
    usage = asked(as_method(silent | StrOutputParser() | model())).usage
    assert (usage.llm_calls, usage.prompt_tokens, usage.output_tokens) == (2, None, None)


def test_a_call_that_was_made_again():
    """A call that failed and was made again is two calls."""
    failing = ScriptedJudge([ConnectionError("lost"), "At nine."])
    usage = asked(as_method(failing.with_retry(wait_exponential_jitter=False))).usage
    assert (usage.llm_calls, usage.prompt_tokens) == (2, 100)


def test_an_input_of_ones_own():
    """A chain that needs more than the question is given what one's own function makes of the sample."""
    chain = ChatPromptTemplate.from_template("{movie}: {ask}") | model()
    with pytest.raises(MethodError, match="the chain takes ask, movie, and none of these"):
        as_method(chain)
    judge = model()
    chain = ChatPromptTemplate.from_template("{movie}: {ask}") | judge
    method = LangChainMethod(chain, lambda sample: {"ask": sample.question, "movie": sample.tags["movie"]})
    asked(method, Sample(question="Who?", tags={"movie": "tt1"}))
    assert judge.calls[0][0].text == "tt1: Who?"


def test_fields_of_our_own():
    """A chain may give a response, or triples and walks under greval's names."""
    assert asked(as_method(RunnableLambda(lambda _: Response(answer="x")))).answer == "x"
    mapping = {"answer": "x", "triples": [["a", "calls", "b"]], "usage": {"llm_calls": 9}}
    response = asked(as_method(RunnableLambda(lambda _: mapping)))
    assert response.triples[0].object == "b"
    assert response.usage.llm_calls == 9


def test_ids_that_come_twice():
    """Parts of one document that share its id are told apart."""
    parts = [Document("a", id="d"), Document("b", id="d"), "c"]
    chunks = asked(as_method(RunnableLambda(lambda _: parts))).chunks
    assert [chunk.id for chunk in chunks] == ["d", "d#2", "c3"]
