"""Argilla: judged things go to people, and what they say comes back as annotations.

This package alone knows Argilla. It speaks with the server over its REST interface, through httpx.
"""

from greval.argilla.pull import Pulled, pull
from greval.argilla.push import Pushed, push
from greval.argilla.sampling import Sample
from greval.errors import ArgillaError

__all__ = ["ArgillaError", "Pulled", "Pushed", "Sample", "pull", "push"]
