"""The embedded judge: a small model, fetched once, that answers on this machine."""

from greval.judging.local.cache import cache_dir, cached_path
from greval.judging.local.fetch import FetchProgress, fetch
from greval.judging.local.models import DEFAULT_MODEL, MODELS, LocalModel, Package, find_model
from greval.judging.local.serve import MODEL_VARIABLE, LocalServer, check_model, describe, serve

__all__ = [
    "DEFAULT_MODEL",
    "MODELS",
    "MODEL_VARIABLE",
    "FetchProgress",
    "LocalModel",
    "LocalServer",
    "Package",
    "cache_dir",
    "cached_path",
    "check_model",
    "describe",
    "fetch",
    "find_model",
    "serve",
]
