"""Agreement of a judge with people, compared with agreement among the people and with trivial baselines."""

from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import Agreement, Baseline, Categorical, Class, Group, Numeric, People

__all__ = ["Agreement", "Baseline", "Categorical", "Class", "Group", "Numeric", "People", "agreement"]
