"""The HTTP server: metrics over LangServe and plain REST, and a web page. Needs `greval[server]`."""

from __future__ import annotations

from greval.serve.settings import Limits, Settings

__all__ = ["Limits", "Settings"]
