"""A panel of judges: its verdicts, the agreement among judges, the outlier, and the agreement with people."""

from greval.trust.panels.api import panel, panel_annotations
from greval.trust.panels.records import JudgeFigures, Panel, PanelGroup, PanelRun, SideAgreement

__all__ = ["JudgeFigures", "Panel", "PanelGroup", "PanelRun", "SideAgreement", "panel", "panel_annotations"]
