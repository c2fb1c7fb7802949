"""The spec of a method or an index on the command line: a place, then options as in a URL query."""

from __future__ import annotations

from urllib.parse import parse_qsl

from greval.errors import DataError


def read_spec(spec: str, **allowed: tuple[str, ...] | None) -> tuple[str, dict[str, str]]:
    """Parse `PLACE?name=value&name=value` into the place and the options.

    Args:
        spec: The spec.
        allowed: The allowed values of each option; None if any value is allowed.

    Raises:
        DataError: If an option is unknown, is given twice, or has a value that is not allowed.

    Example:
        >>> read_spec("ragtest?method=local&community_level=2", method=("local", "basic"), community_level=None)
        ('ragtest', {'method': 'local', 'community_level': '2'})
    """
    place, _, query = spec.partition("?")
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            raise DataError(f"{spec}: no option {name!r}; there are {', '.join(allowed) or 'none'}")
        values = allowed[name]
        if name in options or (values is not None and value not in values):
            wanted = f"one of {', '.join(values)}" if values is not None else "one value"
            raise DataError(f"{spec}: {name}={value!r} will not do; give {wanted}")
        options[name] = value
    return place, options
