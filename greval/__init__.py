"""Write down what good means for RAG and GraphRAG, have it judged with reasons, and know how sure each figure is."""

from __future__ import annotations

import lazy_loader

from greval._util.notebook_display import FindingRenderers, register_renderers

__version__ = "0.1.0"

# Names load when they are used, so that `import greval` stays fast. The stub beside this file is their table.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


@register_renderers
def _load_renderers() -> FindingRenderers:
    """Import the renderers of findings, which are in a layer above them, when a notebook shows the first one."""
    from greval.report.notebook import RENDERERS

    return RENDERERS
