"""A panel of judges: its verdicts, how far the judges agree, who is apart, and how near they come to people."""

from greval.trust.panels.api import panel, panel_annotations
from greval.trust.panels.records import Against, Bench, Jury, Panel, Seat

__all__ = ["Against", "Bench", "Jury", "Panel", "Seat", "panel", "panel_annotations"]
