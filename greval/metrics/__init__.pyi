# Public names of this part that are not in `greval` itself: `from greval.metrics import ...`.

from .computed import formulas

__all__ = [
    "formulas",
]
