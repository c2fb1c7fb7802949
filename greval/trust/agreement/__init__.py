"""Agreement of a judge with people, beside that of the people among themselves and what costs nothing."""

from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import Agreement, Baseline, Categorical, Class, Group, Numeric, People

__all__ = ["Agreement", "Baseline", "Categorical", "Class", "Group", "Numeric", "People", "agreement"]
