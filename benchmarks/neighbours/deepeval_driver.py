"""deepeval: `evaluate` with `GEval`, its steps given, and its metrics of the retrieval."""

from __future__ import annotations

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric, ContextualPrecisionMetric, ContextualRelevancyMetric, GEval
from deepeval.metrics.g_eval import Rubric
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase, SingleTurnParams
from driver import ANSWER, CHUNKS, EXPECTED, QUESTION, STEPS, Task, drive

PARAMS = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT]
RUBRIC = [
    Rubric(score_range=(0, 0), expected_outcome="A fact is missing or wrong."),
    Rubric(score_range=(1, 1), expected_outcome="Every fact is there, none is wrong."),
]


def judge(task: Task) -> list[object]:
    """Judge cases; retries and timeouts are set in the environment, as documented."""
    metric = GEval(
        name="alignment", evaluation_params=PARAMS, evaluation_steps=list(STEPS), rubric=RUBRIC, model=model(task)
    )
    cases = [LLMTestCase(input=QUESTION, actual_output=answer, expected_output=EXPECTED) for answer in task.answers]
    return run(task, cases, metric)


def run(task: Task, cases: list[LLMTestCase], metric: BaseMetric) -> list[object]:
    """Run deepeval's own runner without its display, and give the scores."""
    found = evaluate(
        cases,
        [metric],
        async_config=AsyncConfig(max_concurrent=task.concurrency),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        error_config=ErrorConfig(ignore_errors=True),
        cache_config=CacheConfig(write_cache=False),
    )
    return [data.score for result in found.test_results for data in result.metrics_data or ()]


def relevancy(task: Task) -> str:
    """Judge the retrieval of a case without the expected answer."""
    return retrieval(task, ContextualRelevancyMetric(model=model(task)))


def precision(task: Task) -> str:
    """Judge the retrieval of a case against the expected answer."""
    return retrieval(task, ContextualPrecisionMetric(model=model(task)))


def retrieval(task: Task, metric: BaseMetric) -> str:
    """Judge one case."""
    case = LLMTestCase(input=QUESTION, actual_output=ANSWER, expected_output=EXPECTED, retrieval_context=list(CHUNKS))
    (score,) = run(task, [case], metric)
    return f"1 score of the case ({score}) with a reason"


def model(task: Task) -> OpenAIModel:
    """Give deepeval's model of OpenAI, of its default name."""
    return OpenAIModel(base_url=task.url, api_key="none")


if __name__ == "__main__":
    drive("deepeval", judge, {"ContextualRelevancy": relevancy, "ContextualPrecision": precision})
