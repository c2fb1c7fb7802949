# Public names of this part that are not in `greval` itself: `from greval.metrics import ...`.

from .computed import formulas
from .scale_text import build_scale_metric

__all__ = [
    "build_scale_metric",
    "formulas",
]
