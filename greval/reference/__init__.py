"""The reference pipeline: an embedded GraphRAG system to learn from, to compare with, and to evaluate.

It is an app beside greval, which needs it for nothing. What it needs itself: `pip install 'greval[reference]'`.
"""

from __future__ import annotations

import lazy_loader

# Names load when they are used. The stub beside this file is their table.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
