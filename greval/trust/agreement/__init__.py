"""Agreement of a judge with people, compared with agreement among the people and with trivial baselines."""

from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import (
    Agreement,
    AgreementGroup,
    Baseline,
    CategoricalAgreement,
    ClassFigures,
    NumericAgreement,
    PeopleAgreement,
)

__all__ = [
    "Agreement",
    "AgreementGroup",
    "Baseline",
    "CategoricalAgreement",
    "ClassFigures",
    "NumericAgreement",
    "PeopleAgreement",
    "agreement",
]
