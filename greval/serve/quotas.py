"""Quotas: how much of the server's disk, of its judges' calls and of money one tenant may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, get_args

from pydantic import Field

from greval._util.wording import did_you_mean, format_count
from greval.errors import GrevalError
from greval.records.record import Record

KeptName = Literal["disk", "datasets", "runs"]
"""What is there until it is deleted."""
SpentName = Literal["calls", "tokens", "cost"]
"""What is spent, and renewed with the next period."""
QuotaName = Literal[KeptName, SpentName]
Period = Literal["day", "month"]
KEPT_NAMES: tuple[KeptName, ...] = get_args(KeptName)
SPENT_NAMES: tuple[SpentName, ...] = get_args(SpentName)
PERIODS: tuple[Period, ...] = get_args(Period)
BYTES = {"MB": 1024**2, "GB": 1024**3}
EXPECTED = (
    "write [TENANT:]NAME=N, such as calls=1000, tokens=5000000/month, cost=20/month, disk=2GB, datasets=50 or "
    "ana:runs=200"
)
_QUOTA = re.compile(
    r"(?:(?P<tenant>[A-Za-z0-9_-]+):)?(?P<name>[a-z]+)=(?P<number>\d+(?:\.\d+)?)(?P<unit>MB|GB)?(?:/(?P<period>[a-z]+))?"
)


class Quota(Record):
    """The most that a tenant may keep on the server, or spend in a calendar day or month of UTC.

    `limit` is a number of bytes, of data sets, runs, calls of a judge or tokens, or of US dollars. `tenant` is the only
    tenant for which it holds; without one it holds for each tenant that has none of its own.
    """

    name: QuotaName
    limit: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    period: Period | None = None
    tenant: str | None = None


def parse_quota(text: str) -> Quota:
    """Parse a quota, or raise `GrevalError`.

    Example:
        >>> parse_quota("cost=20/month").limit, parse_quota("ana:calls=1000").period, parse_quota("disk=1MB").limit
        (20.0, 'day', 1048576.0)
    """
    match = _QUOTA.fullmatch(text)
    if not match:
        raise GrevalError(f"--quota {text}: is no quota; {EXPECTED}")
    name, number, unit, period = match["name"], float(match["number"]), match["unit"], match["period"]
    if name not in {*KEPT_NAMES, *SPENT_NAMES}:
        names = (*KEPT_NAMES, *SPENT_NAMES)
        raise GrevalError(f"--quota {text}: {name!r} has no quota{did_you_mean(name, names)}; {', '.join(names)} have")
    if (unit is None) == (name == "disk"):
        which = "disk needs" if name == "disk" else "only disk takes"
        raise GrevalError(f"--quota {text}: {which} MB or GB; {EXPECTED}")
    if period is not None and (name in KEPT_NAMES or period not in PERIODS):
        hint = f"{name} does not renew" if name in KEPT_NAMES else "a period is day or month"
        raise GrevalError(f"--quota {text}: {hint}; {EXPECTED}")
    if not number or (name != "cost" and unit is None and not number.is_integer()):
        raise GrevalError(f"--quota {text}: the number must be more than 0, and whole unless it is a cost; {EXPECTED}")
    return Quota.model_validate(
        {
            "name": name,
            "limit": number * BYTES.get(unit or "", 1),
            "period": None if name in KEPT_NAMES else period or "day",
            "tenant": match["tenant"],
        }
    )


def select_quotas(quotas: Iterable[Quota], tenant: str) -> tuple[Quota, ...]:
    """Return the quotas of a tenant: its own, and those of all tenants that it has no own one in place of."""
    general = {(quota.name, quota.period): quota for quota in quotas if quota.tenant is None}
    tenant_quotas = {(quota.name, quota.period): quota for quota in quotas if quota.tenant == tenant}
    return tuple((general | tenant_quotas).values())


def find_period_start(period: Period, now: datetime) -> datetime:
    """Return when the current calendar day or month of UTC began."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day if period == "day" else day.replace(day=1)


def find_renewal(period: Period, now: datetime) -> datetime:
    """Return when the next calendar day or month of UTC begins."""
    start = find_period_start(period, now)
    # 32 days after the first of a month are always within the next one.
    return start + timedelta(days=1) if period == "day" else (start + timedelta(days=32)).replace(day=1)


def format_amount(name: QuotaName, amount: float) -> str:
    """Format an amount with its unit.

    Example:
        >>> format_amount("cost", 0.5), format_amount("disk", 3 * 1024**2), format_amount("calls", 1000)
        ('$0.50', '3.0 MB', '1,000 calls')
    """
    match name:
        case "cost":
            return f"${amount:,.2f}"
        case "disk":
            return f"{amount / BYTES['MB']:,.1f} MB"
        case _:
            return format_count(int(amount), "data set" if name == "datasets" else name.removesuffix("s"))


def describe_reached_quota(quota: Quota, used: float, now: datetime) -> str:
    """Describe a quota that is used up: the limit, what was used, when it renews, what to do.

    Example:
        >>> describe_reached_quota(parse_quota("runs=2"), 2, datetime.now(UTC))
        'the quota of 2 runs is used up (2 runs); delete some of it, or ask the operator of the server for more'
    """
    each = f" a {quota.period}" if quota.period else ""
    ask = "or ask the operator of the server for more"
    what = f"the quota of {format_amount(quota.name, quota.limit)}{each} is used up ({format_amount(quota.name, used)})"
    if quota.period is None:
        return f"{what}; delete some of it, {ask}"
    return f"{what}; it renews at {find_renewal(quota.period, now):%Y-%m-%dT%H:%M:%SZ}: ask again then, {ask}"
