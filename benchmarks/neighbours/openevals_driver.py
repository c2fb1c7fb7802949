"""openevals: `create_async_llm_as_judge`, awaited together behind a semaphore; it has no runner of its own."""

from __future__ import annotations

import asyncio
from functools import cache

from driver import ANSWER, CHUNKS, CRITERION, EXPECTED, QUESTION, RETRIES, RUNNER, Task, drive
from langchain_openai import ChatOpenAI
from openevals.llm import create_async_llm_as_judge
from openevals.prompts import RAG_RETRIEVAL_RELEVANCE_PROMPT
from pydantic import SecretStr

PROMPT = (
    CRITERION + "\n<question>{inputs}</question>\n<expected>{reference_outputs}</expected>\n<answer>{outputs}</answer>"
)


def judge(task: Task) -> list[object]:
    """Judge cases; an exception is no value."""
    return RUNNER.run(gathered(task))


async def gathered(task: Task) -> list[object]:
    """Ask for all answers at once, so many in flight."""
    evaluator = create_async_llm_as_judge(prompt=PROMPT, judge=model(task.url, task.timeout), choices=[0.0, 1.0])
    gate = asyncio.Semaphore(task.concurrency)

    async def once(answer: str) -> object:
        async with gate:
            found = await evaluator(inputs=QUESTION, outputs=answer, reference_outputs=EXPECTED)
        return found["score"]

    values = await asyncio.gather(*map(once, task.answers), return_exceptions=True)
    return [None if isinstance(value, BaseException) else value for value in values]


def chunks(task: Task) -> str:
    """Judge the retrieval of a case."""
    evaluator = create_async_llm_as_judge(
        prompt=RAG_RETRIEVAL_RELEVANCE_PROMPT, judge=model(task.url, task.timeout), choices=[0.0, 1.0]
    )
    RUNNER.run(evaluator(inputs=QUESTION, outputs=ANSWER, context="\n\n".join(CHUNKS)))
    return "1 score for all chunks together"


@cache
def model(url: str, timeout: int) -> ChatOpenAI:
    """Give the judging model, one for the warm-up and the measurement."""
    return ChatOpenAI(model="fake", base_url=url, api_key=SecretStr("none"), timeout=timeout, max_retries=RETRIES)


if __name__ == "__main__":
    drive("openevals", judge, {"RAG_RETRIEVAL_RELEVANCE": chunks})
