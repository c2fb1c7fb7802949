"""Compiling: a metric and a judge become a LangChain runnable from a case to a result."""

from __future__ import annotations

from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from greval.asking import Asking, ended
from greval.case import Case
from greval.client import JudgeClient
from greval.computing import compute_outcome
from greval.errors import JudgeError
from greval.identity import fingerprint
from greval.judge import Judge
from greval.library import definition
from greval.metric import ComputedMetric, JudgedMetric, Metric
from greval.prompt import PROMPT_VERSION
from greval.repeats import merged
from greval.result import Outcome, Usage
from greval.runnable import Judging, MetricRunnable


def compile_metric(
    metric: Metric,
    model: Judge | BaseChatModel | JudgeClient | None = None,
    *,
    repeats: int = 1,
    built_on: Mapping[str, str] | None = None,
) -> MetricRunnable:
    """Compile a metric and a judge into a runnable; built once, it judges any number of cases.

    Args:
        metric: A definition, judged or computed.
        model: Settings of a judge, any chat model of LangChain, or a client shared by several
            metrics; a computed metric needs none.
        repeats: How often each case is judged; the majority (categories) or the mean (values)
            counts, with the votes and the flip rate.
        built_on: Fingerprints of the metrics that this one builds on, by name.

    Returns:
        A runnable from a case (or a mapping of its fields) to a `Result`, with `invoke`, `ainvoke`,
        `batch`, `abatch`, `stream` and callbacks as any runnable. The same object serves threads,
        scripts and running event loops.

    Raises:
        DefinitionError: Where the metric is none, such as a name.
        JudgeError: Where a judged metric is given no judge.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> from greval import CategoricalMetric
        >>> metric = CategoricalMetric(name="tone", description="The tone.", needs=["answer"], steps=["Read."],
        ...                            categories={"Polite": "Courteous.", "Rude": "Insults."})
        >>> judge = ScriptedJudge([{"reason": "It thanks.", "value": "Polite"}])
        >>> compile_metric(metric, judge).invoke({"question": "Hi?", "answer": "Thank you."}).judgements[0].value
        'Polite'
    """
    metric = definition(metric)
    if isinstance(metric, ComputedMetric):
        return MetricRunnable(metric, _computing(metric), judge="", tier="computed", mark=fingerprint(metric, {}))
    if model is None or not isinstance(metric, JudgedMetric):
        message = f"{metric.name}: a judged metric needs a judge, such as Judge('openai:MODEL') or Judge('local')"
        raise JudgeError(message)
    if repeats < 1:
        message = f"{metric.name}: repeats must be 1 or more, got {repeats}"
        raise JudgeError(message)
    client = model if isinstance(model, JudgeClient) else JudgeClient(model)
    asking = Asking(metric, client)
    packing = {"max_items": asking.max_items} if metric.over else {}
    settings = {**client.identity, **packing, "prompt": PROMPT_VERSION, "tier": client.tier}
    mark = fingerprint(metric, {**settings, "repeats": repeats}, built_on)
    judging = asking if repeats == 1 else _repeating(asking, metric, repeats)
    return MetricRunnable(metric, judging, judge=client.label, tier=client.tier, mark=mark, prepare=client.ready)


def _computing(metric: ComputedMetric) -> Judging:
    """Compute the judgements of a case; what goes wrong in the function is that case's failure."""

    async def compute(case: Case, _: RunnableConfig) -> tuple[Outcome, Usage]:
        return compute_outcome(metric, case), Usage()

    return compute


def _repeating(asking: Asking, metric: JudgedMetric, repeats: int) -> Judging:
    """Judge several times, and give the majority or the mean of what was given."""

    async def repeat(case: Case, config: RunnableConfig) -> tuple[Outcome, Usage]:
        rounds = await ended(asking(case, config, repeat=n, repeats=repeats) for n in range(repeats))
        return merged(metric, [outcome for outcome, _ in rounds]), sum((usage for _, usage in rounds), Usage())

    return repeat
