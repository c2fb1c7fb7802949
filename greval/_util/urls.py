"""URLs in messages: user names and passwords are removed."""

from __future__ import annotations

import re

_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
"""What stands between the scheme and the host. Passwords may hold an `@` although URLs do not permit it."""


def redact_credentials(text: str) -> str:
    """Return a text without the user names and passwords of the URLs in it.

    Example:
        >>> redact_credentials("http://admin:hunter2@127.0.0.1:6900/api: no answer")
        'http://[credentials]@127.0.0.1:6900/api: no answer'
    """
    return _CREDENTIALS.sub("[credentials]@", text)
