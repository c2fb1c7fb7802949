"""The HTTP server: metrics over LangServe and plain REST, and a web page. Needs `greval[server]`."""

from __future__ import annotations

from greval.serve.settings import ServerLimits, ServerSettings

__all__ = ["ServerLimits", "ServerSettings"]
