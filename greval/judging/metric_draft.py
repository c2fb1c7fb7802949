"""Metric drafts written by a model: a complete definition, to be reviewed by a person and stored as a file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from greval._util.concurrency import run_sync
from greval.errors import DataWarning
from greval.judging.drafting.brief import DraftBrief, DraftScale, DraftWriter, find_draft_remarks
from greval.judging.drafting.literal import write_literal
from greval.judging.drafting.planted import SUBJECTS, find_pair_faults
from greval.judging.drafting.whole import write_whole
from greval.judging.model.call_context import NO_RUN, CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.case import Over
from greval.records.metric import JudgedMetric
from greval.records.result import Usage


@dataclass(frozen=True)
class WrittenDraft:
    """A draft, the remarks that are left, what all calls for it used, and whether it was tried on planted pairs.

    The remarks are those that its writer did not mend, and one if a good example did not get the better value.
    """

    metric: JudgedMetric
    remarks: tuple[str, ...]
    usage: Usage
    is_tried: bool = False

    @property
    def is_good(self) -> bool:
        """True if it was tried on planted pairs and there is no remark."""
        return self.is_tried and not self.remarks


def draft_metric(
    name: str,
    description: str,
    *,
    scale: DraftScale = "categorical",
    over: Over | None = None,
    judge: Judge | BaseChatModel | str,
    check: bool = True,
) -> JudgedMetric:
    """Draft a metric with a model, from a name and a one-sentence description.

    Args:
        name: The metric's name.
        description: What the metric judges.
        scale: `categorical`, `value` (1 to 5), a range such as (0, 10), or the names of the categories, best first.
        over: `chunks`, `triples`, `claims` or `expected_claims`, if each item is judged separately.
        judge: The model that writes the definition.
        check: Try the draft on pairs of a good and a bad example that the model makes up. It takes 12 calls or more.

    Returns:
        A complete, validated definition. Write it to a file with `greval.write_metric` and review it. Each remark that
        is left is a `DataWarning`.

    Raises:
        DefinitionError: If the name, the description or the scale is not valid for a metric. No call is made then.
        JudgeUnavailableError: If the model cannot be reached, or the key or the model's name is rejected.
        JudgeError: If the model returns no valid definition in three tries.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> written = {"needs": ["answer"], "steps": ["Read the answer.", "Weigh its tone."], "instructions": "",
        ...            "categories": [{"name": "Polite", "means": "It is courteous.", "score": 1},
        ...                           {"name": "Rude", "means": "It insults.", "score": 0}]}
        >>> judge = ScriptedJudge([written])
        >>> draft_metric("tone", "Whether the answer is polite.", judge=judge, check=False).scale.names
        ('Polite', 'Rude')
    """
    draft = write_draft(name, description, scale=scale, over=over, judge=judge, check=check)
    for remark in draft.remarks:
        warnings.warn(f"{name}: {remark}", DataWarning, stacklevel=2)
    return draft.metric


def write_draft(
    name: str,
    description: str,
    *,
    scale: DraftScale,
    over: Over | None,
    judge: Judge | BaseChatModel | str,
    check: bool = True,
) -> WrittenDraft:
    """Draft a metric as `draft_metric` does, and return also the remarks that are left and the usage."""
    brief = DraftBrief.parse(name, description, scale, over)
    return run_sync(draft_async(brief, JudgeClient(judge), check=check))


async def draft_async(
    brief: DraftBrief, client: JudgeClient, context: CallContext = NO_RUN, *, check: bool = True
) -> WrittenDraft:
    """Draft a metric; see `draft_metric`. The embedded model keeps to the words of the description."""
    writer = DraftWriter(client, context)
    write = write_literal if client.judge.local else write_whole
    metric = await write(brief, writer)
    remarks = find_draft_remarks(brief, metric)
    if check and (faults := await find_pair_faults(brief, metric, writer, context)):
        count = f"{len(SUBJECTS) - len(faults)} of {len(SUBJECTS)}"
        remarks.append(f"planted pairs: the good example got the better value in {count}; {faults[0]}")
    return WrittenDraft(metric, tuple(remarks), writer.usage, is_tried=check)
