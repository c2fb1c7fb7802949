"""Agreement of a judge with people, beside that of the people among themselves and what costs nothing."""

from greval.agreements.agreeing import agreement
from greval.agreements.records import Agreement, Baseline, Categorical, Class, Group, Numeric, People

__all__ = ["Agreement", "Baseline", "Categorical", "Class", "Group", "Numeric", "People", "agreement"]
