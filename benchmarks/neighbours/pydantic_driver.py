"""pydantic-evals: `Dataset.evaluate` with `LLMJudge`."""

from __future__ import annotations

import sys
from functools import cache

from driver import CRITERION, EXPECTED, QUESTION, RETRIES, RUNNER, STEPS, Task, drive
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, GEval, LLMJudge

RANGED = "--ranged" in sys.argv
"""Whether to judge by `GEval`, which has a range of values, instead of `LLMJudge`."""
if RANGED:
    sys.argv.remove("--ranged")


def judge(task: Task) -> list[object]:
    """Judge recorded answers: the task only hands them over."""
    cases = [
        Case(name=f"q{number}", inputs=f"{QUESTION}\n\n{answer}", expected_output=EXPECTED)
        for number, answer in enumerate(task.answers)
    ]
    dataset = Dataset(name="answers", cases=cases, evaluators=[evaluator(task)])
    report = RUNNER.run(dataset.evaluate(recorded, max_concurrency=task.concurrency, progress=False))
    return [score.value for case in report.cases for score in case.scores.values()]


async def recorded(inputs: str) -> str:
    """Give the answer that stands in the inputs."""
    return inputs.split("\n\n", 1)[1]


def evaluator(task: Task) -> Evaluator[object, object, object]:
    """Give the judging evaluator."""
    model = judging(task.url)
    settings = {"timeout": float(task.timeout)}
    if RANGED:
        return GEval(
            criteria=CRITERION, evaluation_steps=list(STEPS), score_range=(0, 1), model=model, model_settings=settings
        )
    return LLMJudge(
        rubric=CRITERION,
        model=model,
        include_input=True,
        include_expected_output=True,
        model_settings=settings,
        score={"include_reason": True},
        assertion=False,
    )


@cache
def judging(url: str) -> OpenAIChatModel:
    """Give the judging model, one for the warm-up and the measurement."""
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=RETRIES)
    return OpenAIChatModel("fake", provider=OpenAIProvider(openai_client=client))


if __name__ == "__main__":
    drive("pydantic-evals", judge)
