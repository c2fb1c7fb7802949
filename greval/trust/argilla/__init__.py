"""Argilla: push judged items for people to annotate, and pull their annotations back.

Only this package depends on Argilla. It calls the server's REST API through httpx.
"""

from greval.errors import ArgillaError
from greval.trust.argilla.pull import PullResult, pull_from_argilla
from greval.trust.argilla.push import PushResult, push_to_argilla
from greval.trust.argilla.sampling import SamplingPlan

__all__ = ["ArgillaError", "PullResult", "PushResult", "SamplingPlan", "pull_from_argilla", "push_to_argilla"]
