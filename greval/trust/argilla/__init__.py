"""Argilla: push judged items for people to annotate, and pull their annotations back.

Only this package depends on Argilla. It calls the server's REST API through httpx.
"""

from greval.errors import ArgillaError
from greval.trust.argilla.pull import Pulled, pull
from greval.trust.argilla.push import Pushed, push
from greval.trust.argilla.sampling import Sample

__all__ = ["ArgillaError", "Pulled", "Pushed", "Sample", "pull", "push"]
