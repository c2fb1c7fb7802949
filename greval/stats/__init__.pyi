# Public names of this part that are not in `greval` itself: `from greval.stats import ...`.

from .summary import ChanceEstimate, Summary, summarise

__all__ = [
    "ChanceEstimate",
    "Summary",
    "summarise",
]
