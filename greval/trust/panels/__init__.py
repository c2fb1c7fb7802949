"""A panel of judges: its verdicts, the agreement among judges, the outlier, and the agreement with people."""

from greval.trust.panels.api import panel, panel_annotations
from greval.trust.panels.records import Against, Bench, Jury, Panel, Seat

__all__ = ["Against", "Bench", "Jury", "Panel", "Seat", "panel", "panel_annotations"]
