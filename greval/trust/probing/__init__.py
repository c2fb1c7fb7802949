"""Mutation testing of a judge without labels: plant faults whose right verdict is known, and count those caught."""

from greval.trust.probing.api import probe, probe_async
from greval.trust.probing.checks import PROBE_CHECKS
from greval.trust.probing.forecast import forecast_probe
from greval.trust.probing.records import JudgeNoise, Probe, ProbeCheckResult, SkippedCheck, SurvivingMutant

__all__ = [
    "PROBE_CHECKS",
    "JudgeNoise",
    "Probe",
    "ProbeCheckResult",
    "SkippedCheck",
    "SurvivingMutant",
    "forecast_probe",
    "probe",
    "probe_async",
]
