"""greval: `evaluate` into a run folder, with its durable log."""

from __future__ import annotations

from driver import ANSWER, CHUNKS, CRITERION, EXPECTED, QUESTION, RETRIES, STEPS, Task, drive

from greval import Case, Judge, ValueMetric, ValueScale, evaluate, load_metric

METRIC = ValueMetric(
    name="alignment",
    description=CRITERION,
    needs=["question", "expected_answer", "answer"],
    steps=list(STEPS),
    scale=ValueScale(range=(0, 1), levels={0: "A fact is missing or wrong.", 1: "Every fact is there, none is wrong."}),
)


def judge(task: Task) -> list[object]:
    """Judge cases into the run folder and read the values from its log."""
    cases = [
        Case(id=f"q{number}", question=QUESTION, expected_answer=EXPECTED, answer=answer)
        for number, answer in enumerate(task.answers)
    ]
    run = evaluate(cases, [METRIC], model(task), out=task.folder, concurrency=task.concurrency)
    return [judgement.value for result in run.results() for judgement in result.judgements]


def chunks(task: Task) -> str:
    """Judge all chunks of a case."""
    case = Case(id="q1", question=QUESTION, answer=ANSWER, chunks=list(CHUNKS))
    run = evaluate([case], [load_metric("chunk_evaluation")], model(task), out=task.folder)
    (result,) = run.results()
    return f"{len({judgement.item for judgement in result.judgements})} categories by chunk id, each with a reason"


def model(task: Task) -> Judge:
    """Give the judge."""
    return Judge("openai:fake", base_url=task.url, timeout=task.timeout, max_retries=RETRIES)


if __name__ == "__main__":
    drive("greval", judge, {"chunk_evaluation": chunks})
