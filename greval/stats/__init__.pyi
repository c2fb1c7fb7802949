# Public names of this part that are not in `greval` itself: `from greval.stats import ...`.

from .summary import Summary, summarise

__all__ = [
    "Summary",
    "summarise",
]
