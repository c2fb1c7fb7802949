"""The routes, one module per resource."""

from __future__ import annotations

from fastapi import APIRouter

from greval.serve.routes import argilla, datasets, figures, metrics, page, runs
from greval.serve.routes import evaluate as evaluating
from greval.serve.routes import health as operating
from greval.serve.routes import langserve as runnables


def list_routers() -> tuple[APIRouter, ...]:
    """Return the routers of all routes."""
    modules = (operating, metrics, evaluating, runnables, datasets, runs, figures, argilla, page)
    return tuple(module.router for module in modules)
