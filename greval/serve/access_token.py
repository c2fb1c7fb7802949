"""The token of a server without keys: made at each start, or fixed by the operator."""

from __future__ import annotations

import os
import re
import secrets
from typing import NamedTuple

from greval.errors import GrevalError

TOKEN_VARIABLE = "GREVAL_TOKEN"  # noqa: S105 - its name
TOKEN_BYTES = 24
FIXED_TOKEN = re.compile(r"[A-Za-z0-9_~.-]{16,200}")


class AccessToken(NamedTuple):
    """A token, and whether the operator chose it: such a token is known already and is never printed."""

    value: str
    is_fixed: bool = False

    def format_link(self, address: str, view: str = "") -> str:
        """Return the address of a view of the page with the token as a fragment.

        Example:
            >>> AccessToken("abc").format_link("http://127.0.0.1:8000"), AccessToken("abc").format_link("", "/runs/a")
            ('http://127.0.0.1:8000/#token=abc', '/#token=abc/runs/a')
        """
        if self.is_fixed:
            # The operator knows this token; it is never printed.
            return f"{address}/#{view}" if view else address
        # Browsers send no fragment to a server, so the token reaches no access log.
        return f"{address}/#token={self.value}{view}"


def choose_token() -> AccessToken:
    """Return the token of the environment, or a new one; raise `GrevalError` if the one of the environment is weak."""
    fixed = os.environ.get(TOKEN_VARIABLE, "")
    if not fixed:
        return AccessToken(secrets.token_urlsafe(TOKEN_BYTES))
    if not FIXED_TOKEN.fullmatch(fixed):
        message = (
            f"expected 16 to 200 of a-z, A-Z, 0-9 and -_.~, got a text of {len(fixed)}; make one: openssl rand -hex 24"
        )
        raise GrevalError(f"{TOKEN_VARIABLE}: {message}")
    return AccessToken(fixed, is_fixed=True)
