"""ragas: an experiment with a `DiscreteMetric`, and its metrics of the retrieval."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import cache

from driver import ANSWER, CHUNKS, CRITERION, EXPECTED, QUESTION, RETRIES, RUNNER, Task, drive
from openai import AsyncOpenAI
from ragas import Dataset, experiment
from ragas.backends import InMemoryBackend
from ragas.llms import InstructorBaseRagasLLM, llm_factory
from ragas.metrics import DiscreteMetric, MetricResult
from ragas.metrics.collections import ContextPrecisionWithoutReference, ContextPrecisionWithReference, ContextRelevance

METRIC = DiscreteMetric(
    name="alignment",
    allowed_values=["0", "1"],
    prompt=CRITERION + "\nQuestion: {question}\nExpected answer: {expected}\nAnswer: {answer}",
)


def judge(task: Task) -> list[object]:
    """Judge cases by an experiment; it starts all rows at once, so a semaphore bounds the calls."""
    return RUNNER.run(rows(task))


async def rows(task: Task) -> list[object]:
    """Run the experiment; a row that raised is not in it."""
    gate, judging = asyncio.Semaphore(task.concurrency), llm(task.url, task.timeout)

    @experiment(backend=InMemoryBackend())
    async def judged(row: dict[str, str]) -> dict[str, object]:
        async with gate:
            found = await METRIC.ascore(llm=judging, question=QUESTION, expected=EXPECTED, answer=row["answer"])
        return {"value": found.value}

    data = [{"answer": answer} for answer in task.answers]
    done = await judged.arun(Dataset(name="answers", backend=InMemoryBackend(), data=data))
    return [row["value"] for row in done]


def with_reference(task: Task) -> str:
    """Judge the retrieval of a case against the expected answer."""
    metric = ContextPrecisionWithReference(llm=llm(task.url, task.timeout))
    return one(metric.ascore(user_input=QUESTION, reference=EXPECTED, retrieved_contexts=list(CHUNKS)))


def without_reference(task: Task) -> str:
    """Judge the retrieval of a case against the answer."""
    metric = ContextPrecisionWithoutReference(llm=llm(task.url, task.timeout))
    return one(metric.ascore(user_input=QUESTION, response=ANSWER, retrieved_contexts=list(CHUNKS)))


def relevance(task: Task) -> str:
    """Judge the retrieval of a case by the question alone."""
    return one(
        ContextRelevance(llm=llm(task.url, task.timeout)).ascore(user_input=QUESTION, retrieved_contexts=list(CHUNKS))
    )


def one(score: Coroutine[None, None, MetricResult]) -> str:
    """Await one score."""
    return f"1 score of the case ({RUNNER.run(score).value:.2f}) without a reason"


@cache
def llm(url: str, timeout: int) -> InstructorBaseRagasLLM:
    """Give the judging model, one for the warm-up and the measurement."""
    client = AsyncOpenAI(base_url=url, api_key="none", timeout=timeout, max_retries=RETRIES)
    return llm_factory("fake", client=client)


if __name__ == "__main__":
    metrics = {
        "ContextPrecisionWithReference": with_reference,
        "ContextPrecisionWithoutReference": without_reference,
        "ContextRelevance": relevance,
    }
    drive("ragas", judge, metrics)
