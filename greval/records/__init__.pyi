# Public names of this part that are not in `greval` itself: `from greval.records import ...`.

from .case import NodeSource
from .inventory import IndexInventory
from .metric import set_reason_depth
from .result import Failure, Usage

__all__ = [
    "Failure",
    "IndexInventory",
    "NodeSource",
    "Usage",
    "set_reason_depth",
]
