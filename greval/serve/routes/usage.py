"""The route that shows a client what it used, and its quotas."""

from __future__ import annotations

from fastapi import APIRouter

from greval.serve.service import TheTasks
from greval.serve.tenant_quotas import UsageReport, get_tenant_quotas

router = APIRouter(prefix="/v1/usage", tags=["usage"])


@router.get("")
async def show_usage(tasks: TheTasks) -> UsageReport:
    """Show what you used of disk, data sets, runs, calls of judges, tokens and money, and your limits.

    Calls, tokens and cost are those of today and of this month (UTC), of requests, drafts and runs together.
    """
    return await tasks.run_in_thread(get_tenant_quotas(tasks.service, tasks.tenant).report)
