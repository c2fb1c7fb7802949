"""Probing a judge without labels: faults are planted whose right verdict is known, and those caught are counted."""

from greval.probing.checks import NAMES as CHECK_NAMES
from greval.probing.foretelling import foretell
from greval.probing.probing import probe, probe_async
from greval.probing.records import Checked, Noise, Probe, Skip, Survivor

__all__ = ["CHECK_NAMES", "Checked", "Noise", "Probe", "Skip", "Survivor", "foretell", "probe", "probe_async"]
