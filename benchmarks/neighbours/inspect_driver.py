"""inspect-ai: `eval` with `model_graded_qa`, on recorded answers, with its log."""

from __future__ import annotations

from driver import CRITERION, EXPECTED, QUESTION, RETRIES, Task, drive
from inspect_ai import Task as Evaluation
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, Solver, TaskState, solver

VALUES = {"C": 1, "I": 0}


@solver
def recorded() -> Solver:
    """Hand over the recorded answer without a call."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - a solver's form
        state.output = ModelOutput.from_content("recorded", state.metadata["recorded"])
        return state

    return solve


def judge(task: Task) -> list[object]:
    """Judge samples; one that failed does not end the run."""
    config = GenerateConfig(max_retries=RETRIES, attempt_timeout=task.timeout, max_connections=task.concurrency)
    grader = get_model("openai-api/local/fake", base_url=task.url, api_key="none", config=config)
    samples = [
        Sample(id=number, input=QUESTION, target=f"{CRITERION} Expected: {EXPECTED}", metadata={"recorded": answer})
        for number, answer in enumerate(task.answers, 1)
    ]
    evaluation = Evaluation(MemoryDataset(samples), solver=recorded(), scorer=model_graded_qa(model=grader))
    (log,) = evaluate(
        evaluation,
        model=None,
        log_dir=str(task.folder),
        display="none",
        max_samples=task.concurrency,
        fail_on_error=False,
    )
    scores = (score for sample in log.samples or () for score in (sample.scores or {}).values())
    return [VALUES.get(str(score.value), score.value) for score in scores]


if __name__ == "__main__":
    drive("inspect-ai", judge)
