"""The route that shows a client what it used, and its quotas."""

from __future__ import annotations

from fastapi import APIRouter

from greval.serve.service import TheService, TheTenant
from greval.serve.tenant_quotas import UsageReport, get_tenant_quotas

router = APIRouter(prefix="/v1/usage", tags=["usage"])


@router.get("")
def show_usage(service: TheService, tenant: TheTenant) -> UsageReport:
    """Show what you used of disk, data sets, runs, calls of judges, tokens and money, and your limits.

    Calls, tokens and cost are those of today and of this month (UTC), of requests, drafts and runs together.
    """
    return get_tenant_quotas(service, tenant).report()
