"""The apps beside the core, which finds their modules by name and imports none: a copy of greval may lack them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from greval.errors import MissingExtraError

EXTRAS = {"greval.reference": "reference", "greval.serve": "server"}
"""The packages of the apps, each with the extra that installs what it needs."""


def import_by_name(name: str) -> ModuleType:
    """Import a module that may be one of an app.

    Raises:
        MissingExtraError: If this copy of greval lacks the app.

    Example:
        >>> import_by_name("greval.apps").EXTRAS["greval.serve"]
        'server'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        for package, extra in EXTRAS.items():
            # Only if the app itself is missing, and not a package that it imports.
            if f"{error.name}.".startswith(f"{package}."):
                raise MissingExtraError(extra, package) from error
        raise
