"""How a method or an index is named on the command line: a place, then options as in a web address."""

from __future__ import annotations

from urllib.parse import parse_qsl

from greval.errors import DataError


def read_spec(spec: str, **allowed: tuple[str, ...] | None) -> tuple[str, dict[str, str]]:
    """Split `PLACE?name=value&name=value`.

    Args:
        spec: What was written.
        allowed: The names of the options, each with its values; None where any value will do.

    Raises:
        DataError: Where an option is not known, is given twice or has a value that it cannot have.

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
