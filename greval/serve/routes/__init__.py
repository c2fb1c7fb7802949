"""The routes, one module for each kind of thing."""

from __future__ import annotations

from fastapi import APIRouter

from greval.serve.routes import (
    argilla,
    datasets,
    evaluating,
    figures,
    metrics,
    operating,
    page,
    runnables,
    runs,
)


def routers() -> tuple[APIRouter, ...]:
    """Give the routers of all routes."""
    modules = (operating, metrics, evaluating, runnables, datasets, runs, figures, argilla, page)
    return tuple(module.router for module in modules)
