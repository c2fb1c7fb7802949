"""The HTTP server: metrics over plain REST and LangServe, and a web page.

It is an app beside greval, which needs it for nothing. What it needs itself: `pip install 'greval[server]'`, and for
the routes of LangServe `pip install 'greval[langserve]'`.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

from greval.errors import MissingExtraError

# Names load when they are used. The stub beside this file is their table.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Load a public name."""
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError("server", str(error.name)) from error
