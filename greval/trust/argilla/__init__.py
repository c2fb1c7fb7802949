"""Argilla: judged things go to people, and what they say comes back as annotations.

This package alone knows Argilla. It speaks with the server over its REST interface, through httpx.
"""

from greval.errors import ArgillaError
from greval.trust.argilla.pull import Pulled, pull
from greval.trust.argilla.push import Pushed, push
from greval.trust.argilla.sampling import Sample

__all__ = ["ArgillaError", "Pulled", "Pushed", "Sample", "pull", "push"]
