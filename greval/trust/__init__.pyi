# Public names of this part that are not in `greval` itself: `from greval.trust import ...`.

from .agreement.records import Agreement
from .alignment.api import align_async, forecast_align
from .alignment.records import Alignment
from .annotations.adjudication import adjudicate
from .annotations.files import keep_annotations, write_annotations
from .escalation.api import read_escalation
from .escalation.records import Escalation
from .estimates.records import Estimate
from .labelling.sheets import write_label_sheet
from .panels.api import panel_annotations
from .panels.records import Panel
from .probing.api import forecast_probe, probe_async
from .probing.checks import PROBE_CHECKS
from .probing.records import Probe

__all__ = [
    "PROBE_CHECKS",
    "Agreement",
    "Alignment",
    "Escalation",
    "Estimate",
    "Panel",
    "Probe",
    "adjudicate",
    "align_async",
    "forecast_align",
    "forecast_probe",
    "keep_annotations",
    "panel_annotations",
    "probe_async",
    "read_escalation",
    "write_annotations",
    "write_label_sheet",
]
