# Public names of this part that are not in `greval` itself: `from greval.methods import ...`.

from .collecting.api import Collected, CollectProgress, collect_async
from .fair_context.answer_generation import generate_answers
from .fair_context.context_audit import ContextAudit, audit_contexts
from .fair_context.counts import create_fact_counter
from .langchain import LangChainMethod

__all__ = [
    "CollectProgress",
    "Collected",
    "ContextAudit",
    "LangChainMethod",
    "audit_contexts",
    "collect_async",
    "create_fact_counter",
    "generate_answers",
]
