"""Mutation testing of a judge without labels: plant faults whose right verdict is known, and count those caught."""

from greval.trust.probing.api import probe, probe_async
from greval.trust.probing.forecast import foretell
from greval.trust.probing.mutations import NAMES as CHECK_NAMES
from greval.trust.probing.records import Checked, Noise, Probe, Skip, Survivor

__all__ = ["CHECK_NAMES", "Checked", "Noise", "Probe", "Skip", "Survivor", "foretell", "probe", "probe_async"]
