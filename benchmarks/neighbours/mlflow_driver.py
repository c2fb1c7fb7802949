"""mlflow: `mlflow.genai.evaluate` with a judge of `make_judge`, tracked in a local SQLite file."""

from __future__ import annotations

from typing import Literal

import mlflow
from driver import CRITERION, EXPECTED, QUESTION, Task, drive
from mlflow.genai import evaluate, make_judge

INSTRUCTIONS = CRITERION + "\nQuestion: {{ inputs }}\nExpected answer: {{ expectations }}\nAnswer: {{ outputs }}"


def judge(task: Task) -> list[object]:
    """Judge recorded answers; workers, retries and timeouts are set in the environment, as documented."""
    task.folder.mkdir(parents=True, exist_ok=True)
    mlflow.set_tracking_uri(f"sqlite:///{task.folder}/mlflow.db")
    mlflow.set_experiment("answers")
    scorer = make_judge(
        name="alignment",
        instructions=INSTRUCTIONS,
        model="openai:/fake",
        feedback_value_type=Literal["0", "1"],
        base_url=f"{task.url}/chat/completions",  # it takes the whole address
    )
    data = [
        {"inputs": {"question": QUESTION}, "outputs": answer, "expectations": {"expected_response": EXPECTED}}
        for answer in task.answers
    ]
    found = evaluate(data=data, scorers=[scorer]).result_df
    return list(found["alignment/value"])


if __name__ == "__main__":
    drive("mlflow", judge)
