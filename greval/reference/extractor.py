"""What extracts entities and relations: rules, or a model with a budget; and the keys of what it extracted."""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from greval.judging.model.budget import RunGuard, RunSpending
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.methods.index_records import IndexedChunk
from greval.records.result import Usage
from greval.reference.extraction.rules import RULES_VERSION
from greval.reference.ledger import ExtractionKey, compute_text_key
from greval.reference.schema import GraphSchema
from greval.reference.settings import IndexSettings
from greval.runs.judges import JudgeGroup, JudgeModel, RunJudges, build_run_guard

RULES = "rules"
MEGABYTE = 1_000_000


class IndexBudget(NamedTuple):
    """The most calls and dollars that the extractions of an index may take, over all commands, and the prices.

    Without `prices`, those that greval finds by itself count.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None


class Extractor(NamedTuple):
    """The model that extracts, what its calls may cost, and the judges that they are counted for."""

    client: JudgeClient
    model: JudgeModel
    budget: IndexBudget
    prices: Prices

    def compute_cost(self, usage: Usage) -> float | None:
        """Compute the cost of a usage in US dollars, None if the price is not known."""
        return self.prices.cost(self.client.label, usage) if usage.calls else 0.0

    def build_guard(self, earlier: Usage) -> RunGuard:
        """Build the guard that stops the extraction at the budget, of which earlier commands used a part."""
        judges = RunJudges((JudgeGroup(self.model),))
        guard = build_run_guard(
            judges,
            self.prices,
            max_calls=self.budget.max_calls,
            max_cost=self.budget.max_cost,
            clock=time.monotonic,
        )
        guard.before = RunSpending(calls=earlier.calls, cost=self.compute_cost(earlier))
        return guard


def open_extractor(
    settings: IndexSettings, model: Judge | BaseChatModel | None, budget: IndexBudget
) -> Extractor | None:
    """Open the model that extracts, None if rules do; raise `JudgeError` if there is a cap on the cost but no price."""
    if settings.extract == RULES and model is None:
        return None
    judge = model or Judge(settings.extract)
    extractor = Extractor(JudgeClient(judge), judge, budget, budget.prices or Prices.load())
    # Before anything is written: a cap on the cost needs a price.
    extractor.build_guard(Usage())
    return extractor


def name_extractor(extractor: Extractor | None, schema: GraphSchema | None) -> str:
    """Return the name of what extracts. What was extracted under another name is not used."""
    if extractor is None:
        name = f"{RULES}/{RULES_VERSION}"
    else:
        from greval.reference.extraction.model import EXTRACTION_VERSION

        name = f"{extractor.client.label}/{EXTRACTION_VERSION}"
    return f"{name}/{schema.digest[:12]}" if schema else name


def build_extraction_key(chunk: IndexedChunk, schema: GraphSchema | None, *, is_by_rules: bool) -> ExtractionKey:
    """Return the key of the extraction of a chunk: its text, and what else the extraction depends on.

    That is the tags that name entities, and for rules whether it is the first chunk.
    """
    text_key = compute_text_key(chunk.title, chunk.text)
    if chunk.triples:
        return text_key, "triple"
    used = {name: chunk.tags[name] for name in schema.tags if name in chunk.tags} if schema else {}
    # To rules, the first chunk of a document is about its title, even if it does not name it.
    first = "first" if is_by_rules and chunk.id.endswith("#1") else ""
    return text_key, compute_text_key(first, json.dumps(used, sort_keys=True)) if used else first


def divide_by_megabytes(cost: float | None, characters: int) -> float | None:
    """Return the cost of 1,000,000 characters of text."""
    return None if cost is None or not characters else cost / characters * MEGABYTE
